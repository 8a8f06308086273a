package sdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

func (k *kit) abort(host *sdk.Stepwell) api.AbortOutcome {
	k.Helper()
	return do[api.AbortOutcome](k)(host.Abort(k.ctx, api.AbortOptions{SessionID: k.id}))
}

// streamed waits until a piece of an answer is in the stream.
func (k *kit) streamed(text string) {
	k.Helper()
	k.await(func(b api.EventBody) bool { d, ok := b.(api.TextDeltaEvent); return ok && d.Delta == text })
}

// Field report B76: a stop works while the provider is silent; what it had said is kept.
func TestB76_ARemoteStopEndsASilentCallAndNotTheNextRun(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("par"), scripted.Stall(), scripted.Text("whole"), scripted.End(message.StopEnd))
		k.attach()
		k.send("one", "", "")
		k.streamed("par")
		run := k.snapshot().Run
		if o := k.abort(k.newHost(nil)); o != (api.Requested{RunID: run.RunID}) {
			t.Errorf("the abort answers %#v", o)
		}
		if _, idle := k.wait().(api.Idle); !idle || k.phaseName() != "aborted" {
			t.Errorf("the run is %s", k.phaseName())
		}
		k.send("two", "", "")
		if _, idle := k.wait().(api.Idle); !idle || k.phaseName() != "done" {
			t.Errorf("the next run is %s", k.phaseName())
		}
		if diff := cmp.Diff([]string{"user: one", "assistant: par", "user: two", "assistant: whole"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// Conformance 202, with a message that waits at the boundary: it is answered in the same run.
func TestC202_AStopWithASteerWaitingGoesOnWithTheSteer(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("par"), scripted.Stall(), scripted.Text("steered"), scripted.End(message.StopEnd),
			scripted.Text("queued"), scripted.End(message.StopEnd))
		k.attach()
		k.send("one", "", "")
		k.streamed("par")
		k.send("later", sdk.QueueLane, "")
		k.send("instead", sdk.SteerLane, "")
		k.abort(k.host)
		k.await(ended)
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		want := []string{"user: one", "assistant: par", "user: instead", "assistant: steered", "user: later", "assistant: queued"}
		if diff := cmp.Diff(want, k.said()); diff != "" {
			t.Error(diff)
		}
		runs := make(map[string]bool)
		for _, c := range of[api.CommitEvent](k.events(0)) {
			runs[c.Item.Commit.Run] = true
		}
		if len(runs) != 2 {
			t.Errorf("%d runs, want one for the steer and one for the queue", len(runs))
		}
	})
}

// The guard of a call reads the refs after a stop was asked for, and is held there until the call has ended by itself.
func TestC197_AReadThatIsPausedAcrossTheEndCannotCancelTheNextRun(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		open, openTwo := make(chan struct{}), make(chan struct{})
		k := newKit(t, s, nil)
		host, f, player := k.faulty(
			scripted.Text("one"), scripted.Gate(open), scripted.End(message.StopEnd),
			scripted.Text("two"), scripted.Gate(openTwo), scripted.Text(", whole"), scripted.End(message.StopEnd))
		guard := f.Gate(storetest.Before, func(c storetest.Call) bool {
			return c.Op == storetest.OpReadRefs && len(c.Names) == 3 && c.Names[0] == ref.Run("main")
		})
		attach(k, host)
		k.send("a", "", "")
		k.streamed("one")
		k.abort(k.host)
		guard.Wait()
		close(open) // the call ends whole, before the guard has read
		k.await(ended)
		k.send("b", "", "")
		k.streamed("two")
		guard.Release()
		close(openTwo)
		if o := do[api.WaitOutcome](k)(k.host.WaitRun(k.ctx, k.head())); o != (api.Idle{}) || k.phaseName() != "done" {
			t.Errorf("%#v, the run is %s", o, k.phaseName())
		}
		want := []string{"user: a", "assistant: one", "user: b", "assistant: two, whole"}
		if diff := cmp.Diff(want, k.said()); diff != "" {
			t.Error(diff)
		}
		if n := len(player.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestC132_AskingTwiceToStopWritesOnce(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("one"), scripted.End(message.StopEnd))
		k.writesNothing("a stop without a run", func() {
			if o := k.abort(k.host); o != (api.NotRunning{}) {
				t.Errorf("it answers %#v", o)
			}
		})
		k.send("a", "", "")
		k.step()
		first := k.abort(k.host)
		k.writesNothing("the second stop", func() {
			if o := k.abort(k.host); o != first {
				t.Errorf("it answers %#v after %#v", o, first)
			}
		})
		k.settle()
		k.writesNothing("a stop after the end", func() {
			if o := k.abort(k.host); o != (api.NotRunning{}) {
				t.Errorf("it answers %#v", o)
			}
		})
		if k.phaseName() != "aborted" || len(k.player.Requests()) != 0 {
			t.Errorf("the run is %s after %d requests", k.phaseName(), len(k.player.Requests()))
		}
	})
}

