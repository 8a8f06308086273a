package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// Peek says what a step of a head would find to do at this moment, without taking the lease: [StepContinue] when there is something,
// [StepIdle], or [StepWaiting] and [StepRetry] with their deadlines. It only reads, so that a host that is woken for nothing writes
// nothing, and a head that is done stays free.
func (s *Session) Peek(ctx context.Context, head string, landing Landing) (StepOutcome, error) {
	oids, err := s.ReadRefs(ctx, ref.Run(head), ref.Deleted)
	if err != nil {
		return nil, fmt.Errorf("read the run of head %q: %w", head, err)
	}
	if !oids[1].IsZero() {
		return StepIdle{}, nil
	}
	if !oids[0].IsZero() {
		run, err := s.loadRun(ctx, oids[0])
		if err != nil {
			return nil, err
		}
		if !object.Terminal(run.Phase) {
			return s.peekRun(ctx, run)
		}
	}
	lanes, err := view.LoadLanes(ctx, s, head)
	if err != nil {
		return nil, err
	}
	if landing.Lands(lanes) {
		return StepContinue{}, nil
	}
	return StepIdle{}, nil
}

func (s *Session) peekRun(ctx context.Context, run object.Run) (StepOutcome, error) {
	if run.AbortRequested {
		return StepContinue{}, nil
	}
	switch p := run.Phase.(type) {
	case object.Retry:
		if s.Now() < p.At {
			return StepRetry{p.At}, nil
		}
	case object.WaitingPhase:
		effects, err := s.Effects(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		if !Wakes(effects, s.Now()) {
			return StepWaiting{nearest(effects)}, nil
		}
	case object.Respond, object.Tools, object.Done, object.Aborted, object.Failed:
	}
	return StepContinue{}, nil
}
