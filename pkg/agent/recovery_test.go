package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// dieAt runs one step in a process of its own that dies at a write, and lets its lease run out.
func (w *world) dieAt(write func(storetest.Call) bool, at storetest.Moment) {
	w.t.Helper()
	session, f := w.process()
	f.Hook(at, func(c storetest.Call) {
		if write(c) {
			f.KillNow()
		}
	})
	if _, err := session.Step(w.t.Context(), w.step); !errors.Is(err, storetest.ErrKilled) {
		w.t.Fatalf("step: %v, want death", err)
	}
	w.clock.advance(2 * kernel.DefaultTTL)
}

// publish matches the write that commits the results of a batch.
func publish(c storetest.Call) bool { return c.Op == storetest.OpUpdateRefs && c.Reason == "tools" }

// Conformance 153.
func TestB10_ARepeatedTurnSeesThatTheOutcomeIsUnknown(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
		scripted.End(message.StopEnd), scripted.Text("ok")), p.tool("t", tool.ReplayNever, says("pull request opened")))
	w.send("steer", "hi")
	w.until("tools")
	w.dieAt(publish, storetest.Before)
	w.steps()
	w.wantPhase("done")
	w.send("steer", "something else")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	requests := w.player.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		if r, ok := m.(message.ToolResult); ok && r.IsError && strings.Contains(textOf(r), "do not assume that it did not happen") && p.runs() == 1 {
			return
		}
	}
	t.Errorf("the model is not told, after %d runs", p.runs())
}

// Conformance 153.
func TestASafeCallRunsAgainAfterACrash(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", `{"n":1}`), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.tool("t", tool.ReplaySafe, says("ran")))
	w.send("steer", "hi")
	w.until("tools")
	w.dieAt(publish, storetest.Before)
	w.steps()
	w.wantPhase("done")
	if got := w.results()[0]; textOf(got) != "ran" || p.runs() != 2 {
		t.Errorf("result %+v after %d runs, want the second run's", got, p.runs())
	}
}

func TestB05_AbortAfterTheHostDied(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse)),
		p.tool("t", tool.ReplayNever, says("ran")))
	w.send("steer", "hi")
	w.until("tools")
	w.dieAt(publish, storetest.Before)
	w.clock.advance(time.Hour)
	w.abort()
	w.steps()
	w.wantPhase("aborted")
	w.ruleG()
	if got := w.results(); len(got) != 1 || textOf(got[0]) != view.Interrupted || p.runs() != 1 {
		t.Errorf("results %+v after %d runs", got, p.runs())
	}
}

func TestB06_RecoveryThatDiesAsWell(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.tool("t", tool.ReplayNever, says("ran")))
	w.send("steer", "hi")
	w.until("tools")
	w.dieAt(settleOf("a"), storetest.After) // the intent is there
	w.dieAt(publish, storetest.Before)
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	if got := w.results(); len(got) != 1 || got[0].ToolCallID != "a" || p.runs() != 0 {
		t.Errorf("results %+v after %d runs, want one and none", got, p.runs())
	}
}

func TestB36_OthersAreBusyWhileAToolRuns(t *testing.T) {
	var p, q probe
	started, release := make(chan struct{}), make(chan struct{})
	w := newWorld(t, scripted.Play(
		scripted.Call("q", "ask", "{}"), scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
	), q.waking(q.tool("ask", tool.ReplayNever, waits(tool.Wait{})), func(context.Context, tool.Wake) (tool.Outcome, error) {
		return tool.Text("answered"), nil
	}), p.tool("t", tool.ReplayNever, func(context.Context, tool.Call) (tool.Outcome, error) {
		close(started)
		<-release
		return tool.Text("ran"), nil
	}))
	w.send("steer", "hi")
	w.until("tools")
	done := w.background(t.Context())
	<-started
	for range 3 {
		session, _ := w.process()
		if got, ok := w.one(session).(kernel.StepBusy); !ok {
			t.Errorf("step: %#v, want busy", got)
		}
	}
	close(release)
	<-done
	w.reply("q", "1")
	w.steps()
	w.wantPhase("done")
	if p.runs() != 1 {
		t.Errorf("%d runs, want 1", p.runs())
	}
}

