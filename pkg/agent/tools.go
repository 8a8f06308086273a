package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// Tools answers the calls of a response. Calls are prepared in order, opened together, run side by side, and their results are in call order
// whatever order they end in. It starts from what the effect refs say: what has its result is not run again.
//
// A result goes behind its effect ref once it has waited for the other calls for [Options.SettleAfter]. Those that came later are published with
// the batch and nothing else is written for them.
func (t *Turn) Tools(ctx context.Context, in kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	calls := in.Assistant.Calls()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &batch{
		Turn: t, tools: t.opts.Tools, in: in, calls: calls, cancel: cancel,
		results: make([]*message.ToolResult, len(calls)), parked: make([]bool, len(calls)),
		loose: make([]bool, len(calls)), effects: make([]kernel.EffectState, len(calls)), alive: 1, ended: make(chan struct{}),
	}
	if in.Assistant.StopReason == message.StopLength {
		// Truncated arguments cannot be trusted, and which ones are whole cannot be told (invariant 15).
		for i := range calls {
			b.answer(i, errorResult(textCutShort))
		}
		return b.outcome(ctx)
	}
	effects, err := in.Session.Effects(context.WithoutCancel(ctx), in.Run.ID)
	if err != nil {
		return kernel.BatchFailed{Cause: err}, nil
	}
	seen := make(map[string]object.OID, len(effects))
	for _, e := range effects {
		seen[e.Intent.CallID] = e.OID
	}
	b.open(ctx, b.prepared(ctx, seen), seen)
	b.end()
	b.running.Wait()
	return b.outcome(ctx)
}

// A batch is one call of Tools.
type batch struct {
	*Turn
	tools   *tool.Set
	in      kernel.ToolsInput
	calls   []message.ToolCall
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	ended   chan struct{} // closed once no call runs any more

	mu       sync.Mutex // guards everything below
	results  []*message.ToolResult
	loose    []bool               // results that are not behind their effect refs
	effects  []kernel.EffectState // what the effect refs point to; zero for a call that was not opened
	alive    int                  // calls that run, and one while calls are started
	parked   []bool
	fenced   bool
	conflict bool
	released bool  // some call was left as it is, for whoever takes the head next
	cause    error // the store failed
	failure  error // a hook failed
}

// answer records the result of call i. It gets the call's id and name, and the time.
func (b *batch) answer(i int, r message.ToolResult) {
	r = b.address(i, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[i] = &r
}

func (b *batch) address(i int, r message.ToolResult) message.ToolResult {
	r.ToolCallID, r.ToolName, r.Timestamp = b.calls[i].ID, b.calls[i].Name, b.in.Session.Now()
	return r
}

func (b *batch) park(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parked[i] = true
}

// stopped reports whether later calls must not be started.
func (b *batch) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unpublished() || b.failure != nil
}

// unpublished reports whether nothing of the batch will be published. It is called with the lock held.
func (b *batch) unpublished() bool { return b.fenced || b.conflict || b.released || b.cause != nil }

// fence ends the batch: the lease is someone else's. Tools that run are told.
func (b *batch) fence() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fenced = true
	b.cancel(kernel.ErrFenced)
}

func (b *batch) conflicted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conflict = true
}

func (b *batch) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = true
}

func (b *batch) broken(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause == nil {
		b.cause = err
	}
}

// fail ends the run because of a hook. The calls that were started go on to their results.
func (b *batch) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure == nil {
		b.failure = err
	}
}

// outcome says how the batch ended. A lost lease outranks everything: nothing may be published.
func (b *batch) outcome(ctx context.Context) (kernel.ToolsOutcome, error) {
	moot := interruptionOf(ctx) == superseded
	for i := range b.calls {
		if b.results[i] != nil {
			continue
		}
		switch {
		case moot, b.parked[i] && b.failure != nil:
			// The run ends here, and a wait cannot outlive it.
			b.answer(i, errorResult(textAbortedWait))
		case !b.parked[i]:
			b.answer(i, errorResult(textNotStarted))
		}
	}
	if !moot {
		b.keep(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fenced:
		return kernel.BatchFenced{}, nil
	case b.cause != nil:
		return kernel.BatchFailed{Cause: b.cause}, nil
	case b.conflict:
		return kernel.BatchConflict{}, nil
	case b.released && !moot:
		return nil, fmt.Errorf("tool batch: %w", context.Cause(ctx))
	}
	var results []message.ToolResult
	var parked []string
	for i, r := range b.results {
		if r != nil {
			results = append(results, *r)
		} else {
			parked = append(parked, b.calls[i].ID)
		}
	}
	switch {
	case b.failure != nil:
		return kernel.BatchFailed{Results: results, Error: message.CleanText(b.failure.Error())}, nil
	case len(parked) > 0:
		return kernel.Parked{Calls: parked}, nil
	}
	unopened := func(e kernel.EffectState) bool { return e.OID.IsZero() }
	return kernel.Settled{Results: results, Effects: slices.DeleteFunc(b.effects, unopened)}, nil
}

// keep puts the loose results behind their effect refs when no publish is going to take them.
func (b *batch) keep(ctx context.Context) {
	b.mu.Lock()
	waits := b.failure == nil && slices.ContainsFunc(b.results, func(r *message.ToolResult) bool { return r == nil })
	needed := !b.fenced && (waits || b.unpublished())
	b.mu.Unlock()
	if !needed {
		return
	}
	for i := range b.calls {
		b.record(ctx, i)
	}
}

// call returns what a tool sees of call i.
func (b *batch) call(ctx context.Context, i int, p *progress) tool.Call {
	return tool.Call{
		ID: b.calls[i].ID, Name: b.calls[i].Name, Now: b.in.Now, RunID: b.in.Run.ID,
		Arguments: b.calls[i].Arguments.Clone(), // a tool that writes into them must not change the branch
		Progress:  func(said tool.Progress) { p.say(ctx, said) },
	}
}
