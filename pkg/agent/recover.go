package agent

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// recoverCall goes on with a call that some batch has opened before. What happens depends on the state of its effect and nothing else.
func (b *batch) recoverCall(ctx context.Context, i int, state kernel.EffectState) {
	switch e := state.Effect.(type) {
	case object.Intent:
		b.recoverIntent(ctx, i, state)
	case object.Waiting:
		b.recoverWait(ctx, i, state)
	case object.Expired:
		b.wake(ctx, i, state, e.Waiting, tool.Wake{Expired: true})
	case object.Signal:
		b.wake(ctx, i, state, e.Waiting, tool.Wake{Reply: e.Signal.Clone()})
	case object.Result:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.results[i] = &e.Result
	}
}

// recoverIntent goes on with a call that may have run: nobody knows how far.
func (b *batch) recoverIntent(ctx context.Context, i int, state kernel.EffectState) {
	again := state.Intent.Replay == object.ReplaySafe && b.interrupted(ctx) != aborted
	if !again {
		b.run(ctx, i, func() { b.settle(i, state, errorResult(view.Interrupted)) })
		return
	}
	// The schema may be another one by now.
	if _, ok := b.tools.Lookup(state.Intent.Tool); ok {
		if err := b.tools.CheckArguments(state.Intent.Tool, state.Intent.Args); err != nil {
			b.run(ctx, i, func() { b.settle(i, state, errorResult("This call cannot be run again: "+err.Error())) })
			return
		}
	}
	b.run(ctx, i, func() { b.execute(ctx, i, state) })
}

func (b *batch) recoverWait(ctx context.Context, i int, state kernel.EffectState) {
	switch {
	case b.interrupted(ctx) == aborted:
		b.wake(ctx, i, state, state.OID, tool.Wake{Aborted: true})
	case b.interrupted(ctx) == uninterrupted && state.Due(b.in.Now):
		// The claim comes first: from here on no reply can win (invariant 46).
		outcome, err := b.in.Session.ExpireEffect(context.WithoutCancel(ctx), b.in.Lease, state, b.in.Now)
		if claimed, ok := b.moved(i, outcome, err); ok {
			b.wake(ctx, i, claimed, state.OID, tool.Wake{Expired: true})
		}
	default:
		b.park(i)
	}
}

// wake ends the wait of call i. The effect in state is the reason: it is the wait itself when the run is aborted.
func (b *batch) wake(ctx context.Context, i int, state kernel.EffectState, waiting object.OID, w tool.Wake) {
	switch b.interrupted(ctx) {
	case uninterrupted, aborted: // a reply that was accepted is not lost to an abort
	case superseded:
		b.answer(i, errorResult(textAbortedWait))
		return
	case released:
		b.release()
		return
	case fenced:
		b.fence()
		return
	}
	o, ok, err := b.in.Session.GetObject(context.WithoutCancel(ctx), waiting)
	if err != nil {
		b.broken(fmt.Errorf("read the wait of call %s: %w", b.calls[i].ID, err))
		return
	}
	parked, isWaiting := o.(object.Waiting)
	if !ok || !isWaiting {
		b.broken(fmt.Errorf("the wait of call %s is missing: %w", b.calls[i].ID, object.ErrCorrupt))
		return
	}
	w.Selection, w.Until, w.ParkedAt = parked.Selection, parked.Until, parked.At
	t, ok := b.tools.Lookup(state.Intent.Tool)
	if !ok || t.Wake == nil {
		b.run(ctx, i, func() { b.settle(i, state, errorResult(unhandled(w))) })
		return
	}
	b.run(ctx, i, func() {
		b.carryOut(ctx, i, execution{
			state: state, final: b.interrupted(ctx) == aborted,
			run: func(ctx context.Context, call tool.Call) (tool.Outcome, error) {
				w.Call = call
				return t.Wake(ctx, w)
			},
		})
	})
}

// unhandled is what a call that no handler can wake is answered with.
func unhandled(w tool.Wake) string {
	switch {
	case w.Aborted:
		return textAbortedWait
	case w.Expired:
		return "The call timed out: its deadline passed and nobody answered."
	}
	return "The call was answered, but the tool cannot resume."
}
