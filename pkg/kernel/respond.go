package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// respond is a response boundary: it may land boundary input, and otherwise asks the model (rows 3 to 9 of the decision table).
func (st *step) respond(ctx context.Context) (StepOutcome, error) {
	if st.uncounted {
		if err := st.recordLoss(ctx); err != nil {
			return nil, err
		}
		return StepContinue{}, nil
	}
	if err := st.loadContext(ctx); err != nil {
		return nil, err
	}
	if outcome, ok, err := st.landBoundary(ctx); ok || err != nil {
		return outcome, err
	}
	if st.run.AbortRequested {
		return st.end(ctx, object.Aborted{}, "abort")
	}
	if !answerable(view.Messages(st.context.Commits)) {
		return st.end(ctx, object.Done{}, "done")
	}
	if config := st.resolve(st.run.Config); !config.Equal(st.run.Config) {
		return st.recordConfig(ctx, config)
	}
	if st.opts.Ceiling != nil {
		if limit := st.opts.Ceiling(st.run); limit > 0 && st.run.Attempts >= limit {
			return st.end(ctx, object.Failed{Error: fmt.Sprintf("step ceiling of %d responses reached", limit), Class: object.FailedCeiling}, "fail")
		}
	}
	return st.ask(ctx)
}

// answerable reports whether messages end in something a model answers.
func answerable(messages []message.Message) bool {
	if len(messages) == 0 {
		return false
	}
	switch messages[len(messages)-1].(type) {
	case message.User, message.ToolResult:
		return true
	case message.Assistant:
	}
	return false
}

// recordConfig writes the inputs of the response before it is asked for.
func (st *step) recordConfig(ctx context.Context, config object.Config) (StepOutcome, error) {
	next := st.run
	next.Config = config
	var p publication
	p.move(ref.Run(st.opts.Head), st.runOID, p.put(next))
	outcome, err := st.publish(ctx, &p, "resolve config")
	if err != nil {
		return nil, err
	}
	return settled(outcome), nil
}

// ask calls the model and publishes what it said.
func (st *step) ask(ctx context.Context) (StepOutcome, error) {
	var got RespondOutcome
	st.uncounted = true // until a publish says otherwise
	err := st.inflight(ctx, func(ctx context.Context, in TurnInput) (err error) {
		in.Attempt = st.run.Attempts + 1
		got, err = st.opts.Turn.Respond(ctx, in)
		return err
	})
	if outcome, err := st.interrupted(ctx, err); outcome != nil || err != nil {
		return outcome, err
	}
	return st.publishResponse(context.WithoutCancel(ctx), got)
}

func (st *step) publishResponse(ctx context.Context, got RespondOutcome) (StepOutcome, error) {
	switch o := got.(type) {
	case WriteCheckpoint:
		return st.publishCheckpoint(ctx, o.Checkpoint)
	case Complete:
		return st.publishMessage(ctx, o.Message, object.Done{})
	case CallTools:
		return st.publishMessage(ctx, o.Message, object.Tools{})
	case RetryLater:
		return st.publishMessage(ctx, o.Message, object.Retry{At: o.At, Retries: o.Retries, Error: o.Error})
	case ResponseFailed:
		return st.publishMessage(ctx, o.Message, object.Failed{Error: o.Error, Class: o.Class})
	case ResponseAborted:
		return st.publishMessage(ctx, o.Message, object.Aborted{})
	}
	return nil, fmt.Errorf("%w: the turn gave no response outcome", ErrInvalid)
}

// publishCheckpoint commits a checkpoint. The run is asserted, so that a stop during the checkpoint drops it; the attempt does not
// count.
func (st *step) publishCheckpoint(ctx context.Context, body object.CheckpointBody) (StepOutcome, error) {
	if body.Config == nil {
		config := st.context.Config
		body.Config = &config
	}
	var p publication
	p.move(ref.Head(st.opts.Head), st.tip, p.put(object.Commit{Parent: st.tip, Run: st.run.ID, Body: body, At: st.Now()}))
	p.assert(ref.Run(st.opts.Head), st.runOID)
	outcome, err := st.publish(ctx, &p, "checkpoint")
	if err != nil {
		return nil, err
	}
	return settled(outcome), nil
}

func (st *step) publishMessage(ctx context.Context, m message.Assistant, phase object.Phase) (StepOutcome, error) {
	next := withPhase(st.run, phase)
	next.Attempts++
	commit := object.Commit{Parent: st.tip, Run: st.run.ID, Body: object.MessageBody{Message: m}, At: st.Now()}
	return st.publishOutput(ctx, "respond", output{commits: []object.Commit{commit}, next: next})
}

