package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// A host whose time for a step is up in the middle of a response keeps what was said and asks again, as often as the policy of retries has it.
func TestTimeUp_KeepsWhatWasSaidAndAsksAgain(t *testing.T) {
	long := func(w *world, said string) context.Context {
		ctx, stop := context.WithCancelCause(t.Context())
		w.player.Then(scripted.Text(said), scripted.Do(func() { stop(kernel.ErrTimeUp) }), scripted.Stall())
		return ctx
	}
	w := newWorld(t, scripted.Play())
	w.send("steer", "hi")
	w.until("respond")
	step := func(ctx context.Context) kernel.StepOutcome {
		t.Helper()
		o, err := w.Step(ctx, w.step)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := step(long(w, "The beginning")); o != (kernel.StepRetry{At: w.clock.millis()}) {
		t.Fatalf("the step ends %#v, want a retry at once", o)
	}
	if m := w.lastAnswer(); m.StopReason != message.StopAborted || m.Content[0] != (message.Text{Text: "The beginning"}) {
		t.Errorf("kept is %+v", m)
	}
	w.player.Then(scripted.Text("All of it."), scripted.End(message.StopEnd))
	w.steps()
	w.wantPhase("done")
	w.ruleG()

	w.send("steer", "again")
	w.until("respond")
	for range 3 {
		if _, again := step(long(w, "Once more")).(kernel.StepRetry); !again {
			t.Fatal("the run ends before its retries do")
		}
	}
	step(long(w, "Once too often"))
	w.wantPhase("failed")
}

// Tools whose time is up are left as they are, and the next step goes on by their replay policies.
func TestTimeUp_LeavesToolsToTheNextStep(t *testing.T) {
	var p probe
	ctx, stop := context.WithCancelCause(t.Context())
	first := true
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"), scripted.End(message.StopEnd)),
		p.tool("t", tool.ReplaySafe, func(ctx context.Context, _ tool.Call) (tool.Outcome, error) {
			if first {
				first = false
				stop(kernel.ErrTimeUp)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return tool.Text("done"), nil
		}))
	w.send("steer", "hi")
	w.until("tools")
	if o, err := w.Step(ctx, w.step); !errors.Is(err, kernel.ErrTimeUp) {
		t.Fatalf("the step ends %#v, %v", o, err)
	}
	w.steps()
	w.wantPhase("done")
	if got := w.results(); p.runs() != 2 || textOf(got[0]) != "done" {
		t.Errorf("%d runs and %+v", p.runs(), got)
	}
}
