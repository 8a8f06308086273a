package sdk_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// slow is a tool that tells that it runs and then waits for the test.
func slow(runs *atomic.Int64, started chan<- struct{}, open <-chan struct{}, replay tool.Replay) tool.Tool {
	return tool.Tool{
		Name: "slow", Description: "Takes its time.", Parameters: []byte(`{"type":"object"}`), Replay: replay,
		Execute: func(ctx context.Context, _ tool.Call) (tool.Outcome, error) {
			runs.Add(1)
			started <- struct{}{}
			select {
			case <-open:
				return tool.Text("done"), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
	}
}

func offers(tools ...tool.Tool) func(*sdk.Options) {
	return func(o *sdk.Options) {
		set, err := tool.NewSet(append(tools, builtin.Ask())...)
		if err != nil {
			panic(err)
		}
		o.Tools = set
	}
}

// Field report B36: wakes that have nothing to do with a running tool do not start it again.
func TestB36_UnrelatedWakesDoNotRunAToolTwice(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		var runs atomic.Int64
		started, open := make(chan struct{}, 9), make(chan struct{})
		k := newKit(t, s, offers(slow(&runs, started, open, tool.ReplayNever)),
			question("q", "Which?"), scripted.Call("s", "slow", `{}`), scripted.End(message.StopToolUse), scripted.Text("fine"), scripted.End(message.StopEnd))
		k.attach()
		k.send("go", "", "")
		<-started
		k.await(func(b api.EventBody) bool { e, ok := b.(api.EffectEvent); return ok && e.State == api.EffectWaiting })
		other := k.newHost(offers(slow(&runs, started, open, tool.ReplayNever)))
		attach(k, other)
		if o := k.reply(other, k.snapshot().Parked[0], "a"); o != (api.Signalled{}) {
			t.Errorf("the reply answers %#v", o)
		}
		for range 3 { // an event that comes twice, or late
			if o := do[api.StepOutcome](k)(other.Step(k.ctx, k.head())); !isBusy(o) {
				t.Errorf("a step of another host answers %#v", o)
			}
		}
		close(open)
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		if diff := cmp.Diff(map[string]string{"q": "Picked: A (a)", "s": "done"}, k.results()); diff != "" {
			t.Error(diff)
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
	})
}

func isBusy(o api.StepOutcome) bool { _, ok := o.(api.StepBusy); return ok }

// Conformance 226: a host dies between a tool's intent and its result. The successor follows the tool's policy.
func TestC226_ADeathInATool(t *testing.T) {
	for replay, want := range map[tool.Replay]struct {
		runs   int64
		result string
	}{
		tool.ReplaySafe:  {2, "done"},
		tool.ReplayNever: {1, "interrupted"},
	} {
		t.Run(string(replay), func(t *testing.T) {
			handles(t, func(t *testing.T, open func() store.Store) {
				var runs atomic.Int64
				started, gate := make(chan struct{}, 9), make(chan struct{})
				tools := offers(slow(&runs, started, gate, replay))
				k := newKit(t, open(), tools,
					scripted.Call("s", "slow", `{}`), scripted.End(message.StopToolUse), scripted.Text("fine"), scripted.End(message.StopEnd))
				f := storetest.NewFaulty(open())
				dying := k.hostOver(f, func(o *sdk.Options) { tools(o); o.LeaseTTL = 200 * time.Millisecond })
				attach(k, dying)
				k.send("go", "", "")
				<-started
				f.KillNow()
				close(gate)
				k.attach()
				if o := k.wait(); o != (api.Idle{}) {
					t.Errorf("the wait answers %#v", o)
				}
				if n := runs.Load(); n != want.runs {
					t.Errorf("the tool ran %d times, want %d", n, want.runs)
				}
				if got := k.results()["s"]; got != want.result && (want.result != "interrupted" || !containsAll(got, "interrupted", "unknown")) {
					t.Errorf("the result is %q", got)
				}
			})
		})
	}
}

// Conformance 205: a steer that comes while tools run is answered in the same run.
func TestC205_ASteerDuringToolsStaysInTheRun(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		var runs atomic.Int64
		started, open := make(chan struct{}, 9), make(chan struct{})
		k := newKit(t, s, offers(slow(&runs, started, open, tool.ReplayNever)),
			scripted.Call("s", "slow", `{}`), scripted.End(message.StopToolUse), scripted.Text("first"), scripted.End(message.StopEnd),
			scripted.Text("second"), scripted.End(message.StopEnd))
		k.attach()
		k.send("go", "", "")
		<-started
		// Conformance 209: what is pending can be moved and cancelled meanwhile.
		gone := change(k.send("cancelled", sdk.QueueLane, ""))
		moved := change(k.send("and this", sdk.QueueLane, ""))
		if o := do[api.CancelOutcome](k)(k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: gone})); o != (api.Cancelled{}) {
			t.Errorf("cancel answers %#v", o)
		}
		do[api.ConfigureOutcome](k)(k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, ThinkingLevel: "high"}))
		if o := do[api.RedeliverOutcome](k)(k.host.Redeliver(k.ctx, api.RedeliverOptions{SessionID: k.id, Change: moved, Lane: sdk.SteerLane})); change(o).IsZero() {
			t.Errorf("redeliver answers %#v", o)
		}
		close(open)
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		runIDs := make(map[string]bool)
		for _, c := range of[api.CommitEvent](k.events(0)) {
			runIDs[c.Item.Commit.Run] = true
		}
		said := k.said()
		if len(runIDs) != 1 || len(said) < 4 || said[len(said)-2] != "user: and this" {
			t.Errorf("%d runs said %q", len(runIDs), said)
		}
		if o := do[api.CancelOutcome](k)(k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: moved})); o != (api.Landed{}) {
			t.Errorf("cancelling what has landed answers %#v", o)
		}
		if o := do[api.CancelOutcome](k)(k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: object.Hash([]byte("x"))})); o != (api.NotFound{}) {
			t.Errorf("cancelling nothing answers %#v", o)
		}
	})
}
