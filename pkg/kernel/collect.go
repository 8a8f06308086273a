package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// sweepBatch is how many objects one delete removes.
const sweepBatch = 256

// Collected counts what a collection saw.
type Collected struct {
	Scanned, Reachable, Swept int
}

// Trim raises the event floor to before, or to the newest event if that is lower, and returns it. Cursors below it are refused from then on, and history
// that only older ref events protected becomes collectable. The kernel picks no window: when to trim is the host's policy.
func (s *Session) Trim(ctx context.Context, before store.Seq) (store.Seq, error) {
	return s.TrimEvents(ctx, before)
}

// Collect removes the objects that no ref and no retained ref event protects and that were last written more than grace ago
// (invariant 38). grace must exceed the longest time between putting an object and the ref that names it.
func (s *Session) Collect(ctx context.Context, grace time.Duration) (Collected, error) {
	if grace < 0 {
		return Collected{}, fmt.Errorf("%w: grace is negative", ErrInvalid)
	}
	before := s.Now() - object.Millis(grace.Milliseconds())
	stored, err := s.ListObjects(ctx)
	if err != nil {
		return Collected{}, fmt.Errorf("list objects: %w", err)
	}
	marked, err := s.mark(ctx)
	if err != nil {
		return Collected{}, err
	}
	got := Collected{Scanned: len(stored)}
	var batch []object.OID
	sweep := func() error {
		n, err := s.DeleteObjects(ctx, batch, before)
		got.Swept += n
		batch = batch[:0]
		return err
	}
	for _, o := range stored {
		if marked[o.OID] {
			got.Reachable++
			continue
		}
		if o.At >= before {
			continue
		}
		if batch = append(batch, o.OID); len(batch) == sweepBatch {
			if err := sweep(); err != nil {
				return got, fmt.Errorf("sweep: %w", err)
			}
		}
	}
	if len(batch) > 0 {
		if err := sweep(); err != nil {
			return got, fmt.Errorf("sweep: %w", err)
		}
	}
	return got, nil
}

// mark returns everything reachable from the current refs and from both ends of every retained ref event, and holds a page of objects at a
// time. Missing objects are tolerated.
func (s *Session) mark(ctx context.Context) (map[object.OID]bool, error) {
	todo, err := s.roots(ctx)
	if err != nil {
		return nil, err
	}
	marked := make(map[object.OID]bool)
	for len(todo) > 0 {
		var page []object.OID
		for len(todo) > 0 && len(page) < readPage {
			last := len(todo) - 1
			if oid := todo[last]; !oid.IsZero() && !marked[oid] {
				marked[oid] = true
				page = append(page, oid)
			}
			todo = todo[:last]
		}
		objs, err := s.GetObjects(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("mark: %w", err)
		}
		for _, o := range objs {
			if o != nil {
				todo = append(todo, object.Links(o)...)
			}
		}
	}
	return marked, nil
}

func (s *Session) roots(ctx context.Context) ([]object.OID, error) {
	refs, err := s.ListRefs(ctx, "refs/")
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	var roots []object.OID
	for _, r := range refs {
		roots = append(roots, r.OID)
	}
	after, err := s.Floor(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the floor: %w", err)
	}
	for {
		page, err := s.ReadEvents(ctx, after, store.DefaultPage)
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		if len(page) == 0 {
			return roots, nil
		}
		for _, e := range page {
			if r, ok := e.Body.(store.RefEvent); ok {
				roots = append(roots, r.From, r.To)
			}
			after = e.Seq
		}
	}
}
