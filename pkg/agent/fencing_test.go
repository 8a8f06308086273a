package agent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// lease acquires the head's lease.
func (w *world) lease(s *kernel.Session) store.Lease {
	w.t.Helper()
	outcome, err := s.AcquireLease(w.t.Context(), ref.Head("main"), kernel.DefaultTTL)
	if err != nil {
		w.t.Fatal(err)
	}
	got, ok := outcome.(store.Acquired)
	if !ok {
		w.t.Fatalf("acquire: %#v", outcome)
	}
	return got.Lease
}

// takeOver lets the lease run out and gives it to another process.
func (w *world) takeOver() store.Lease {
	w.t.Helper()
	w.clock.advance(2 * kernel.DefaultTTL)
	session, _ := w.process()
	return w.lease(session)
}

// batch calls the turn directly, as a step under the lease would.
func (w *world) batch(lease store.Lease) kernel.ToolsOutcome {
	w.t.Helper()
	return w.direct(w.t.Context(), w.Session, lease, w.Now())
}

// bring moves the effect of call a to the named state.
func (w *world) bring(lease store.Lease, state string) {
	w.t.Helper()
	if state == "missing" {
		return
	}
	ctx := w.t.Context()
	opened, err := w.OpenEffects(ctx, lease, w.run().ID, []kernel.Opening{{
		Call: message.ToolCall{ID: "a", Name: "t", Arguments: jsontext.Value("{}")}, Replay: object.ReplaySafe,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	seen := opened.(kernel.Opened).Calls[0].EffectState
	must := func(outcome kernel.EffectOutcome, err error) kernel.EffectState {
		w.t.Helper()
		moved, ok := outcome.(kernel.Moved)
		if err != nil || !ok {
			w.t.Fatalf("to %s: %#v, %v", state, outcome, err)
		}
		return moved.State
	}
	switch state {
	case "waiting", "signal", "expired":
		seen = must(w.ParkEffect(ctx, lease, seen, nil, w.Now()+100))
		if state == "signal" {
			w.replyTo("a", seen.OID, `"hi"`)
		}
		if state == "expired" {
			must(w.ExpireEffect(ctx, lease, seen, w.Now()+100))
		}
	case "result":
		must(w.SettleEffect(ctx, lease, seen, message.ToolResult{
			ToolCallID: "a", ToolName: "t", Content: []message.Content{message.Text{Text: "stored"}},
		}))
	}
}

// A frozen is what must not change.
type frozen struct {
	seq  store.Seq
	head object.OID
}

func (w *world) freeze() frozen {
	w.t.Helper()
	seq, err := w.LastSeq(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return frozen{seq, w.tip()}
}

// Conformance 79 to 84.
func TestAStaleRunnerIsFencedWhateverTheEffect(t *testing.T) {
	for _, state := range []string{"missing", "intent", "waiting", "expired", "signal", "result"} {
		t.Run(state, func(t *testing.T) {
			var p probe
			w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse)),
				p.waking(p.tool("t", tool.ReplaySafe, says("ran")), func(context.Context, tool.Wake) (tool.Outcome, error) {
					return tool.Text("woken"), nil
				}))
			w.send("steer", "hi")
			w.until("tools")
			stale := w.lease(w.Session)
			w.bring(stale, state)
			w.takeOver()
			before := w.freeze()

			call := w.lastAnswer().Calls()[0]
			if got, err := w.OpenEffects(t.Context(), stale, w.run().ID, []kernel.Opening{{Call: call, Replay: object.ReplaySafe}}); err != nil || !isFenced(got) {
				t.Errorf("open: %#v, %v", got, err)
			}
			if got := w.batch(stale); got != (kernel.BatchFenced{}) {
				t.Errorf("turn: %#v", got)
			}
			opts := w.step
			opts.Lease = &stale
			if got, err := w.Step(t.Context(), opts); err != nil || got != (kernel.StepFenced{}) {
				t.Errorf("step: %#v, %v", got, err)
			}
			if p.runs() != 0 || len(p.woken()) != 0 || w.freeze() != before {
				t.Errorf("%d runs, %d wakes, %+v then %+v", p.runs(), len(p.woken()), before, w.freeze())
			}
		})
	}
}

// Conformance 85 to 88 and 151.
func TestALeaseLostDuringACallFencesTheBatch(t *testing.T) {
	park := func(context.Context, tool.Call) (tool.Outcome, error) { return tool.Wait{}, nil }
	for name, c := range map[string]struct {
		from    string // the state the call starts from
		outcome tool.Outcome
	}{
		"park":        {"missing", tool.Wait{}},
		"settle":      {"missing", tool.Text("done")},
		"re-park":     {"signal", tool.Wait{}},
		"wake-settle": {"signal", tool.Text("done")},
	} {
		for _, by := range []string{"turn", "step"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				var p probe
				w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.Call("z", "long", "{}"), scripted.End(message.StopToolUse)))
				lose := func() (tool.Outcome, error) {
					w.takeOver()
					return c.outcome, nil
				}
				set, err := tool.NewSet(p.waking(p.tool("t", tool.ReplaySafe, func(ctx context.Context, call tool.Call) (tool.Outcome, error) {
					if c.from != "missing" {
						return park(ctx, call)
					}
					return lose()
				}), func(context.Context, tool.Wake) (tool.Outcome, error) { return lose() }), untilItsTold("long"))
				if err != nil {
					t.Fatal(err)
				}
				opts := w.opts
				opts.Tools, opts.SettleAfter = set, time.Nanosecond
				w.use(opts)
				w.send("steer", "hi")
				w.until("tools")
				lease := w.lease(w.Session)
				w.bring(lease, c.from)
				head, run := w.tip(), w.run()

				if by == "turn" {
					if got := w.batch(lease); got != (kernel.BatchFenced{}) {
						t.Errorf("turn: %#v", got)
					}
				} else {
					step := w.step
					step.Lease = &lease
					if got, err := w.Step(t.Context(), step); err != nil || got != (kernel.StepFenced{}) {
						t.Errorf("step: %#v, %v", got, err)
					}
				}
				want := map[string]string{"missing": "intent", "signal": "signal"}[c.from]
				if got := object.StateName(w.effect("a").Effect); got != want || w.tip() != head || w.run().ID != run.ID {
					t.Errorf("effect %s, head %s, want %s, %s", got, w.tip(), want, head)
				}
			})
		}
	}
}

