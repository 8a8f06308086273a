package agent

import (
	"context"
	"errors"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
)

// An interruption is why a batch may start nothing more.
type interruption int

const (
	uninterrupted interruption = iota
	// aborted: a participant asked the run to stop. Every call gets its result, and nothing starts.
	aborted
	// superseded: the head moved or the session is going. The publish will find out; nothing more is written here.
	superseded
	// released: the host stops. What is open stays open for whoever takes the head next.
	released
	// fenced: someone else has the head.
	fenced
)

func interruptionOf(ctx context.Context) interruption {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return uninterrupted
	case errors.Is(cause, kernel.ErrAborted):
		return aborted
	case errors.Is(cause, kernel.ErrSuperseded):
		return superseded
	case errors.Is(cause, kernel.ErrFenced):
		return fenced
	}
	return released
}

// interrupted is interruptionOf for a batch, whose run may carry the request to stop already.
func (b *batch) interrupted(ctx context.Context) interruption {
	why := interruptionOf(ctx)
	if why == uninterrupted && b.in.Run.AbortRequested {
		return aborted
	}
	return why
}
