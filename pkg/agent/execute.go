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
		b.settle(i, state, errorResult(fmt.Sprintf("This call cannot go on: the tool %q is not known to this host.", state.Intent.Tool)))
		return
	}
	switch b.interrupted(ctx) {
	case uninterrupted:
		b.carryOut(ctx, i, execution{state: state, run: t.Execute})
	case aborted:
		b.settle(i, state, errorResult(textNotStarted))
	case superseded:
		b.answer(i, errorResult(textNotStarted))
	case released:
		b.release()
		if state.Intent.Replay == object.ReplayNever {
			// Nobody else could tell that it has not started.
			b.settle(i, state, errorResult(textNotStarted))
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
		b.finish(ctx, i, e.state, call, doneResult(o))
	case tool.Wait:
		b.wait(ctx, i, e, call, o)
	case nil:
		b.finish(ctx, i, e.state, call, errorResult("The tool returned no outcome."))
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
		b.finish(ctx, i, e.state, b.call(ctx, i, silence()), errorResult(withProgress(text, last)))
	case aborted:
		text := view.Interrupted
		if !fresh {
			text = textAbortedWait
		}
		if !errors.Is(err, errLeft) && !errors.Is(err, context.Canceled) && !errors.Is(err, kernel.ErrAborted) {
			text += "\nIt ended with: " + err.Error()
		}
		b.settle(i, e.state, errorResult(withProgress(text, last)))
	case superseded:
		b.answer(i, errorResult(withProgress(view.Interrupted, last)))
	case released:
		if errors.Is(context.Cause(ctx), kernel.ErrTimeUp) {
			// It had the time that this host has for one step, and the next one is no longer.
			b.settle(i, e.state, errorResult(withProgress(textTimeUp, last)))
			return
		}
		b.release()
		if fresh && e.state.Intent.Replay == object.ReplayNever {
			b.settle(i, e.state, errorResult(withProgress(view.Interrupted, last)))
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
		b.settle(i, e.state, errorResult(textAbortedWait))
		return
	}
	if err := w.Validate(); err != nil {
		b.finish(ctx, i, e.state, call, errorResult("The tool asked to wait in a way that cannot be shown: "+err.Error()))
		return
	}
	outcome, err := b.in.Session.ParkEffect(context.WithoutCancel(ctx), b.in.Lease, e.state, w.Selection, w.Until)
	if errors.Is(err, kernel.ErrInvalid) {
		b.finish(ctx, i, e.state, call, errorResult("The tool asked to wait in a way that cannot be recorded: "+err.Error()))
		return
	}
	if _, ok := b.moved(i, outcome, err); ok {
		b.park(i)
	}
}

// finish settles call i with what the AfterTool hooks make of its result.
func (b *batch) finish(ctx context.Context, i int, state kernel.EffectState, call tool.Call, r message.ToolResult) {
	patched, err := b.after(ctx, call, b.address(i, r))
	if err != nil {
		patched = errorResult("The tool ended, but its result is withheld: the check after it failed: " + err.Error())
	}
	b.settle(i, state, limited(patched))
}