// publishOutput publishes a turn's output: commits chained on the tip, the run's next phase, and the removal of settled effects. When
// the race is lost it finds out why ("After a conflict" of the decision table).
func (st *step) publishOutput(ctx context.Context, reason string, out output) (StepOutcome, error) {
	outcome, err := st.tryOutput(ctx, reason, out)
	if err != nil {
		return nil, err
	}
	switch outcome.(type) {
	case store.Updated:
		return st.after(ctx, out.next)
	case store.Fenced:
		return StepFenced{}, nil
	case store.UpdateConflict:
	}
	oids, err := st.ReadRefs(ctx, ref.Run(st.opts.Head), ref.Head(st.opts.Head))
	if err != nil {
		return nil, fmt.Errorf("read the refs after a conflict: %w", err)
	}
	if oids[0].IsZero() {
		return StepContinue{}, nil
	}
	now, err := st.loadRun(ctx, oids[0])
	if err != nil {
		return nil, err
	}
	switch {
	case now.ID != st.run.ID:
		return StepFenced{}, nil
	case object.Terminal(now.Phase):
		return StepContinue{}, nil
	case oids[0] != st.runOID && oids[0] == oidOf(out.next):
		return st.after(ctx, out.next) // the store tried twice and met its own first try
	case oids[1] != st.tip:
		// A participant moved the head: their move stands, the output stays loose, nothing pending is consumed.
		now.Attempts = out.next.Attempts
		st.run, st.runOID = now, oids[0]
		return st.end(ctx, object.Aborted{}, "superseded")
	case now.AbortRequested && oids[0] != st.runOID:
		// What was produced is kept; the next boundary decides what the abort means.
		st.run, st.runOID = now, oids[0]
		out.next.AbortRequested = true
		outcome, err := st.tryOutput(ctx, "interrupt", out.flagged())
		if err != nil {
			return nil, err
		}
		return settled(outcome), nil
	}
	return StepContinue{}, nil
}

// oidOf returns the oid of an object that was encoded before.
func oidOf(o object.Object) object.OID {
	enc, err := object.Encode(o)
	if err != nil {
		return object.OID{}
	}
	return enc.OID
}

// An output is what a turn's call produced.
type output struct {
	commits []object.Commit
	cleared []store.Update // effect refs to remove
	next    object.Run
	notice  string // said beside the publish, for people
}

// flagged returns o as an abort leaves it: tools and waiting go on to be settled, everything else is decided at the next boundary. A
// failure that gives way to the abort becomes a notice.
func (o output) flagged() output {
	switch p := o.next.Phase.(type) {
	case object.Tools, object.WaitingPhase:
	case object.Failed:
		o.notice = p.Error
		o.next.Phase = object.Respond{}
	case object.Respond, object.Retry, object.Done, object.Aborted:
		o.next.Phase = object.Respond{}
	}
	return o
}

func (st *step) tryOutput(ctx context.Context, reason string, out output) (store.UpdateOutcome, error) {
	var p publication
	tip := st.tip
	for _, c := range out.commits {
		c.Parent = tip
		tip = p.put(c)
	}
	p.move(ref.Head(st.opts.Head), st.tip, tip) // without commits an assertion: the calls that park belong to this tip
	p.move(ref.Run(st.opts.Head), st.runOID, p.put(out.next))
	p.updates = append(p.updates, out.cleared...)
	if out.notice != "" {
		p.events = append(p.events, store.NoticeEvent{Level: store.Error, Owner: "run", Message: out.notice})
	}
	if st.lost {
		p.events = append(p.events, lostPieces(st.run.ID, out.next.Attempts))
	}
	return st.publish(ctx, &p, reason)
}

// lostPieces tells watchers of an attempt that its stream is not whole.
func lostPieces(runID string, attempt int) store.NoticeEvent {
	return store.NoticeEvent{
		Level: store.Warn, Owner: "stream",
		Message: fmt.Sprintf("pieces of run %s, attempt %d, were not streamed; its commit is whole", runID, attempt),
	}
}

// after says what the host does once the run is in its next phase.
func (st *step) after(ctx context.Context, next object.Run) (StepOutcome, error) {
	switch p := next.Phase.(type) {
	case object.Respond, object.Tools:
		return StepContinue{}, nil
	case object.Retry:
		return StepRetry{p.At}, nil
	case object.WaitingPhase:
		effects, err := st.Effects(ctx, next.ID)
		if err != nil {
			return nil, err
		}
		if Wakes(effects, st.now) {
			return StepContinue{}, nil // answered before the run was parked: nobody will be told again
		}
		return StepWaiting{nearest(effects)}, nil
	case object.Done, object.Aborted, object.Failed:
		return StepFinished{next}, nil
	}
	panic("unreachable")
}
