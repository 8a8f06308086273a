package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// ErrReleased is the cause with which a host that shuts down ends a context: the step gives the head back without ending the run, and
// whoever takes it next carries on.
var ErrReleased = errors.New("host released the head")

// ErrTimeUp is the cause with which a host ends a context whose time for one step is over: what a model said so far is kept and the model is asked
// again, a tool that still runs is answered as stopped, and calls that have not begun stay for the next step, as with [ErrReleased].
var ErrTimeUp = errors.New("the time for one step is up")

// inflight runs a turn's call under the lease. While the call is out it renews the lease, ends the call when a participant
// aborts, moves the head or deletes the session, and streams what the call emits. It returns when all of that has stopped.
func (st *step) inflight(ctx context.Context, call func(context.Context, TurnInput) error) error {
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if st.run.AbortRequested {
		cancel(ErrAborted)
	}
	if st.opts.BeforeCall != nil {
		st.opts.BeforeCall(ctx, st.lease)
	}
	out := newOutbox(st.Session, st.lease, st.opts.Flush, cancel)
	guard := make(chan struct{})
	guardCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	renewed := st.lease
	go func() {
		defer close(guard)
		renewed = st.guard(guardCtx, renewed, cancel)
	}()
	err := contained(func() error {
		return call(callCtx, TurnInput{
			Session: st.Session, Lease: st.lease, Run: st.run, Now: st.now, Context: st.context, Emit: out.emit,
		})
	})
	// Deltas are in the stream before the publish. A stream that could not be written loses nothing: the commit has it all, and its publish
	// says so.
	st.lost = out.close(context.WithoutCancel(ctx))
	stop()
	<-guard
	st.lease = renewed
	if cause := context.Cause(callCtx); errors.Is(cause, ErrFenced) || errors.Is(cause, ErrReleased) {
		return cause
	}
	return err
}

// A PanicError is a panic of a turn, contained.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the turn panicked: %v", e.Value) }

func contained(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return call()
}

// interrupted says what a step does when a turn's call gave no outcome. Without an error it says nothing.
func (st *step) interrupted(ctx context.Context, err error) (StepOutcome, error) {
	var panicked *PanicError
	switch {
	case err == nil:
		return nil, nil //nolint:nilnil // nothing was interrupted: the caller goes on
	case errors.Is(err, ErrFenced):
		return StepFenced{}, nil
	case errors.Is(err, ErrReleased), errors.Is(err, ErrTimeUp):
		return nil, err // an attempt that was under way is counted as the lease is given back
	case errors.As(err, &panicked):
		return st.end(context.WithoutCancel(ctx), object.Failed{Error: err.Error(), Class: object.FailedRunner}, "fail")
	}
	return nil, fmt.Errorf("turn: %w", err)
}

// guard renews the lease every third of its length and watches the refs that make the call pointless. It returns the lease as last
// renewed.
func (st *step) guard(ctx context.Context, lease store.Lease, cancel context.CancelCauseFunc) store.Lease {
	changed := make(chan struct{}, 1)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		st.watchRefs(ctx, changed)
	}()
	defer func() { <-watching }()
	tick := time.NewTicker(max(st.opts.TTL/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return lease
		case <-changed:
			if cause := st.pointless(ctx); cause != nil {
				cancel(cause)
			}
		case <-tick.C:
			renewed, ok, err := st.RenewLease(ctx, lease, st.opts.TTL)
			switch {
			case err != nil: // unknown: the next tick tries again, and the fence guards every write
			case !ok:
				cancel(ErrFenced)
			default:
				lease = renewed
			}
		}
	}
}

// watchRefs signals changed when an event moves the head, the run or the deletion mark.
func (st *step) watchRefs(ctx context.Context, changed chan<- struct{}) {
	after := st.seen
	for ctx.Err() == nil {
		for e, err := range st.WatchEvents(ctx, after) {
			if err != nil {
				break
			}
			after = e.Seq
			if r, ok := e.Body.(store.RefEvent); ok && st.concerns(r.Name) {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}
		if ctx.Err() != nil {
			return
		}
		// The cursor expired or the store failed. Go on from the newest event, and look at the refs after it is known: what came before
		// it shows in them, and what comes after it is in the stream.
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if last, err := st.LastSeq(ctx); err == nil {
			after = last
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

func (st *step) concerns(name ref.Name) bool {
	return name == ref.Deleted || name == ref.Run(st.opts.Head) || name == ref.Head(st.opts.Head)
}

// pointless reads the refs (not the event that made it look) and returns why the call need not go on, or nil. A read that fails says
// nothing: the publish finds out.
func (st *step) pointless(ctx context.Context) (cause error) {
	oids, err := st.ReadRefs(ctx, ref.Run(st.opts.Head), ref.Head(st.opts.Head), ref.Deleted)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if !oids[2].IsZero() || oids[1] != st.tip || oids[0].IsZero() {
		return ErrSuperseded
	}
	if oids[0] == st.runOID {
		return nil
	}
	run, err := st.loadRun(ctx, oids[0])
	switch {
	case err != nil:
		return nil //nolint:nilerr // see above
	case run.ID != st.run.ID || object.Terminal(run.Phase):
		return ErrSuperseded
	case run.AbortRequested:
		return ErrAborted
	}
	return nil
}
