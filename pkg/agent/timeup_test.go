package agent_test

import (
	"context"
	"strings"
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

// A tool whose time is up is stopped and answered, whatever its replay policy: the next step would have no more time for it.
func TestTimeUp_StopsTools(t *testing.T) {
	for _, replay := range []tool.Replay{tool.ReplaySafe, tool.ReplayNever} {
		var p, q probe
		ctx, stop := context.WithCancelCause(t.Context())
		began := make(chan struct{})
		w := newWorld(t, scripted.Play(
			scripted.Call("a", "slow", "{}"), scripted.Call("b", "quick", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"), scripted.End(message.StopEnd),
		), p.tool("slow", replay, func(ctx context.Context, call tool.Call) (tool.Outcome, error) {
			call.Progress(tool.Progress{Text: "half of it"})
			<-began
			stop(kernel.ErrTimeUp)
			<-ctx.Done()
			return nil, ctx.Err()
		}), q.tool("quick", replay, func(context.Context, tool.Call) (tool.Outcome, error) {
			close(began)
			return tool.Text("done"), nil
		}))
		w.send("steer", "hi")
		w.until("tools")
		if o, err := w.Step(ctx, w.step); err != nil || o != (kernel.StepContinue{}) {
			t.Fatalf("the step ends %#v, %v", o, err)
		}
		w.steps()
		w.wantPhase("done")
		w.ruleG()
		got := w.results()
		if p.runs() != 1 || !got[0].IsError || !strings.Contains(textOf(got[0]), "longer than this host has") || !strings.Contains(textOf(got[0]), "half of it") {
			t.Errorf("%s: %d runs and %+v", replay, p.runs(), got)
		}
	}
}
