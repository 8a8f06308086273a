package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// An execution is one call of a tool's function: how it is made, and what its end means.
type execution struct {
	state kernel.EffectState
	run   func(ctx context.Context, call tool.Call) (tool.Outcome, error)
	// final: the call may not park again. The run is being aborted.
	final bool
}

// execute runs a call whose intent is written.
func (b *batch) execute(ctx context.Context, i int, state kernel.EffectState) {
	t, ok := b.tools.Lookup(state.Intent.Tool)
	if !ok {
		b.settle(ctx, i, state, errorResult(fmt.Sprintf("This call cannot go on: the tool %q is not known to this host.", state.Intent.Tool)))
		return
	}
	switch b.interrupted(ctx) {
	case uninterrupted:
		b.carryOut(ctx, i, execution{state: state, run: t.Execute})
	case aborted:
		b.settle(ctx, i, state, errorResult(textNotStarted))
	case superseded:
		b.answer(i, errorResult(textNotStarted))
	case released:
		b.release()
		if state.Intent.Replay == object.ReplayNever {
			// Nobody else could tell that it has not started.
			b.settle(ctx, i, state, errorResult(textNotStarted))
		}
	case fenced:
		b.fence()
	}
}

// carryOut calls the tool and records how the call ends.
func (b *batch) carryOut(ctx context.Context, i int, e execution) {
	p := &progress{in: b.in.TurnInput, callID: b.calls[i].ID}
	call := b.call(ctx, i, p)
	outcome, err := patient(ctx, b.opts.AbortGrace, func() (tool.Outcome, error) { return e.run(ctx, call) })
	last := p.close()
	if err != nil {
		b.failed(ctx, i, e, err, last)
		return
	}
	switch o := outcome.(type) {
	case tool.Done:
		b.record(ctx, i, e.state, call, doneResult(o))
	case tool.Wait:
		b.wait(ctx, i, e, call, o)
	case nil:
		b.record(ctx, i, e.state, call, errorResult("The tool returned no outcome."))
	}
}

// failed decides what a call means that returned an error, panicked, or did not return.
func (b *batch) failed(ctx context.Context, i int, e execution, err error, last string) {
	_, fresh := e.state.Effect.(object.Intent)
	switch b.interrupted(ctx) {
	case uninterrupted:
		text := "The tool failed: " + err.Error()
		if panicked, ok := errors.AsType[*panicError](err); ok {
			text = "The tool " + panicked.Error()
		}
		b.record(ctx, i, e.state, b.call(ctx, i, silence()), errorResult(withProgress(text, last)))
	case aborted:
		text := view.Interrupted
		if !fresh {
			text = textAbortedWait
		}
		if !errors.Is(err, errLeft) && !errors.Is(err, context.Canceled) && !errors.Is(err, kernel.ErrAborted) {
			text += "\nIt ended with: " + err.Error()
		}
		b.settle(ctx, i, e.state, errorResult(withProgress(text, last)))
	case superseded:
		b.answer(i, errorResult(withProgress(view.Interrupted, last)))
	case released:
		b.release()
		if fresh && e.state.Intent.Replay == object.ReplayNever {
			b.settle(ctx, i, e.state, errorResult(withProgress(view.Interrupted, last)))
		}
	case fenced:
		b.fence()
	}
}

func withProgress(text, last string) string {
	if last == "" {
		return text
	}
	return text + "\nThe last it said was: " + last
}

// wait parks call i.
func (b *batch) wait(ctx context.Context, i int, e execution, call tool.Call, w tool.Wait) {
	if e.final {
		b.settle(ctx, i, e.state, errorResult(textAbortedWait))
		return
	}
	if err := w.Validate(); err != nil {
		b.record(ctx, i, e.state, call, errorResult("The tool asked to wait in a way that cannot be shown: "+err.Error()))
		return
	}
	outcome, err := b.in.Session.ParkEffect(context.WithoutCancel(ctx), b.in.Lease, e.state, w.Selection, w.Until)
	if errors.Is(err, kernel.ErrInvalid) {
		b.record(ctx, i, e.state, call, errorResult("The tool asked to wait in a way that cannot be recorded: "+err.Error()))
		return
	}
	if b.moved(outcome, err) {
		b.park(i)
	}
}

// record settles call i with what the AfterTool hooks make of its result.
func (b *batch) record(ctx context.Context, i int, state kernel.EffectState, call tool.Call, r message.ToolResult) {
	patched, err := b.after(ctx, call, b.address(i, r))
	if err != nil {
		patched = errorResult("The tool ended, but its result is withheld: the check after it failed: " + err.Error())
	}
	b.settle(ctx, i, state, limited(patched))
}

// settle records the result of call i behind its effect ref. A result that cannot be recorded becomes an error that says why.
func (b *batch) settle(ctx context.Context, i int, state kernel.EffectState, r message.ToolResult) {
	r = b.address(i, r)
	if err := recordable(r); err != nil {
		r = b.address(i, errorResult("The tool ended, but its result cannot be recorded: "+err.Error()))
	}
	outcome, err := b.in.Session.SettleEffect(context.WithoutCancel(ctx), b.in.Lease, state, r)
	if b.moved(outcome, err) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.results[i] = &r
	}
}

// moved reports whether an effect moved as it should. Else the batch is stopped.
func (b *batch) moved(outcome kernel.EffectOutcome, err error) bool {
	if err != nil {
		b.broken(err)
		return false
	}
	switch outcome.(type) {
	case kernel.Moved:
		return true
	case kernel.Conflict:
		b.conflicted()
	case kernel.Fenced:
		b.fence()
	}
	return false
}