// untilItsTold runs until its context ends, so that what is beside it in a batch is recorded by itself.
func untilItsTold(name string) tool.Tool {
	return new(probe).tool(name, tool.ReplaySafe, func(ctx context.Context, _ tool.Call) (tool.Outcome, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

// Conformance 89.
func TestTheIntentIsThereBeforeTheToolRuns(t *testing.T) {
	var p probe
	var w *world
	w = newWorld(t, scripted.Play(scripted.Call("a", "t", `{"n":1}`), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.tool("t", tool.ReplaySafe, func(context.Context, tool.Call) (tool.Outcome, error) {
			effect := w.effect("a").Effect //nolint:contextcheck // a look from outside
			intent, ok := effect.(object.Intent)
			if !ok || intent.Tool != "t" || string(intent.Args) != `{"n":1}` || intent.Replay != object.ReplaySafe {
				t.Errorf("effect %+v while the tool runs", effect)
			}
			return tool.Text("ok"), nil
		}))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
}

// Conformance 90.
func TestADecisionPendingAtTheFenceStartsNothing(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "t", "{}"), scripted.Call("b", "t", "{}"), scripted.Call("c", "t", "{}"), scripted.End(message.StopToolUse),
	), p.tool("t", tool.ReplaySafe, says("ran")))
	lost, lose := context.WithCancelCause(t.Context())
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{func(_ context.Context, c tool.Call) (agent.Decision, error) {
		if c.ID == "b" {
			w.takeOver() //nolint:contextcheck // a rival from outside
			lose(kernel.ErrFenced)
		}
		if c.ID == "c" {
			t.Error("c was asked about after the fence")
		}
		return agent.Continue{}, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.until("tools")
	lease := w.lease(w.Session)
	if got := w.direct(lost, w.Session, lease, w.Now()); got != (kernel.BatchFenced{}) {
		t.Errorf("turn: %#v", got)
	}
	if states := w.effects(); p.runs() != 0 || len(states) != 0 {
		t.Errorf("%d runs and %d effects, want none", p.runs(), len(states))
	}
}

// recordsAtOnce makes results wait for no other call.
func (w *world) recordsAtOnce() {
	opts := w.opts
	opts.SettleAfter = time.Nanosecond
	w.use(opts)
}

// afterAWrite returns a tool that runs until a write of its sibling is under way, and what to call then.
func afterAWrite() (written func(), long tool.Tool) {
	done := make(chan struct{})
	return sync.OnceFunc(func() { close(done) }), new(probe).tool("long", tool.ReplaySafe, func(context.Context, tool.Call) (tool.Outcome, error) {
		<-done
		return tool.Text("at last"), nil
	})
}

// settleOf matches the writes of a call's effect.
func settleOf(callID string) func(storetest.Call) bool {
	return func(c storetest.Call) bool {
		if c.Op != storetest.OpUpdateRefs || len(c.Names) == 0 || c.Reason != "effect" {
			return false
		}
		name := string(c.Names[0])
		return len(name) > len(callID) && name[len(name)-len(callID)-1:] == "/"+callID
	}
}

// Conformance 91.
func TestACompetingSettlementWins(t *testing.T) {
	var p probe
	var w *world
	w = newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.tool("t", tool.ReplaySafe, func(ctx context.Context, _ tool.Call) (tool.Outcome, error) {
			seen := w.effect("a") //nolint:contextcheck // a rival from outside
			winner, err := object.Encode(object.Result{Intent: seen.IntentOID, At: w.Now() + 1, Result: message.ToolResult{
				ToolCallID: "a", ToolName: "t", Content: []message.Content{message.Text{Text: "winner"}},
			}})
			if err != nil {
				return nil, err
			}
			_, err = w.UpdateRefs(ctx, []store.Update{{Name: ref.Effect(seen.Intent.RunID, "a"), From: seen.OID, To: winner.OID}},
				store.UpdateOptions{Reason: "rival", Objects: []object.Encoded{winner}})
			return tool.Text("loser"), err
		}))
	w.send("steer", "hi")
	w.until("tools")
	if got := w.one(w.Session); got != (kernel.StepContinue{}) {
		t.Errorf("step: %#v", got)
	}
	w.wantPhase("tools")
	w.one(w.Session)
	w.wantPhase("respond")
	if got := w.results(); len(got) != 1 || textOf(got[0]) != "winner" || p.runs() != 1 || len(w.effects()) != 0 {
		t.Errorf("results %+v after %d runs with %d effects left", got, p.runs(), len(w.effects()))
	}
}

// Conformance 92.
func TestAStoreFailurePublishesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		write  int // which write of the effect fails
		at     storetest.Moment
		replay tool.Replay
		want   string
		runs   int
	}{
		"open, not applied":   {1, storetest.Before, tool.ReplayNever, "ran", 1},
		"open, applied":       {1, storetest.After, tool.ReplayNever, view.Interrupted, 0},
		"open, applied, safe": {1, storetest.After, tool.ReplaySafe, "ran", 1},
		"settle, not applied": {2, storetest.Before, tool.ReplayNever, view.Interrupted, 1},
		"settle, applied":     {2, storetest.After, tool.ReplayNever, "ran", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var p probe
			recorded, long := afterAWrite()
			w := newWorld(t, scripted.Play(
				scripted.Call("a", "t", "{}"), scripted.Call("z", "long", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
			), p.tool("t", c.replay, says("ran")), long)
			w.recordsAtOnce()
			w.send("steer", "hi")
			w.until("tools")
			messages := len(w.messages())
			session, f := w.process()
			writes := 0
			f.FailNext(c.at, func(call storetest.Call) bool {
				if settleOf("a")(call) {
					if writes++; writes == c.write {
						recorded()
					}
				}
				return settleOf("a")(call) && writes == c.write
			})
			if _, err := session.Step(t.Context(), w.step); !errors.Is(err, storetest.ErrInjected) {
				t.Fatalf("step: %v, want the store's error", err)
			}
			w.wantPhase("tools")
			if got := len(w.messages()); got != messages {
				t.Errorf("%d messages were published", got-messages)
			}
			w.clock.advance(time.Minute)
			w.steps()
			w.wantPhase("done")
			w.ruleG()
			if got := textOf(w.results()[0]); got != c.want || p.runs() != c.runs {
				t.Errorf("result %q after %d runs, want %q after %d", got, p.runs(), c.want, c.runs)
			}
		})
	}
}

