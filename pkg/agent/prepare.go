package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// prepared returns the calls to go on with: those that are open, and those that may be opened. It answers the others.
func (b *batch) prepared(ctx context.Context, seen map[string]object.OID) []int {
	var out []int
	met := make(map[string]bool, len(b.calls))
	for i, call := range b.calls {
		if met[call.ID] {
			b.answer(i, errorResult(fmt.Sprintf("This call was not run: the message has another call with the id %q.", call.ID)))
			continue
		}
		met[call.ID] = true
		if open := !seen[call.ID].IsZero(); open || !b.stopped() && b.prepare(ctx, i) {
			out = append(out, i)
		}
	}
	return out
}

// open opens calls, all in one write, and runs or recovers each.
func (b *batch) open(ctx context.Context, calls []int, seen map[string]object.OID) {
	calls = slices.DeleteFunc(calls, func(i int) bool { // what is open goes on, and nothing is begun
		return seen[b.calls[i].ID].IsZero() && (b.stopped() || b.tooLate(ctx, i))
	})
	if len(calls) == 0 {
		return
	}
	openings := make([]kernel.Opening, len(calls))
	for n, i := range calls {
		openings[n] = kernel.Opening{Call: b.calls[i], Replay: b.replay(i), Seen: seen[b.calls[i].ID]}
	}
	outcome, err := b.in.Session.OpenEffects(context.WithoutCancel(ctx), b.in.Lease, b.in.Run.ID, openings)
	if err != nil {
		b.broken(err)
		return
	}
	switch o := outcome.(type) {
	case kernel.Fenced:
		b.fence()
	case kernel.Opened:
		b.mu.Lock()
		for n, i := range calls {
			b.effects[i] = o.Calls[n].EffectState
		}
		b.mu.Unlock()
		for n, i := range calls {
			if state := o.Calls[n].EffectState; o.Calls[n].Fresh {
				b.run(ctx, i, func() { b.execute(ctx, i, state) })
			} else {
				b.calls[i].Arguments = state.Intent.Args // the approved ones
				b.recoverCall(ctx, i, state)
			}
		}
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
