package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errLeft reports that a call did not return although its context had ended a while ago.
var errLeft = errors.New("did not stop when it was asked to")

// A panicError is a panic of a tool, hook or provider, contained.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panicked: %v", e.value) }

// errGone reports a call that ended its goroutine instead of returning.
var errGone = errors.New("ended without returning")

// patient calls f in a goroutine of its own and returns what it returns, or a [*panicError]. When ctx has ended and f still has not
// returned after grace, f is left behind and the error is errLeft; what it returns later is dropped.
func patient[T any](ctx context.Context, grace time.Duration, f func() (T, error)) (T, error) {
	type returned struct {
		value T
		err   error
	}
	done := make(chan returned, 1)
	go func() {
		r := returned{err: errGone}
		defer func() {
			if v := recover(); v != nil {
				r = returned{err: &panicError{v}}
			}
			done <- r
		}()
		r.value, r.err = f()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var zero T
		return zero, errLeft
	}
}