// direct calls the turn as a step on s would, at the given reading of the clock.
func (w *world) direct(ctx context.Context, s *kernel.Session, lease store.Lease, now object.Millis) kernel.ToolsOutcome {
	w.t.Helper()
	run, answer := w.run(), w.lastAnswer() //nolint:contextcheck // read from outside the call
	got, err := agent.New(w.opts).Tools(ctx, kernel.ToolsInput{
		TurnInput: kernel.TurnInput{
			Session: s, Lease: lease, Run: run, Attempt: 1, Now: now,
			Emit: func(context.Context, store.EventBody) error { return nil },
		},
		Assistant: answer,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func TestB37_AnAbortBetweenIntentAndExecutionRunsNothing(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse)),
		p.tool("t", tool.ReplayNever, says("ran")))
	w.send("steer", "hi")
	w.until("tools")
	session, f := w.process()
	lease := w.lease(session)
	ctx, abort := context.WithCancelCause(t.Context())
	f.Hook(storetest.After, func(c storetest.Call) {
		if settleOf("a")(c) {
			abort(kernel.ErrAborted)
		}
	})
	got, ok := w.direct(ctx, session, lease, w.Now()).(kernel.Settled)
	if !ok || len(got.Results) != 1 || !got.Results[0].IsError || p.runs() != 0 {
		t.Errorf("outcome %+v after %d runs", got, p.runs())
	}
}

// Conformance 155: the clock that moves on during a step makes nothing due.
func TestNothingIsDueBeforeTheStepsOwnInstant(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse)),
		p.tool("t", tool.ReplayNever, waits(tool.Wait{})))
	w.send("steer", "hi")
	w.until("tools")
	lease := w.lease(w.Session)
	w.bring(lease, "waiting")
	until := w.effect("a").Until()
	w.clock.advance(time.Second)
	if got, ok := w.direct(t.Context(), w.Session, lease, until-1).(kernel.Parked); !ok || len(got.Calls) != 1 {
		t.Errorf("outcome %#v, want parked", got)
	}
	if got, ok := w.direct(t.Context(), w.Session, lease, until).(kernel.Settled); !ok {
		t.Errorf("outcome %#v, want settled", got)
	}
}

func isFenced(o kernel.OpenOutcome) bool {
	_, fenced := o.(kernel.Fenced)
	return fenced
}
