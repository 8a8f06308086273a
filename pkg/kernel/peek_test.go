package kernel_test

import (
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// A peek agrees with the step that follows it on whether there is something to do, at every point of a run, and writes nothing.
func TestPeekAgreesWithTheStep(t *testing.T) {
	stores(t, func(t *testing.T, open storetest.Opener) {
		k := kerneltest.New(t, open)
		k.Script.Toolbox = asking()
		p := k.Process()
		peek := func() string {
			before := len(p.Calls())
			o := must(p.Peek(k.Ctx, head, k.Landing))(t)
			for _, c := range p.Calls()[before:] {
				if c.Op.Writes() {
					t.Errorf("a peek writes: %v", c)
				}
			}
			return kernel.StepName(o)
		}
		if got := peek(); got != "idle" {
			t.Errorf("an unborn head peeks %s", got)
		}
		k.Send(kerneltest.Steer, "use ask")
		steps := 0
		for peek() == "continue" {
			if o := must(k.Step(k.Ctx, k.Options()))(t); kernel.StepName(o) == "idle" {
				t.Fatal("the peek saw work where the step saw none")
			}
			if steps++; steps > 20 {
				t.Fatal("the run does not end")
			}
		}
		if got, step := peek(), kernel.StepName(must(k.Step(k.Ctx, k.Options()))(t)); got != "waiting" || step != got {
			t.Errorf("a parked run peeks %s and steps %s", got, step)
		}
		if err := reply(k, k.Session); err != nil {
			t.Fatal(err)
		}
		if got := peek(); got != "continue" {
			t.Errorf("an answered run peeks %s", got)
		}
		k.Settle()
		if got := peek(); got != "idle" {
			t.Errorf("an ended run peeks %s", got)
		}
	})
}
