package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// A backoff is a growing pause with jitter, so that many clients do not come back in step.
type backoff struct {
	first, most time.Duration
	next        time.Duration
}

func (b *backoff) reset() { b.next = 0 }

// pause sleeps for the next pause, at least for least, and reports whether ctx is still alive.
func (b *backoff) pause(ctx context.Context, least time.Duration) bool {
	if b.next == 0 {
		b.next = b.first
	}
	d := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, b.most)
	return sleep(ctx, max(d, least))
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
