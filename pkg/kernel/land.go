package kernel

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// landIdle starts a run with what the policy lands next on an idle head (rows 1 and 2 of the decision table).
func (st *step) landIdle(ctx context.Context) (StepOutcome, error) {
	if err := view.LoadChanges(ctx, st.Session, st.opts.Head, st.lanes); err != nil {
		return nil, err
	}
	batch := st.opts.Landing.Next(st.lanes, false)
	if batch.empty() {
		return StepIdle{}, nil
	}
	if err := st.loadContext(ctx); err != nil {
		return nil, err
	}
	next := object.Run{
		ID: "run_" + st.newID(), Head: st.opts.Head, Phase: object.Done{}, StartedAt: st.now, Config: st.context.Config,
	}
	if batch.hasMessage() {
		next.Phase = object.Respond{}
	}
	for _, c := range batch.Changes {
		next.Config = next.Config.With(c.Change.Body)
	}
	next.Config = st.resolve(next.Config)
	return st.land(ctx, batch, next, true)
}

// landBoundary lands a boundary lane's batch into the live run, if there is one to land. ok is false when there is none.
func (st *step) landBoundary(ctx context.Context) (outcome StepOutcome, ok bool, err error) {
	if err := view.LoadChanges(ctx, st.Session, st.opts.Head, st.lanes); err != nil {
		return nil, false, err
	}
	batch := st.opts.Landing.Next(st.lanes, true)
	if batch.empty() {
		return nil, false, nil
	}
	otherAgent := batch.agent() != "" && batch.agent() != st.run.Config.Agent
	if st.run.AbortRequested && otherAgent {
		return nil, false, nil // the run ends aborted, and the batch starts one with its agent
	}
	if st.run.AbortRequested {
		// The user interrupted on purpose: what waits lands at once, also behind an unanswered message, and the flag is cleared.
		next := withPhase(st.run, object.Respond{})
		next.AbortRequested = false
		outcome, err = st.land(ctx, batch, next, false)
		return outcome, true, err
	}
	if st.opts.Landing.Drain == DrainOne && view.Unanswered(st.context.Commits) {
		return nil, false, nil
	}
	if otherAgent {
		// The batch stays where it is and starts a run of its own.
		asserts := []store.Update{
			store.Assert(ref.Head(st.opts.Head), st.tip),
			store.Assert(ref.QueueBase(st.opts.Head, batch.Lane), batch.Base),
		}
		for _, c := range batch.Changes {
			asserts = append(asserts, store.Absent(ref.Tombstone(c.OID)))
		}
		outcome, err = st.end(ctx, object.Done{}, "agent changed", asserts...)
		return outcome, true, err
	}
	outcome, err = st.land(ctx, batch, st.run, false)
	return outcome, true, err
}

// land commits a batch, one commit per change, and moves the lane's base, all in one compare-and-swap that asserts that none of the changes
// is withdrawn (invariant 37). The run ref moves to next, or is asserted when next is the run as it is.
func (st *step) land(ctx context.Context, batch Batch, next object.Run, fresh bool) (StepOutcome, error) {
	var p publication
	tip := st.tip
	for _, c := range batch.Changes {
		tip = p.put(object.Commit{
			Parent: tip, Change: c.OID, Run: next.ID, Body: c.Change.Body, At: st.now, Author: c.Change.Author, Key: c.Change.Key,
		})
	}
	p.move(ref.Head(st.opts.Head), st.tip, tip)
	p.move(ref.QueueBase(st.opts.Head, batch.Lane), batch.Base, batch.last())
	if !fresh && sameRun(next, st.run) {
		p.assert(ref.Run(st.opts.Head), st.runOID)
	} else {
		p.move(ref.Run(st.opts.Head), st.runOID, p.put(next))
	}
	for _, c := range batch.Changes {
		p.assert(ref.Tombstone(c.OID), object.OID{})
	}
	outcome, err := st.publish(ctx, &p, "land")
	if err != nil {
		return nil, err
	}
	return settled(outcome), nil
}

// sameRun reports whether a landing leaves the run object as it is.
func sameRun(next, run object.Run) bool {
	return next.AbortRequested == run.AbortRequested && object.PhaseName(next.Phase) == object.PhaseName(run.Phase)
}
