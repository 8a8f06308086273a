package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// storeTable measures single store operations.
func storeTable(ctx context.Context, dir string, n, _, _ int) error {
	f, err := newFloor(ctx, path(dir, "floor"))
	if err != nil {
		return err
	}
	st, s, err := open(ctx, path(dir, "store"))
	if err != nil {
		return err
	}
	if err := history(ctx, s, 1000, false); err != nil {
		return err
	}
	tip, err := s.ReadRefs(ctx, ref.Head(head))
	if err != nil {
		return err
	}
	var floors sample
	i := 0
	blob := func() (object.Encoded, error) {
		i++
		return object.Encode(object.Blob{Value: fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, f.body[:1400])})
	}
	var at object.OID
	ops := []struct {
		name string
		call func() error
	}{
		{"put one object of 1.5 KB", func() error {
			b, err := blob()
			if err != nil {
				return err
			}
			return s.PutObjects(ctx, []object.Encoded{b})
		}},
		{"move a ref with its object: 4 rows", func() error {
			b, err := blob()
			if err != nil {
				return err
			}
			_, err = s.UpdateRefs(ctx, []store.Update{{Name: ref.Fact("bench"), From: at, To: b.OID}},
				store.UpdateOptions{Reason: "bench", Objects: []object.Encoded{b}})
			at = b.OID
			return err
		}},
		{"append 8 deltas", func() error {
			bodies := make([]store.EventBody, 8)
			for j := range bodies {
				bodies[j] = store.DeltaEvent{RunID: "run", Attempt: 1, Index: j, Part: store.TextPart, Delta: "a few words of an answer"}
			}
			_, err := s.AppendEvents(ctx, bodies, nil)
			return err
		}},
		{"acquire and release a lease", func() error {
			o, err := s.AcquireLease(ctx, ref.Head(head), kernel.DefaultTTL)
			if err != nil {
				return err
			}
			lease, err := granted(o)
			if err != nil {
				return err
			}
			_, err = s.ReleaseLease(ctx, lease)
			return err
		}},
		{"read 3 refs", func() error {
			_, err := s.ReadRefs(ctx, ref.Head(head), ref.Run(head), ref.Deleted)
			return err
		}},
		{"read 256 events", func() error { _, err := s.ReadEvents(ctx, 0, 256); return err }},
		{"get an object", func() error { _, _, err := s.GetObject(ctx, tip[0]); return err }},
		{"chain of 64 commits", func() error { _, err := s.Chain(ctx, tip[0], object.OID{}, 64); return err }},
		{"chain of 1,000 commits", func() error { _, err := s.Chain(ctx, tip[0], object.OID{}, 1000); return err }},
	}
	got := make([]sample, len(ops))
	for range n {
		if err := timed(&floors, func() error { return f.transaction(ctx) }); err != nil {
			return err
		}
		for j, op := range ops {
			if err := timed(&got[j], op.call); err != nil {
				return fmt.Errorf("%s: %w", op.name, err)
			}
		}
	}
	fmt.Print("| Store operation | median | p99 | of the floor |\n| --- | --- | --- | --- |\n")
	row("the floor: one 4-row transaction", floors, floors.median())
	for j, op := range ops {
		row(op.name, got[j], floors.median())
	}
	return errors.Join(f.close(), st.Close())
}

func granted(o store.AcquireOutcome) (store.Lease, error) {
	a, ok := o.(store.Acquired)
	if !ok {
		return store.Lease{}, fmt.Errorf("the lease is not free: %v", o)
	}
	return a.Lease, nil
}

// stepTable measures durable steps of a turn that does nothing.
func stepTable(ctx context.Context, dir string, n, _, _ int) error {
	f, err := newFloor(ctx, path(dir, "floor"))
	if err != nil {
		return err
	}
	st, s, err := open(ctx, path(dir, "step"))
	if err != nil {
		return err
	}
	if err := submit(ctx, s, "go"); err != nil {
		return err
	}
	var floors, hot, cold sample
	acquired, err := s.AcquireLease(ctx, ref.Head(head), kernel.DefaultTTL)
	if err != nil {
		return err
	}
	lease, err := granted(acquired)
	if err != nil {
		return err
	}
	opts := kernel.StepOptions{Head: head, Landing: landing(), Turn: loop{}, Lease: &lease}
	for range n {
		if err := timed(&floors, func() error { return f.transaction(ctx) }); err != nil {
			return err
		}
		if err := timed(&hot, func() error { _, err := s.Step(ctx, opts); return err }); err != nil {
			return err
		}
	}
	if _, err := s.ReleaseLease(ctx, lease); err != nil {
		return err
	}
	opts.Lease = nil
	for range n {
		if err := timed(&floors, func() error { return f.transaction(ctx) }); err != nil {
			return err
		}
		if err := timed(&cold, func() error { _, err := s.Step(ctx, opts); return err }); err != nil {
			return err
		}
	}
	fmt.Print("| Durable step, model and tools free | median | p99 | of the floor |\n| --- | --- | --- | --- |\n")
	row("the floor", floors, floors.median())
	row("in the hot loop, lease held", hot, floors.median())
	row("on its own: acquire, step, release", cold, floors.median())
	return errors.Join(f.close(), st.Close())
}
