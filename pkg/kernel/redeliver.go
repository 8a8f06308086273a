package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// RedeliverOptions say what to do with a change that is still pending.
type RedeliverOptions struct {
	Head   string
	Change object.OID
	Lane   string      // the lane to move it to; "" keeps its lane
	Body   object.Body // what it shall say; nil keeps its body
	// Place says where in the lane it goes. The zero value keeps its place when the lane stays, and is the end otherwise.
	Place Placement
	Actor *object.Actor
}

// A Placement is a position in a lane.
type Placement struct {
	End    bool       // behind everything pending
	Before object.OID // in front of this pending change of the target lane
}

// A RedeliverOutcome is [Redelivered], [Unchanged], [Landed] or [NotFound].
//
//sumtype:decl
type RedeliverOutcome interface{ redeliverOutcome() }

func (Redelivered) redeliverOutcome() {}
func (Unchanged) redeliverOutcome()   {}
func (Landed) redeliverOutcome()      {}
func (NotFound) redeliverOutcome()    {}

type (
	// Redelivered has the copy that took the change's place.
	Redelivered struct{ Change object.OID }
	// Unchanged means that there was nothing to do.
	Unchanged struct{}
)

// Redeliver moves, edits or reorders a pending change in one compare-and-swap: it tombstones the change and every later one whose
// predecessor changes, appends their copies, and asserts the bases, so that nothing is ever in both places or in neither. A copy keeps
// body (unless edited), author, key and submission time, and records what it supersedes (invariant 37).
func (s *Session) Redeliver(ctx context.Context, opts RedeliverOptions) (RedeliverOutcome, error) {
	if err := ref.CheckHead(opts.Head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if opts.Lane != "" {
		if err := ref.CheckLane(opts.Lane); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	for range MaxAttempts {
		at, err := s.locate(ctx, opts.Head, opts.Change)
		if err != nil {
			return nil, err
		}
		switch at.found {
		case nowhere, withdrawn:
			return NotFound{}, nil
		case landed:
			return Landed{}, nil
		case pending:
		}
		plan, outcome, err := s.plan(ctx, at, opts)
		if err != nil || outcome != nil {
			return outcome, err
		}
		got, err := s.UpdateRefs(ctx, plan.updates, store.UpdateOptions{
			Reason: "redeliver", Actor: opts.Actor, Objects: plan.objects,
		})
		if err != nil {
			return nil, fmt.Errorf("redeliver %s: %w", opts.Change, err)
		}
		if _, ok := got.(store.Updated); ok {
			return Redelivered{plan.copyOf}, nil
		}
	}
	return nil, fmt.Errorf("redeliver %s: %w", opts.Change, ErrContention)
}

// A redelivery is the compare-and-swap that carries it out.
type redelivery struct {
	updates []store.Update
	objects []object.Encoded
	copyOf  object.OID // the copy of the change that was asked for
}

func (s *Session) plan(ctx context.Context, at located, opts RedeliverOptions) (redelivery, RedeliverOutcome, error) {
	source := at.source()
	target := source
	if opts.Lane != "" && opts.Lane != source.Lane {
		target = view.Lane{Lane: opts.Lane}
		if i := slices.IndexFunc(at.lanes, func(l view.Lane) bool { return l.Lane == opts.Lane }); i >= 0 {
			target = at.lanes[i]
		}
	}
	moved := at.entry()
	if opts.Body != nil {
		moved.Change.Body = opts.Body
	}
	order, start, outcome, err := s.order(ctx, at, source, target, opts, moved)
	if err != nil || outcome != nil {
		return redelivery{}, outcome, err
	}
	p := redelivery{}
	previous := target.Base
	if start > 0 {
		previous = order[start-1].OID
	}
	for _, c := range order[start:] {
		next := c.Change
		next.Previous, next.Supersedes, next.Lane = previous, c.OID, firstOf(previous, opts.Head, target.Lane)
		enc, err := object.Encode(next)
		if err != nil {
			return redelivery{}, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		mark, err := tombstone{At: s.Now(), By: enc.OID}.encode()
		if err != nil {
			return redelivery{}, nil, err
		}
		p.objects = append(p.objects, enc, mark)
		p.updates = append(p.updates, store.Update{Name: ref.Tombstone(c.OID), To: mark.OID})
		if c.OID == moved.OID {
			p.copyOf = enc.OID
		}
		previous = enc.OID
	}
	p.updates = append(p.updates,
		store.Update{Name: ref.QueueTip(opts.Head, target.Lane), From: target.Tip, To: previous},
		store.Assert(ref.QueueBase(opts.Head, target.Lane), target.Base))
	if target.Lane != source.Lane {
		p.updates = append(p.updates, store.Assert(ref.QueueBase(opts.Head, source.Lane), source.Base))
	}
	return p, nil, nil
}

// order returns the target lane as it shall be, and from which index on its entries have to be copied. Withdrawn changes before that
// index stay where they are; later ones are left behind.
func (s *Session) order(ctx context.Context, at located, source, target view.Lane, opts RedeliverOptions, moved view.Change,
) (order []view.Change, start int, outcome RedeliverOutcome, err error) {
	rest := slices.DeleteFunc(slices.Clone(target.Changes), func(c view.Change) bool { return c.OID == moved.OID })
	index := len(rest)
	switch {
	case !opts.Place.Before.IsZero():
		before, err := s.locate(ctx, opts.Head, opts.Place.Before)
		if err != nil {
			return nil, 0, nil, err
		}
		if before.change == moved.OID && target.Lane == source.Lane {
			index = at.index
			break
		}
		index = slices.IndexFunc(rest, func(c view.Change) bool { return c.OID == before.change })
		if index < 0 || before.found != pending {
			return nil, 0, NotFound{}, nil
		}
	case !opts.Place.End && target.Lane == source.Lane:
		index = at.index
	}
	start = index
	if target.Lane == source.Lane {
		if index == at.index && opts.Body == nil {
			return nil, 0, Unchanged{}, nil
		}
		start = min(index, at.index)
	}
	order = slices.Insert(rest, index, moved)
	kept := order[:start:start]
	for _, c := range order[start:] {
		if !c.Cancelled {
			kept = append(kept, c)
		}
	}
	return kept, start, nil, nil
}
