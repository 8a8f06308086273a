package sdk

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A held head is looked at again between these times, whatever the holder's expiry: the release of a lease is in no event.
const (
	busyPause    = 250 * time.Millisecond
	maxBusyPause = time.Second
)

// A headLoop drives one head whenever it is woken, and by itself when a deadline comes.
type headLoop struct {
	runner *runner
	name   string
	woken  chan struct{}
}

func (l *headLoop) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

func (l *headLoop) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.woken:
		case <-timer.C:
		}
		again, ok, err := l.drive(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrUnknownSession), errors.Is(err, store.ErrClosed), errors.Is(err, api.ErrClosed):
			return
		case err != nil:
			failures++
			again, ok = min(100*time.Millisecond<<min(failures, 6), 5*time.Second), true
			l.runner.host.log.ErrorContext(ctx, "drive head",
				slog.String("session", string(l.runner.session.ID())), slog.String("head", l.name), slog.Any("error", err))
		default:
			failures = 0
		}
		timer.Stop()
		if ok {
			timer.Reset(again)
		}
	}
}

// drive advances the head until there is nothing to do, and says after what time to look again by itself; ok is false when only an
// event can change anything. It looks before it takes the lease, so that a head with nothing to do stays free.
func (l *headLoop) drive(ctx context.Context) (again time.Duration, ok bool, err error) {
	host, session := l.runner.host, l.runner.session
	for {
		outcome, err := session.Peek(ctx, l.name, host.opts.Landing)
		if _, due := outcome.(kernel.StepContinue); due && err == nil {
			outcome, err = session.Drive(ctx, host.stepOptions(session, l.name))
		}
		if err != nil {
			return 0, false, err
		}
		switch o := outcome.(type) {
		case kernel.StepFinished, kernel.StepContinue:
			// More may be pending.
		case kernel.StepIdle:
			return 0, false, nil
		case kernel.StepWaiting:
			if o.Until == 0 {
				return 0, false, nil
			}
			return kernel.Until(session.Now(), o.Until), true, nil
		case kernel.StepBusy:
			return min(max(kernel.Until(session.Now(), o.Holder.ExpiresAt), busyPause), maxBusyPause), true, nil
		case kernel.StepFenced:
			return busyPause, true, nil
		case kernel.StepRetry:
			return kernel.Until(session.Now(), o.At), true, nil
		}
	}
}
