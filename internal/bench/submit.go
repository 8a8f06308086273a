package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// submitTable measures how many messages a second one lane of one head accepts.
func submitTable(ctx context.Context, dir string, n, _, _ int) error {
	f, err := newFloor(ctx, path(dir, "floor"))
	if err != nil {
		return err
	}
	st, s, err := open(ctx, path(dir, "submit"))
	if err != nil {
		return err
	}
	var floors sample
	for range n {
		if err := timed(&floors, func() error { return f.transaction(ctx) }); err != nil {
			return err
		}
	}
	single := 1 / floors.median().Seconds()
	fmt.Print("| Submit into one lane | messages/s | latency median | of single 4-row transactions |\n| --- | --- | --- | --- |\n")
	fmt.Printf("| the floor: single transactions | %.0f | %s | 1.00x |\n", single, ms(floors.median()))
	for _, writers := range []int{1, 8, 50} {
		each := max(4*n/writers, 20)
		var mu sync.Mutex
		var all sample
		var failed error
		var group sync.WaitGroup
		start := time.Now()
		for w := range writers {
			group.Go(func() {
				var own sample
				for i := range each {
					if err := timed(&own, func() error { return submit(ctx, s, fmt.Sprint("message ", w, ".", i)) }); err != nil {
						mu.Lock()
						failed = errors.Join(failed, err)
						mu.Unlock()
						return
					}
				}
				mu.Lock()
				all = append(all, own...)
				mu.Unlock()
			})
		}
		group.Wait()
		if failed != nil {
			return failed
		}
		rate := float64(len(all)) / time.Since(start).Seconds()
		fmt.Printf("| %d writers | %.0f | %s | %.2fx |\n", writers, rate, ms(all.median()), rate/single)
	}
	return errors.Join(f.close(), st.Close())
}
