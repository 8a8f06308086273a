package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// tools answers the tip's tool calls (rows 10 to 14 of the decision table).
func (st *step) tools(ctx context.Context) (StepOutcome, error) {
	if err := st.loadContext(ctx); err != nil {
		return nil, err
	}
	assistant, ok := st.assistantTip()
	if !ok {
		if st.run.AbortRequested {
			return st.end(ctx, object.Aborted{}, "abort")
		}
		return st.end(ctx, object.Failed{Error: "tools phase has no assistant message", Class: object.FailedRunner}, "fail")
	}
	var got ToolsOutcome
	err := st.inflight(ctx, func(ctx context.Context, in TurnInput) (err error) {
		in.Attempt = st.run.Attempts
		got, err = st.opts.Turn.Tools(ctx, ToolsInput{TurnInput: in, Assistant: assistant})
		return err
	})
	if outcome, err := st.interrupted(ctx, err); outcome != nil || err != nil {
		return outcome, err
	}
	return st.publishBatch(context.WithoutCancel(ctx), got)
}

func (st *step) assistantTip() (message.Assistant, bool) {
	commits := st.context.Commits
	if len(commits) == 0 {
		return message.Assistant{}, false
	}
	tip := commits[len(commits)-1].Commit
	body, ok := tip.Body.(object.MessageBody)
	if !ok || tip.Run != st.run.ID {
		return message.Assistant{}, false // a participant moved the head: no call of another run's message starts here
	}
	a, ok := body.Message.(message.Assistant)
	return a, ok
}

func (st *step) publishBatch(ctx context.Context, got ToolsOutcome) (StepOutcome, error) {
	switch o := got.(type) {
	case BatchFenced:
		return StepFenced{}, nil
	case BatchConflict:
		return StepContinue{}, nil
	case Parked:
		return st.publishOutput(ctx, "wait", output{next: withPhase(st.run, object.WaitingPhase{})})
	case Settled:
		return st.publishSettled(ctx, o)
	case BatchFailed:
		if o.Cause != nil {
			return nil, fmt.Errorf("tool batch: %w", o.Cause)
		}
		open, err := st.clearEffects(ctx, st.run.ID)
		if err != nil {
			return nil, err
		}
		return st.publishResults(ctx, "fail", o.Results, open, withPhase(st.run, object.Failed{Error: o.Error, Class: object.FailedTool}))
	}
	return nil, fmt.Errorf("%w: the turn gave no tools outcome", ErrInvalid)
}

func (st *step) publishSettled(ctx context.Context, o Settled) (StepOutcome, error) {
	var cleared []store.Update
	for _, e := range o.Effects {
		cleared = append(cleared, store.Update{Name: e.ref(), From: e.OID})
	}
	if o.Effects == nil {
		var err error
		if cleared, err = st.clearEffects(ctx, st.run.ID); err != nil {
			return nil, err
		}
	}
	return st.publishResults(ctx, "tools", o.Results, cleared, withPhase(st.run, object.Respond{}))
}

// publishResults commits one result per call, in call order, and removes the effects, in one compare-and-swap.
func (st *step) publishResults(ctx context.Context, reason string, results []message.ToolResult, cleared []store.Update, next object.Run) (StepOutcome, error) {
	out := output{next: next, cleared: cleared}
	at := st.Now()
	for _, r := range results {
		out.commits = append(out.commits, object.Commit{Run: st.run.ID, Body: object.MessageBody{Message: r}, At: at})
	}
	if st.run.AbortRequested {
		out = out.flagged()
	}
	return st.publishOutput(ctx, reason, out)
}

// clearEffects returns the updates that remove every open call of a run, so that no reply is accepted that nobody will read.
func (s *Session) clearEffects(ctx context.Context, runID string) ([]store.Update, error) {
	refs, err := s.ListRefs(ctx, ref.RunEffects(runID))
	if err != nil {
		return nil, fmt.Errorf("list the effects of run %s: %w", runID, err)
	}
	var updates []store.Update
	for _, r := range refs {
		updates = append(updates, store.Update{Name: r.Name, From: r.OID})
	}
	return updates, nil
}

// wait looks whether anything that was parked can go on (rows 15 and 16 of the decision table).
func (st *step) wait(ctx context.Context) (StepOutcome, error) {
	effects, err := st.Effects(ctx, st.run.ID)
	if err != nil {
		return nil, err
	}
	if st.run.AbortRequested || Wakes(effects, st.now) {
		return st.tools(ctx)
	}
	return StepWaiting{nearest(effects)}, nil
}

// Wakes reports whether a waiting run with these effects can go on: a signal or an expiry is there, a deadline has come, a call was opened and not
// finished, or everything is settled.
func Wakes(effects []EffectState, now object.Millis) bool {
	parked := false
	for _, e := range effects {
		switch e.Effect.(type) {
		case object.Signal, object.Expired, object.Intent:
			return true
		case object.Waiting:
			if e.Due(now) {
				return true
			}
			parked = true
		case object.Result:
		}
	}
	return !parked
}

// nearest returns the earliest deadline of the parked calls, zero when there is none.
func nearest(effects []EffectState) object.Millis {
	var at object.Millis
	for _, e := range effects {
		if u := e.Until(); u > 0 && (at == 0 || u < at) {
			at = u
		}
	}
	return at
}
