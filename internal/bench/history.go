package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// historyTable measures what grows with a conversation, each time with a cold handle.
func historyTable(ctx context.Context, dir string, n, big, _ int) error {
	f, err := newFloor(ctx, path(dir, "floor"))
	if err != nil {
		return err
	}
	fmt.Print("| Commits | snapshot, cold | first step after a checkpoint, cold | next steps, median | of the floor |\n| --- | --- | --- | --- | --- |\n")
	for commits := 100; commits <= big; commits *= 10 {
		file := path(dir, fmt.Sprint("history-", commits))
		st, s, err := open(ctx, file)
		if err != nil {
			return err
		}
		if err := history(ctx, s, commits, true); err != nil {
			return err
		}
		if err := st.Close(); err != nil {
			return err
		}
		var snapshot, first, next, floors sample
		for range 5 {
			st, s, err := open(ctx, file)
			if err != nil {
				return err
			}
			if err := timed(&snapshot, func() error { _, err := view.LoadSnapshot(ctx, s, head); return err }); err != nil {
				return err
			}
			if err := st.Close(); err != nil {
				return err
			}
			if st, s, err = open(ctx, file); err != nil {
				return err
			}
			if err := steps(ctx, s, f, &first, &next, &floors, n/20+4); err != nil {
				return err
			}
			if err := st.Close(); err != nil {
				return err
			}
		}
		fmt.Printf("| %d | %s | %s | %s | %s |\n", commits, ms(snapshot.median()), ms(first.median()), ms(next.median()), times(next.median(), floors.median()))
	}
	return errors.Join(f.close())
}

// steps submits messages and takes the two steps that each needs.
func steps(ctx context.Context, s *kernel.Session, f *floor, first, next, floors *sample, n int) error {
	opts := kernel.StepOptions{Head: head, Landing: landing(), Turn: answer{}}
	for i := range n {
		if err := submit(ctx, s, fmt.Sprint("message ", i)); err != nil {
			return err
		}
		for j := range 2 {
			into := next
			if i == 0 && j == 0 {
				into = first
			}
			if err := timed(into, func() error { _, err := s.Step(ctx, opts); return err }); err != nil {
				return err
			}
			if err := timed(floors, func() error { return f.transaction(ctx) }); err != nil {
				return err
			}
		}
	}
	return nil
}
