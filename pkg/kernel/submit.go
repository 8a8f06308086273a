package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// MaxKey is the longest submission key, in bytes.
const MaxKey = 255

// SubmitOptions say what goes where.
type SubmitOptions struct {
	Head, Lane string
	Body       object.Body
	Key        string // idempotency key; empty for none
	Author     *object.Actor
}

// A SubmitOutcome is [Queued] or [Duplicate].
//
//sumtype:decl
type SubmitOutcome interface{ submitOutcome() }

func (Queued) submitOutcome()    {}
func (Duplicate) submitOutcome() {}

type (
	// Queued means that the change is durable and pending.
	Queued struct{ Change object.OID }
	// Duplicate means that the key was used before; Change is the first one, wherever it is by now.
	Duplicate struct{ Change object.OID }
)

// Submit appends a change to a lane. It never takes a lease and never looks at the run (invariant 36). With a key the receipt
// moves in the same compare-and-swap, so that a retry after a lost response is [Duplicate] (invariant 7). An error means that the outcome
// is unknown: submit again with the same key.
//
// Submissions of one process to one session that meet are written as one chain by one compare-and-swap, so that many writers share
// one transaction.
func (s *Session) Submit(ctx context.Context, opts SubmitOptions) (SubmitOutcome, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	change := object.Change{Body: opts.Body, At: s.Now(), Author: opts.Author, Key: opts.Key}
	if _, err := object.Encode(change); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return s.submits.submit(ctx, s, &submission{head: opts.Head, lane: opts.Lane, change: change})
}

func (o SubmitOptions) check() error {
	if err := ref.CheckHead(o.Head); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := ref.CheckLane(o.Lane); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(o.Key) > MaxKey {
		return fmt.Errorf("%w: key has %d bytes, the limit is %d", ErrInvalid, len(o.Key), MaxKey)
	}
	for _, r := range o.Key {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return fmt.Errorf("%w: key contains %q; use printable characters", ErrInvalid, r)
		}
	}
	if o.Body == nil {
		return fmt.Errorf("%w: body is missing", ErrInvalid)
	}
	return nil
}

// write puts a batch on its lanes and answers every submission of it: one read, and one compare-and-swap for each race that is lost.
func (s *Session) write(ctx context.Context, batch []*submission) {
	tips, err := s.readTips(ctx, batch)
	if err != nil {
		fail(batch, err)
		return
	}
	for range MaxAttempts {
		if batch = unanswered(batch); len(batch) == 0 {
			return
		}
		updates, objs, err := chain(batch, tips)
		if err != nil {
			fail(batch, err)
			return
		}
		outcome, err := s.UpdateRefs(ctx, updates, store.UpdateOptions{
			Reason: "submit", Objects: objs, Actor: commonAuthor(batch),
		})
		if err != nil {
			fail(batch, err)
			return
		}
		switch o := outcome.(type) {
		case store.Updated:
			for _, sub := range batch {
				sub.answer(Queued{sub.oid}, nil)
			}
			return
		case store.UpdateConflict:
			conflict(batch, o, tips)
		case store.Fenced:
			fail(batch, errors.New("submit carries no lease and was fenced"))
			return
		}
	}
	fail(batch, fmt.Errorf("submit: %w", ErrContention))
}

// conflict learns from a lost race: a lane's tip moved, or a key has its receipt by now.
func conflict(batch []*submission, c store.UpdateConflict, tips map[ref.Name]object.OID) {
	if _, ok := tips[c.Name]; ok {
		tips[c.Name] = c.Actual
		return
	}
	for _, sub := range batch {
		if sub.change.Key != "" && ref.Key(sub.change.Key) == c.Name {
			sub.answer(Duplicate{c.Actual}, nil)
		}
	}
}

// readTips reads where the batch's lanes end, and answers those whose key has its receipt, all in one read.
func (s *Session) readTips(ctx context.Context, batch []*submission) (map[ref.Name]object.OID, error) {
	var names []ref.Name
	for _, sub := range batch {
		if !slices.Contains(names, sub.tip()) {
			names = append(names, sub.tip())
		}
	}
	lanes := len(names)
	var keyed []*submission
	for _, sub := range batch {
		if sub.change.Key != "" {
			keyed = append(keyed, sub)
			names = append(names, ref.Key(sub.change.Key))
		}
	}
	oids, err := s.ReadRefs(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("read lane tips and receipts: %w", err)
	}
	tips := make(map[ref.Name]object.OID, lanes)
	for i, n := range names[:lanes] {
		tips[n] = oids[i]
	}
	for i, sub := range keyed {
		if receipt := oids[lanes+i]; !receipt.IsZero() {
			sub.answer(Duplicate{receipt}, nil)
		}
	}
	return tips, nil
}

// chain links the batch onto the tips, in order, and returns the compare-and-swap that publishes it. Of two submissions with one key the
// later is answered when the earlier is.
func chain(batch []*submission, tips map[ref.Name]object.OID) ([]store.Update, []object.Encoded, error) {
	newest := make(map[ref.Name]object.OID)
	var order []ref.Name
	var keys []store.Update
	var objs []object.Encoded
	for _, sub := range batch {
		tip := sub.tip()
		previous, moved := newest[tip]
		if !moved {
			previous = tips[tip]
			order = append(order, tip)
		}
		sub.change.Previous, sub.change.Lane = previous, firstOf(previous, sub.head, sub.lane)
		enc, err := object.Encode(sub.change)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		sub.oid = enc.OID
		newest[tip] = enc.OID
		objs = append(objs, enc)
		if sub.change.Key != "" {
			keys = append(keys, store.Update{Name: ref.Key(sub.change.Key), To: enc.OID})
		}
	}
	updates := make([]store.Update, 0, len(order)+len(keys))
	for _, tip := range order {
		updates = append(updates, store.Update{Name: tip, From: tips[tip], To: newest[tip]})
	}
	return append(updates, keys...), objs, nil
}

// firstOf returns what a change says of its lane: the first of a chain names it, the others are told apart by what is before them.
func firstOf(previous object.OID, head, lane string) string {
	if !previous.IsZero() {
		return ""
	}
	return head + "/" + lane
}
