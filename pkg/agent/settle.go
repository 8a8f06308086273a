package agent

import (
	"context"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// run runs call i beside the others. A result that it leaves loose is recorded unless the batch ends soon.
func (b *batch) run(ctx context.Context, i int, call func()) {
	b.mu.Lock()
	b.alive++
	b.mu.Unlock()
	b.running.Go(func() {
		call()
		b.end()
		timer := time.NewTimer(b.opts.SettleAfter)
		defer timer.Stop()
		select {
		case <-b.ended:
		case <-timer.C:
			b.record(ctx, i)
		}
	})
}

// end says that a call runs no more.
func (b *batch) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.alive--; b.alive == 0 {
		close(b.ended)
	}
}

// settle keeps the result of call i. A result that cannot be recorded becomes an error that says why.
func (b *batch) settle(i int, state kernel.EffectState, r message.ToolResult) {
	r = b.address(i, r)
	if err := recordable(r); err != nil {
		r = b.address(i, errorResult("The tool ended, but its result cannot be recorded: "+err.Error()))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[i], b.loose[i], b.effects[i] = &r, true, state
}

// record puts the result of call i behind its effect ref, if it is loose.
func (b *batch) record(ctx context.Context, i int) {
	b.mu.Lock()
	loose, state, result := b.loose[i], b.effects[i], b.results[i]
	b.loose[i] = false
	b.mu.Unlock()
	if loose {
		outcome, err := b.in.Session.SettleEffect(context.WithoutCancel(ctx), b.in.Lease, state, *result)
		b.moved(i, outcome, err)
	}
}

// moved reports whether the effect of call i moved as it should, and where. Else the batch is stopped.
func (b *batch) moved(i int, outcome kernel.EffectOutcome, err error) (kernel.EffectState, bool) {
	if err != nil {
		b.broken(err)
		return kernel.EffectState{}, false
	}
	switch o := outcome.(type) {
	case kernel.Moved:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.effects[i] = o.State
		return o.State, true
	case kernel.Conflict:
		b.conflicted()
	case kernel.Fenced:
		b.fence()
	}
	return kernel.EffectState{}, false
}