func TestB37_AStaleReaderDoesNotRunTheTool(t *testing.T) {
	for _, replay := range []tool.Replay{tool.ReplaySafe, tool.ReplayNever} {
		t.Run(string(replay), func(t *testing.T) {
			var p probe
			w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
				p.tool("t", replay, says("ran")))
			w.send("steer", "hi")
			w.until("tools")
			w.dieAt(settleOf("a"), storetest.After)
			// One process has read that there is an intent, and pauses.
			session, f := w.process()
			gate := f.Gate(storetest.Before, settleOf("a"))
			done := make(chan kernel.StepOutcome, 1)
			go func() {
				outcome, err := session.Step(t.Context(), w.step)
				if err != nil {
					t.Error(err)
				}
				done <- outcome
			}()
			gate.Wait()
			w.clock.advance(2 * kernel.DefaultTTL)
			w.steps() // another takes over and settles
			runs := p.runs()
			gate.Release()
			if got := <-done; got != (kernel.StepFenced{}) {
				t.Errorf("step: %#v, want fenced", got)
			}
			w.wantPhase("done")
			if p.runs() != runs || len(w.results()) != 1 {
				t.Errorf("%d runs after the pause and %d results", p.runs()-runs, len(w.results()))
			}
		})
	}
}

// asking parks with the same question every time and answers with the reply.
func asking(p *probe, name string, until message.Millis) tool.Tool {
	selection := &message.Selection{Title: "Which?", Choices: []message.Choice{{ID: "x", Label: "X"}}}
	return p.waking(p.tool(name, tool.ReplayNever, waits(tool.Wait{Selection: selection, Until: until})),
		func(_ context.Context, w tool.Wake) (tool.Outcome, error) {
			if w.Expired {
				return tool.Text("expired"), nil
			}
			return tool.Text(w.ID + " got " + string(w.Reply)), nil
		})
}

// Conformance 154.
func TestAParkedCallWakesOnceWithItsReply(t *testing.T) {
	var p, q probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "ask", `{"n":1}`), scripted.Call("b", "ask2", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
	), asking(&p, "ask", 0), asking(&q, "ask2", 0))
	w.send("steer", "hi")
	if got := w.steps(); got != (kernel.StepWaiting{}) {
		t.Fatalf("step: %#v", got)
	}
	parkedAt := object.EffectAt(w.effect("a").Effect)
	w.clock.advance(time.Minute)
	w.reply("a", `"yes"`)
	w.steps()
	w.wantPhase("waiting")
	w.steps()
	wakes := p.woken()
	if len(wakes) != 1 || p.runs() != 1 {
		t.Fatalf("%d wakes and %d runs", len(wakes), p.runs())
	}
	got := wakes[0]
	if string(got.Reply) != `"yes"` || got.Expired || got.Aborted || got.Selection == nil || got.Selection.Title != "Which?" ||
		got.ParkedAt != parkedAt || string(got.Arguments) != `{"n":1}` || got.RunID != w.run().ID || got.Now != w.clock.millis() {
		t.Errorf("wake %+v", got)
	}
	w.reply("b", `2`)
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	if got := w.results(); textOf(got[0]) != `a got "yes"` || textOf(got[1]) != "b got 2" || len(p.woken()) != 1 {
		t.Errorf("results %+v", got)
	}
}

// Conformance 155.
func TestADeadlineIsJudgedByTheStepsClock(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		asking(&p, "ask", newClock().millis()+100))
	w.send("steer", "hi")
	until := w.clock.millis() + 100
	if got := w.steps(); got != (kernel.StepWaiting{Until: until}) {
		t.Fatalf("step: %#v", got)
	}
	w.clock.advance(99 * time.Millisecond)
	if got := w.steps(); got != (kernel.StepWaiting{Until: until}) {
		t.Fatalf("step at 99: %#v", got)
	}
	w.clock.advance(time.Millisecond)
	w.steps()
	w.wantPhase("done")
	if got := p.woken(); len(got) != 1 || !got[0].Expired || got[0].Reply != nil || got[0].Until != until {
		t.Errorf("wakes %+v", got)
	}
}

func TestAnExpiredCallIsWokenAfterACrash(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		asking(&p, "ask", newClock().millis()+100))
	w.send("steer", "hi")
	w.steps()
	w.clock.advance(time.Second)
	session, f := w.process()
	f.Hook(storetest.After, func(c storetest.Call) {
		if c.Reason == "expired" {
			f.KillNow()
		}
	})
	_, _ = session.Step(t.Context(), w.step)
	if got := object.StateName(w.effect("a").Effect); got != "expired" {
		t.Fatalf("effect %s, want expired", got)
	}
	w.clock.advance(2 * kernel.DefaultTTL)
	w.steps()
	w.wantPhase("done")
	if got := p.woken(); len(got) != 1 || !got[0].Expired || textOf(w.results()[0]) != "expired" {
		t.Errorf("wakes %+v", got)
	}
}

