package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A RunState is a run as its ref shows it.
type RunState struct {
	OID object.OID
	Run object.Run
}

// Live reports whether the run has not ended.
func (r RunState) Live() bool { return !r.OID.IsZero() && !object.Terminal(r.Run.Phase) }

// CurrentRun returns the run of a head; ok is false when there never was one.
func (s *Session) CurrentRun(ctx context.Context, head string) (r RunState, ok bool, err error) {
	if err := ref.CheckHead(head); err != nil {
		return RunState{}, false, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	oids, err := s.ReadRefs(ctx, ref.Run(head))
	if err != nil {
		return RunState{}, false, fmt.Errorf("read the run of head %q: %w", head, err)
	}
	if oids[0].IsZero() {
		return RunState{}, false, nil
	}
	run, err := s.loadRun(ctx, oids[0])
	return RunState{oids[0], run}, err == nil, err
}

// An AbortOutcome is [AbortRequested] or [NotRunning].
//
//sumtype:decl
type AbortOutcome interface{ abortOutcome() }

func (AbortRequested) abortOutcome() {}
func (NotRunning) abortOutcome()     {}

type (
	// AbortRequested names the run that was asked to stop.
	AbortRequested struct{ RunID string }
	// NotRunning means that no run is live.
	NotRunning struct{}
)

// Abort asks the live run of a head to stop. It interrupts a step, not the run: whatever the call in flight produced is kept, and at the
// next response boundary a waiting boundary-lane change lands in the same run and clears the flag; only an empty boundary ends the
// run. It takes no lease and asking twice writes once.
func (s *Session) Abort(ctx context.Context, head string, actor *object.Actor) (AbortOutcome, error) {
	for range MaxAttempts {
		run, ok, err := s.CurrentRun(ctx, head)
		if err != nil {
			return nil, err
		}
		if !ok || !run.Live() {
			return NotRunning{}, nil
		}
		if run.Run.AbortRequested {
			return AbortRequested{run.Run.ID}, nil
		}
		flagged := run.Run
		flagged.AbortRequested = true
		enc, err := object.Encode(flagged)
		if err != nil {
			return nil, err
		}
		outcome, err := s.UpdateRefs(ctx, []store.Update{{Name: ref.Run(head), From: run.OID, To: enc.OID}}, store.UpdateOptions{
			Reason: "abort", Actor: actor, Objects: []object.Encoded{enc},
		})
		if err != nil {
			return nil, fmt.Errorf("abort run %s: %w", run.Run.ID, err)
		}
		if _, ok := outcome.(store.Updated); ok {
			return AbortRequested{run.Run.ID}, nil
		}
	}
	return nil, fmt.Errorf("abort the run of head %q: %w", head, ErrContention)
}
