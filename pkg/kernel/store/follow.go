package store

import (
	"context"
	"errors"
	"iter"
)

// Follow is the loop behind every WatchEvents: it pages through r after a cursor and, at the end, waits for more. The function wait blocks
// until the stream may have grown past the given sequence number and may return early. Follow ends quietly when ctx ends.
func Follow(ctx context.Context, r EventReader, after Seq, wait func(ctx context.Context, after Seq) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := r.ReadEvents(ctx, after, DefaultPage)
			if err == nil && len(page) == 0 {
				if err = wait(ctx, after); err == nil {
					continue
				}
			}
			if err != nil {
				if ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) && !errors.Is(err, ctx.Err()) {
					yield(Event{}, err)
				}
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
				if ctx.Err() != nil {
					return
				}
			}
		}
	}
}
