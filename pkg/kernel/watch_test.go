package kernel_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// The stream of a call breaks, and a participant stops the run before the stream goes on: the call learns of it all the same.
func TestAbortWhileTheStreamIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, kerneltest.Memory)
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		var asked atomic.Bool
		says(k, func(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
			asked.Store(true)
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			if cause := context.Cause(ctx); !errors.Is(cause, kernel.ErrAborted) {
				t.Errorf("cause: got %v, want %v", cause, kernel.ErrAborted)
			}
			return complete("late")(context.WithoutCancel(ctx), in)
		})
		p.FailNext(beforeCall, func(c storetest.Call) bool { return c.Op == storetest.OpWatchEvents })
		gate := p.Gate(beforeCall, func(c storetest.Call) bool { return c.Op == storetest.OpLastSeq && asked.Load() })
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			synctest.Wait() // the guard has looked, if it was told to before
			abort(k)
		})
	})
}
