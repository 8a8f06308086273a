package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// An asker is a model that asks once and then thanks for the answer, however often it has to be asked.
type asker struct{ *scripted.Player }

func (asker) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	p := scripted.Play(scripted.Text("May I?"), scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse))
	for _, m := range req.Messages {
		if _, answered := m.(message.ToolResult); answered {
			p = scripted.Play(scripted.Text("Thanks."))
		}
	}
	return p.Stream(ctx, req, emit)
}

// Field report B11: a call waits for approval, and its result is guarded. Wherever the processes die before the park, at the reply and after
// it, the call stays on the branch from before the park, and has exactly one result in the end.
func TestB11_AParkedCallKeepsItsPlaceWhereverAProcessDies(t *testing.T) {
	// play returns the number of store calls of the process that dies at call n.
	play := func(t *testing.T, n int, at storetest.Moment) int {
		t.Helper()
		var p probe
		w := newWorld(t, scripted.Play(), asking(&p, "ask", 0))
		opts := w.opts
		opts.Models = llm.NewCatalog(asker{w.player})
		opts.Hooks.BeforeTool = []beforeTool{func(context.Context, tool.Call) (agent.Decision, error) { return agent.Continue{}, nil }}
		opts.Hooks.AfterTool = []afterTool{func(_ context.Context, _ tool.Call, r message.ToolResult) (message.ToolResult, error) {
			r.Title = "guarded"
			return r, nil
		}}
		w.use(opts)
		w.send("queue", "hi")

		session, f := w.process()
		if n > 0 {
			f.Kill(n, at)
		}
		parked := false
		// The branch has the call whenever a store has its wait.
		look := func() {
			run, ok, err := w.CurrentRun(t.Context(), "main")
			if err != nil || !ok {
				return
			}
			states, err := w.Effects(t.Context(), run.Run.ID)
			if err != nil {
				t.Error(err)
			}
			for _, e := range states {
				if object.StateName(e.Effect) != "waiting" {
					continue
				}
				parked = true
				if calls := w.lastAnswer().Calls(); len(calls) != 1 || calls[0].ID != "a" {
					t.Errorf("the call is parked and its message has %d calls", len(calls))
				}
			}
		}
		f.Hook(storetest.After, func(c storetest.Call) {
			if c.Op == storetest.OpUpdateRefs {
				look()
			}
		})
		for range 60 {
			outcome, err := session.Step(t.Context(), w.step)
			switch outcome.(type) {
			case kernel.StepWaiting:
				err = answer(t.Context(), session)
			case kernel.StepBusy:
				w.clock.advance(2 * kernel.DefaultTTL)
			case kernel.StepIdle:
				if !parked || p.runs() > 1 || len(p.woken()) > 2 {
					t.Errorf("parked: %v, after %d runs and %d wakes", parked, p.runs(), len(p.woken()))
				}
				w.ruleG()
				w.wantPhase("done")
				results := w.results()
				if len(results) != 1 || results[0].ToolCallID != "a" {
					t.Fatalf("results %+v", results)
				}
				if got := results[0]; !got.IsError {
					if diff := cmp.Diff([]string{`a got "yes"`, "guarded"}, []string{textOf(got), got.Title}); diff != "" {
						t.Error(diff)
					}
				}
				return f.Count()
			case kernel.StepContinue, kernel.StepFinished, kernel.StepRetry, kernel.StepFenced, nil:
			}
			if errors.Is(err, storetest.ErrKilled) {
				session = w.open(w.mem.Another())
				parked = true // seen or not, by the process that is dead
			} else if err != nil {
				t.Fatal(err)
			}
		}
		t.Fatal("60 steps did not come to an end")
		return 0
	}
	calls := play(t, 0, 0)
	if calls < 20 {
		t.Fatalf("only %d calls of the store", calls)
	}
	for n := 1; n <= calls; n++ {
		for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
			t.Run(fmt.Sprint(n, " ", at), func(t *testing.T) { play(t, n, at) })
		}
	}
}

// answer says yes to every parked call, as a client does.
func answer(ctx context.Context, s *kernel.Session) error {
	run, _, err := s.CurrentRun(ctx, "main")
	if err != nil {
		return err
	}
	states, err := s.Effects(ctx, run.Run.ID)
	if err != nil {
		return err
	}
	for _, e := range states {
		if _, err := s.Signal(ctx, kernel.SignalOptions{RunID: run.Run.ID, CallID: e.Intent.CallID, WaitID: e.OID, Signal: []byte(`"yes"`)}); err != nil {
			return err
		}
	}
	return nil
}