func TestWakesWithoutAHandler(t *testing.T) {
	var p probe
	until := newClock().millis() + 100
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "mute", "{}"), scripted.Call("b", "late", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
	), p.tool("mute", tool.ReplayNever, waits(tool.Wait{})), p.tool("late", tool.ReplayNever, waits(tool.Wait{Until: until})))
	w.send("steer", "hi")
	w.steps()
	w.reply("a", "1")
	w.clock.advance(time.Second)
	w.steps()
	w.wantPhase("done")
	got := w.results()
	if !strings.Contains(textOf(got[0]), "cannot resume") || !strings.Contains(textOf(got[1]), "timed out") || !got[0].IsError || !got[1].IsError {
		t.Errorf("results %+v", got)
	}
}

func TestAWakeMayParkAgain(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.waking(p.tool("ask", tool.ReplayNever, waits(tool.Wait{})), func(_ context.Context, w tool.Wake) (tool.Outcome, error) {
			if string(w.Reply) == "1" {
				return tool.Wait{}, nil
			}
			return tool.Text(string(w.Reply)), nil
		}))
	w.send("steer", "hi")
	w.steps()
	old := w.effect("a").OID
	w.reply("a", "1")
	w.steps()
	w.wantPhase("waiting")
	if got := w.replyTo("a", old, "2"); got != (kernel.NotWaiting{}) {
		t.Errorf("the old wait answered %#v", got)
	}
	w.reply("a", "2")
	w.steps()
	w.wantPhase("done")
	if got := textOf(w.results()[0]); got != "2" {
		t.Errorf("result %q", got)
	}
}

func TestB34_SeveralRepliesAtOnce(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "ask", "{}"), scripted.Call("b", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
	), asking(&p, "ask", 0))
	w.send("steer", "hi")
	w.steps()
	w.reply("b", "2")
	w.reply("a", "1")
	w.one(w.Session)
	if got := w.results(); len(got) != 2 || textOf(got[0]) != "a got 1" || textOf(got[1]) != "b got 2" {
		t.Errorf("results %+v", got)
	}
}

func TestB42_RepliesGoToTheExactCall(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "ask", "{}"), scripted.Call("b", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok"),
	), asking(&p, "ask", 0))
	w.send("steer", "hi")
	w.steps()
	waitA := w.effect("a").OID
	if got := w.replyTo("b", waitA, `"wrong"`); got != (kernel.NotWaiting{}) {
		t.Errorf("a's wait for b: %#v", got)
	}
	w.reply("b", "2")
	w.steps()
	w.reply("a", "1")
	w.steps()
	w.wantPhase("done")
	if got := w.results(); textOf(got[0]) != "a got 1" || textOf(got[1]) != "b got 2" {
		t.Errorf("results %+v", got)
	}
}

func TestB43_OneReplyLeavesTheSiblingsAlone(t *testing.T) {
	var a, b, c probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "a", "{}"), scripted.Call("b", "b", "{}"), scripted.Call("c", "c", "{}"), scripted.End(message.StopToolUse),
	), a.tool("a", tool.ReplaySafe, says("done")), asking(&b, "b", 0), asking(&c, "c", 0))
	w.send("steer", "hi")
	w.steps()
	waitC := w.effect("c").OID
	w.reply("b", "2")
	w.steps()
	w.wantPhase("waiting")
	if a.runs() != 1 || len(b.woken()) != 1 || len(c.woken()) != 0 || c.runs() != 1 || w.effect("c").OID != waitC {
		t.Errorf("a ran %d times, b woke %d times, c woke %d times", a.runs(), len(b.woken()), len(c.woken()))
	}
}

func TestB47_OneOfTwoRepliesWins(t *testing.T) {
	for range 1000 {
		var p probe
		w := newWorld(t, scripted.Play(scripted.Call("a", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")), asking(&p, "ask", 0))
		w.send("steer", "hi")
		w.steps()
		opts := kernel.SignalOptions{RunID: w.run().ID, CallID: "a", WaitID: w.effect("a").OID}
		values := []string{`"deny"`, `"approve"`}
		outcomes := make([]kernel.SignalOutcome, len(values))
		var both sync.WaitGroup
		for i, v := range values {
			opts := opts
			opts.Signal = jsontext.Value(v)
			both.Go(func() {
				session, _ := w.process()
				var err error
				if outcomes[i], err = session.Signal(t.Context(), opts); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		winner := -1
		for i, o := range outcomes {
			if o == (kernel.Signalled{}) {
				if winner >= 0 {
					t.Fatal("both replies were accepted")
				}
				winner = i
			}
		}
		if winner < 0 {
			t.Fatalf("no reply was accepted: %#v", outcomes)
		}
		w.steps()
		if diff := cmp.Diff(fmt.Sprintf("a got %s", values[winner]), textOf(w.results()[0])); diff != "" {
			t.Fatal(diff)
		}
	}
}
