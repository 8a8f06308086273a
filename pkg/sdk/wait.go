package sdk

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// WaitRun blocks until the head is idle and free, or its run waits for a parked call. It answers only from reads between which nothing
// happened, so that a change during them cannot make it stale. Ending ctx never affects the run.
func (s *Stepwell) WaitRun(ctx context.Context, opts api.HeadOptions) (api.WaitOutcome, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return nil, err
	}
	bounded, cancel := s.bounded(ctx)
	defer cancel()
	outcome, err := s.wait(bounded, session, head(opts.Head))
	if err != nil {
		return nil, s.ended(ctx, err)
	}
	return outcome, nil
}

func (s *Stepwell) wait(ctx context.Context, session *kernel.Session, name string) (api.WaitOutcome, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		seq, err := session.LastSeq(ctx)
		if err != nil {
			return nil, err
		}
		outcome, err := s.settled(ctx, session, name)
		if err != nil {
			return nil, err
		}
		if outcome == nil {
			if err := nextEvent(ctx, session, seq); err != nil {
				return nil, err
			}
			continue
		}
		held, err := s.held(ctx, session, name)
		if err != nil {
			return nil, err
		}
		if held {
			timer := time.NewTimer(s.opts.Poll)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			continue
		}
		last, err := session.LastSeq(ctx)
		if err != nil {
			return nil, err
		}
		if last == seq {
			return outcome, nil
		}
	}
}

// settled returns what the head would be reported as, or nil while something is still going to happen by itself.
func (s *Stepwell) settled(ctx context.Context, session *kernel.Session, name string) (api.WaitOutcome, error) {
	outcome, err := session.Peek(ctx, name, s.opts.Landing)
	if err != nil {
		return nil, err
	}
	switch outcome.(type) {
	case kernel.StepIdle:
		return api.Idle{}, nil
	case kernel.StepWaiting:
		run, ok, err := session.CurrentRun(ctx, name)
		if err != nil || !ok {
			return nil, err
		}
		return api.Waiting{RunID: run.Run.ID}, nil
	case kernel.StepContinue, kernel.StepRetry, kernel.StepBusy, kernel.StepFinished, kernel.StepFenced:
	}
	return nil, nil //nolint:nilnil // not settled
}

func (s *Stepwell) held(ctx context.Context, session *kernel.Session, name string) (bool, error) {
	_, held, err := session.ReadLease(ctx, ref.Head(name))
	return held, err
}

// nextEvent blocks until the stream has grown past seq. A stream that was trimmed beyond it has.
func nextEvent(ctx context.Context, session *kernel.Session, seq store.Seq) error {
	for _, err := range session.WatchEvents(ctx, seq) {
		if errors.Is(err, store.ErrCursorExpired) {
			return nil
		}
		return err
	}
	return nil // ctx ended
}