func TestC130_WhatIsQueuedBehindAStopSurvivesAReopening(t *testing.T) {
	handles(t, func(t *testing.T, open func() store.Store) {
		k := newKit(t, open(), nil, scripted.Text("answer"), scripted.End(message.StopEnd))
		k.send("a", "", "")
		k.step()
		k.send("b", sdk.QueueLane, "")
		k.abort(k.host)
		k.step()
		if err := k.host.Close(); err != nil {
			t.Fatal(err)
		}
		k.host = k.hostOver(open(), nil)
		k.settle()
		if diff := cmp.Diff([]string{"user: a", "user: b", "assistant: answer"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// Field report B44: a stop settles what is parked, and the next message is answered.
func TestB44_AStopOfAParkedRunLeavesTheHeadUsable(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, question("q", "Which?"), scripted.End(message.StopToolUse), scripted.Text("fine"), scripted.End(message.StopEnd))
		k.attach()
		k.send("ask me", "", "")
		if _, waiting := k.wait().(api.Waiting); !waiting {
			t.Fatal("not waiting")
		}
		parked := k.snapshot().Parked[0]
		k.abort(k.host)
		if o, idle := k.wait().(api.Idle); !idle || k.phaseName() != "aborted" {
			t.Errorf("%#v, the run is %s", o, k.phaseName())
		}
		late := do[api.ReplyOutcome](k)(k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "q", WaitID: parked.WaitID, Reply: []byte(`{"picked":["a"]}`)}))
		if late != (api.NotFound{}) {
			t.Errorf("a late reply answers %#v", late)
		}
		k.send("never mind", "", "")
		k.wait()
		if diff := cmp.Diff([]string{"user: ask me", "tool: ask", "user: never mind", "assistant: fine"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC131_ConfigurationAfterTheEndStartsNoModelAndServesTheNextRun(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("one"), scripted.End(message.StopEnd), scripted.Text("two"), scripted.End(message.StopEnd))
		k.attach()
		k.send("a", "", "")
		k.wait()
		do[api.ConfigureOutcome](k)(k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, ThinkingLevel: "high"}))
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		if snap := k.snapshot(); snap.Config.ThinkingLevel != "high" || len(k.player.Requests()) != 1 {
			t.Errorf("config %+v after %d requests", snap.Config, len(k.player.Requests()))
		}
		k.send("b", "", "")
		k.wait()
		if r := k.player.Requests(); len(r) != 2 || r[0].ThinkingLevel != "" || r[1].ThinkingLevel != "high" {
			t.Errorf("requests %+v", r)
		}
	})
}

func TestC128_AnEndedRunStaysAsItIsUntilThereIsInput(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Err(llm.Failure{Kind: llm.FailureRefusal}), scripted.Text("two"), scripted.End(message.StopEnd))
		k.send("one", "", "")
		k.settle()
		before := k.snapshot().Run
		if object.PhaseName(before.Phase) != "failed" {
			t.Fatalf("the run is %+v", before)
		}
		next := k.newHost(nil)
		k.writesNothing("a step on an ended run", func() {
			if o := do[api.StepOutcome](k)(next.Step(k.ctx, k.head())); o != (api.Idle{}) {
				t.Errorf("it answers %#v", o)
			}
		})
		if diff := cmp.Diff(before, k.snapshot().Run); diff != "" {
			t.Error(diff)
		}
		k.send("again", "", "")
		k.settle()
		if after := k.snapshot().Run; after.RunID == before.RunID || object.PhaseName(after.Phase) != "done" {
			t.Errorf("the next run is %+v", after)
		}
	})
}
