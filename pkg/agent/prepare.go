package agent

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// start brings call i on its way: it prepares a call without an effect, opens the effect, and runs or recovers the call.
func (b *batch) start(ctx context.Context, i int, known bool) {
	if !known && !b.prepare(ctx, i) {
		return
	}
	outcome, err := b.in.Session.OpenEffect(context.WithoutCancel(ctx), b.in.Lease, b.in.Run.ID, b.calls[i], b.replay(i))
	if err != nil {
		b.broken(err)
		return
	}
	switch o := outcome.(type) {
	case kernel.Fenced:
		b.fence()
	case kernel.Opened:
		b.running.Go(func() { b.execute(ctx, i, o.State) })
	case kernel.Exists:
		b.calls[i].Arguments = o.State.Intent.Args // the approved ones
		b.recoverCall(ctx, i, o.State)
	}
}

func (b *batch) replay(i int) object.ReplayPolicy {
	if t, ok := b.tools.Lookup(b.calls[i].Name); ok && t.Replay == tool.ReplaySafe {
		return object.ReplaySafe
	}
	return object.ReplayNever
}

// prepare reports whether call i may run, with its arguments as the hooks leave them. Else it has answered the call, or stopped the
// batch. No effect is opened for a call that never runs.
func (b *batch) prepare(ctx context.Context, i int) bool {
	if b.tooLate(ctx, i) {
		return false
	}
	call := b.calls[i]
	if i >= b.opts.MaxCalls {
		b.answer(i, errorResult(fmt.Sprintf("This call was not run: only the first %d calls of a message are. Call it again in a later message.", b.opts.MaxCalls)))
		return false
	}
	if call.RawArguments != "" {
		b.answer(i, errorResult("This call was not run: its arguments are not a JSON object that every reader understands alike."))
		return false
	}
	if err := b.tools.CheckArguments(call.Name, call.Arguments); err != nil {
		b.answer(i, errorResult("This call was not run: "+err.Error()))
		return false
	}
	args, rejected, err := b.before(ctx, b.call(ctx, i, silence()))
	switch {
	case b.tooLate(ctx, i):
		return false
	case err != nil:
		b.answer(i, errorResult("This call was not run: the check before it failed."))
		b.fail(err)
		return false
	case rejected != "":
		b.answer(i, errorResult("This call was not allowed: "+rejected))
		return false
	}
	if len(b.opts.Hooks.BeforeTool) > 0 {
		if err := b.tools.CheckArguments(call.Name, args); err != nil {
			b.answer(i, errorResult("This call was not run: the arguments were changed and "+err.Error()))
			return false
		}
		b.calls[i].Arguments = args
	}
	return !b.stopped()
}

// tooLate reports whether call i must not start any more.
func (b *batch) tooLate(ctx context.Context, i int) bool {
	switch b.interrupted(ctx) {
	case uninterrupted:
		return false
	case aborted, superseded:
		b.answer(i, errorResult(textNotStarted))
	case released:
		b.release()
	case fenced:
		b.fence()
	}
	return true
}
