package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Drive advances a head until there is nothing to do now: it acquires the lease once, keeps it warm, loops over [StepContinue], waits
// through retry deadlines, and releases the lease when it returns. Its outcome is never StepContinue or StepRetry. It does nothing that
// a row of single steps would not do.
func (s *Session) Drive(ctx context.Context, opts StepOptions) (StepOutcome, error) {
	if opts.Lease != nil {
		return nil, errors.Join(ErrInvalid, errors.New("drive acquires its own lease"))
	}
	st, busy, err := s.acquire(ctx, opts)
	if err != nil || busy != nil {
		return busy, err
	}
	defer st.finish(ctx)
	for {
		if err := st.keep(ctx); err != nil {
			if errors.Is(err, ErrFenced) {
				return StepFenced{}, nil
			}
			return nil, err
		}
		outcome, err := st.take(ctx)
		if err != nil {
			return nil, err
		}
		switch o := outcome.(type) {
		case StepContinue:
		case StepRetry:
			if err := st.sleep(ctx, o.At); err != nil {
				if errors.Is(err, ErrFenced) {
					return StepFenced{}, nil
				}
				return nil, err
			}
		case StepIdle, StepBusy, StepWaiting, StepFinished, StepFenced:
			return outcome, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// keep renews the lease when half of it is gone. Every publish renews it too, so that a busy loop writes nothing extra.
func (st *step) keep(ctx context.Context) error {
	if st.lease.ExpiresAt-st.Now() > object.Millis(st.opts.TTL.Milliseconds()/2) {
		return nil
	}
	renewed, ok, err := st.RenewLease(ctx, st.lease, st.opts.TTL)
	if err != nil {
		return err
	}
	if !ok {
		return ErrFenced
	}
	st.lease = renewed
	return nil
}

// sleep waits for a deadline with the lease kept. An abort, a moved head or a deleted session ends it early, and the next step sees
// why. Timers are hints: the epoch deadline is judged again by the step, also when it lies beyond what a timer holds.
func (st *step) sleep(ctx context.Context, until object.Millis) error {
	sleepCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	guardCtx, stop := context.WithCancel(ctx)
	guard := make(chan struct{})
	renewed := st.lease
	go func() {
		defer close(guard)
		renewed = st.guard(guardCtx, renewed, cancel)
	}()
	timer := time.NewTimer(Until(st.Now(), until))
	select {
	case <-timer.C:
	case <-sleepCtx.Done():
	}
	timer.Stop()
	stop()
	<-guard
	st.lease = renewed
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cause := context.Cause(sleepCtx); errors.Is(cause, ErrFenced) {
		return cause
	}
	return nil
}

// maxSleep keeps timers inside what every platform's timers hold.
const maxSleep = 24 * time.Hour

// Until returns how long to sleep from now to a deadline, at most a day: who sleeps looks at the clock again afterwards.
func Until(now, deadline object.Millis) time.Duration {
	if deadline <= now {
		return 0
	}
	if left := int64(deadline - now); left < maxSleep.Milliseconds() {
		return time.Duration(left) * time.Millisecond
	}
	return maxSleep
}
