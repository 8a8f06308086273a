package sdk

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// leasePoll is how often a wait looks for the release of a lease, which is in no event.
const leasePoll = 5 * time.Millisecond

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
			timer := time.NewTimer(leasePoll)
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
	deleted, err := session.ReadRefs(ctx, ref.Deleted)
	if err != nil {
		return nil, err
	}
	if !deleted[0].IsZero() {
		return api.Idle{}, nil // every step is idle from now on
	}
	run, ok, err := session.CurrentRun(ctx, name)
	if err != nil {
		return nil, err
	}
	if ok && run.Live() {
		if _, waiting := run.Run.Phase.(object.WaitingPhase); !waiting || run.Run.AbortRequested {
			return nil, nil //nolint:nilnil // not settled
		}
		effects, err := session.Effects(ctx, run.Run.ID)
		if err != nil || kernel.Wakes(effects, s.now()) {
			return nil, err
		}
		return api.Waiting{RunID: run.Run.ID}, nil
	}
	lanes, err := view.LoadLanes(ctx, session, name)
	if err != nil {
		return nil, err
	}
	if s.opts.Landing.Lands(lanes) {
		return nil, nil //nolint:nilnil // not settled
	}
	return api.Idle{}, nil
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
