package sdk_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

func (k *kit) reply(host *sdk.Stepwell, p api.ParkedCall, pick string) api.ReplyOutcome {
	k.Helper()
	return do[api.ReplyOutcome](k)(host.Reply(k.ctx, api.ReplyOptions{
		SessionID: k.id, RunID: p.RunID, CallID: p.CallID, WaitID: p.WaitID, Reply: []byte(fmt.Sprintf(`{"picked":[%q]}`, pick)),
	}))
}

// results returns what the tools of the default head answered, by call.
func (k *kit) results() map[string]string {
	k.Helper()
	out := make(map[string]string)
	for _, it := range k.snapshot().Transcript {
		turn, _ := it.(api.Turn)
		for _, p := range turn.Parts {
			if p, ok := p.(api.ToolPart); ok && p.Result != nil {
				out[p.CallID] = message.PlainText(p.Result.Content)
			}
		}
	}
	return out
}

// Field report B34: two replies are accepted before the next step. One wake sees both.
func TestB34_NoReplyOfABatchIsLost(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, question("a", "First?"), question("b", "Second?"), scripted.End(message.StopToolUse),
			scripted.Text("thanks"), scripted.End(message.StopEnd))
		k.send("ask", "", "")
		k.settle()
		for i, p := range k.snapshot().Parked {
			if o := k.reply(k.host, p, []string{"a", "b"}[i]); o != (api.Signalled{}) {
				t.Errorf("reply %d answers %#v", i, o)
			}
		}
		k.step()
		if diff := cmp.Diff(map[string]string{"a": "Picked: A (a)", "b": "Picked: B (b)"}, k.results()); diff != "" {
			t.Error(diff)
		}
	})
}

// Field report B45: several calls are answered in any order, by hosts that come and go. Every reply that was accepted reaches its call.
func TestB45_ThreeParkedCallsAreAnsweredOneByOne(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		for name, between := range map[string]func(k *kit){"together": func(*kit) {}, "with steps between": func(k *kit) { k.step() }} {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				stores(t, func(t *testing.T, s store.Store) {
					k := newKit(t, s, nil,
						question("z", "First?"), question("a", "Second?"), question("m", "Third?"), scripted.End(message.StopToolUse),
						scripted.Text("thanks"), scripted.End(message.StopEnd))
					k.send("ask", "", "")
					k.settle()
					parked := k.snapshot().Parked
					var titles []string
					for _, p := range parked {
						titles = append(titles, p.Selection.Title)
					}
					if diff := cmp.Diff([]string{"First?", "Second?", "Third?"}, titles); diff != "" { // conformance 211
						t.Fatal(diff)
					}
					for _, i := range order {
						client := k.newHost(nil)
						if o := k.reply(client, parked[i], []string{"a", "b"}[i%2]); o != (api.Signalled{}) {
							t.Errorf("reply %d answers %#v", i, o)
						}
						if o := k.reply(client, parked[i], "a"); o != (api.NotWaiting{}) {
							t.Errorf("a second reply %d answers %#v", i, o)
						}
						if err := client.Close(); err != nil {
							t.Fatal(err)
						}
						if i != order[2] {
							between(k)
						}
					}
					k.settle()
					want := map[string]string{"z": "Picked: A (a)", "a": "Picked: B (b)", "m": "Picked: A (a)"}
					if diff := cmp.Diff(want, k.results()); diff != "" {
						t.Error(diff)
					}
					if k.phaseName() != "done" {
						t.Errorf("the run is %s", k.phaseName())
					}
				})
			})
		}
	}
}

// Field report B47: two devices answer at the same moment. One wins, and the result is the winner's.
func TestB47_OfTwoDevicesThatAnswerAtOnceOneWins(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		const rounds = 20
		k := newKit(t, s, nil)
		devices := map[string]*sdk.Stepwell{"a": k.newHost(nil), "b": k.newHost(nil)}
		for round := range rounds {
			call := fmt.Sprint("q", round)
			k.player.Then(question(call, "Which?"), scripted.End(message.StopToolUse), scripted.Text("thanks"), scripted.End(message.StopEnd))
			k.send("ask", "", "")
			k.settle()
			parked := k.snapshot().Parked[0]
			var mu sync.Mutex
			got := make(map[string]api.ReplyOutcome)
			var both sync.WaitGroup
			for pick, device := range devices {
				both.Go(func() {
					o := k.reply(device, parked, pick)
					mu.Lock()
					defer mu.Unlock()
					got[pick] = o
				})
			}
			both.Wait()
			k.settle()
			want := map[string]api.ReplyOutcome{"a": api.Signalled{}, "b": api.NotWaiting{}}
			result := "Picked: A (a)"
			if got["b"] == (api.Signalled{}) {
				want = map[string]api.ReplyOutcome{"b": api.Signalled{}, "a": api.NotWaiting{}}
				result = "Picked: B (b)"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d: %s", round, diff)
			}
			if k.results()[call] != result {
				t.Errorf("round %d: the result is %q, want %q", round, k.results()[call], result)
			}
		}
	})
}

// Conformance 227: the first reply wins although it came while no host lived, and a host that knows nothing settles the call.
func TestC227_TheFirstReplyWinsAcrossARestart(t *testing.T) {
	handles(t, func(t *testing.T, open func() store.Store) {
		k := newKit(t, open(), nil, question("q", "Which?"), scripted.End(message.StopToolUse), scripted.Text("thanks"), scripted.End(message.StopEnd))
		k.attach()
		k.send("ask", "", "")
		k.wait()
		parked := k.snapshot().Parked[0]
		if err := k.host.Close(); err != nil {
			t.Fatal(err)
		}
		phone, late := k.hostOver(open(), nil), k.hostOver(open(), nil)
		if o := k.reply(phone, parked, "b"); o != (api.Signalled{}) {
			t.Errorf("the reply answers %#v", o)
		}
		if o := k.reply(late, parked, "a"); o != (api.NotWaiting{}) {
			t.Errorf("the late reply answers %#v", o)
		}
		k.host = k.hostOver(open(), nil)
		k.attach()
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		if diff := cmp.Diff(map[string]string{"q": "Picked: B (b)"}, k.results()); diff != "" {
			t.Error(diff)
		}
	})
}

// An attached host is woken by a reply, and by nothing but the reply.
func TestC210_AReplyWakesTheAttachedHost(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Call("w", "wait", `{"seconds":34560000}`), question("q", "Which?"), scripted.End(message.StopToolUse),
			scripted.Text("thanks"), scripted.End(message.StopEnd))
		k.attach()
		k.send("go", "", "")
		k.wait()
		p := k.snapshot().Parked
		if len(p) != 2 || p[0].CallID != "w" {
			t.Fatalf("parked %+v", p)
		}
		for _, bad := range []string{`{"picked":["z"]}`, `{"picked":[]}`, `{"picks":["a"]}`, `"a"`, `{"picked":["a","b"]}`} {
			k.writesNothing(bad, func() {
				if o, err := k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "q", WaitID: p[1].WaitID, Reply: []byte(bad)}); o != nil || !errors.Is(err, api.ErrInvalid) {
					t.Errorf("%s answers %#v, %v", bad, o, err)
				}
			})
		}
		k.reply(k.newHost(nil), p[1], "a")
		// The other call keeps its wait, and any JSON wakes it.
		k.await(func(b api.EventBody) bool {
			e, ok := b.(api.EffectEvent)
			return ok && e.CallID == "q" && e.State == api.EffectResult
		})
		if o := k.wait(); o != (api.Waiting{RunID: p[0].RunID}) {
			t.Errorf("the wait answers %#v", o)
		}
		if again := k.snapshot().Parked; len(again) != 1 || again[0].WaitID != p[0].WaitID {
			t.Errorf("parked %+v", again)
		}
		do[api.ReplyOutcome](k)(k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "w", WaitID: p[0].WaitID, Reply: []byte(`{"any":1}`)}))
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
	})
}

// clocked makes a host of a clock that the test moves.
func clocked(c *storetest.Clock) func(*sdk.Options) {
	return func(o *sdk.Options) { o.Now = c.Now }
}

// Field report B49: 02:30 comes twice when summer time ends. The two are different points in time, and each is reached once.
func TestB49_ADeadlineInTheRepeatedHourIsReachedOnce(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		c := storetest.NewClock()
		c.Set(time.Date(2026, time.October, 24, 12, 0, 0, 0, time.UTC))
		k := newKit(t, s, clocked(c),
			scripted.Call("summer", "wait", `{"until":"2026-10-25T02:30:00+02:00"}`), scripted.Call("winter", "wait", `{"until":"2026-10-25T02:30:00+01:00"}`),
			scripted.End(message.StopToolUse), scripted.Text("on"), scripted.End(message.StopEnd))
		k.send("wait", "", "")
		for _, at := range []time.Time{time.Date(2026, time.October, 25, 0, 30, 0, 0, time.UTC), time.Date(2026, time.October, 25, 1, 30, 0, 0, time.UTC)} {
			if o := k.settle(); o != (api.StepWaiting{Until: message.MillisOf(at)}) {
				t.Errorf("before %s the step answers %#v", at, o)
			}
			c.Set(at)
		}
		k.settle()
		expired := make(map[string]int)
		for _, e := range of[api.EffectEvent](k.events(0)) {
			if e.State == api.EffectExpired {
				expired[e.CallID]++
			}
		}
		if diff := cmp.Diff(map[string]int{"summer": 1, "winter": 1}, expired); diff != "" || k.phaseName() != "done" {
			t.Errorf("the run is %s: %s", k.phaseName(), diff)
		}
	})
}

// Field report B48: a deadline is a point in time and is not cut to what a timer holds.
func TestB48_ADeadlineInAYearIsKeptWhole(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		c := storetest.NewClock()
		k := newKit(t, s, clocked(c), scripted.Call("w", "wait", `{"seconds":34560000}`), scripted.End(message.StopToolUse), scripted.Text("on"))
		k.send("wait", "", "")
		until := message.Millis(c.Now().Add(400 * 24 * time.Hour).UnixMilli())
		if o := k.settle(); o != (api.StepWaiting{Until: until}) {
			t.Fatalf("the step answers %#v, want %d", o, until)
		}
		k.attach() // its timer is far shorter than the wait
		for _, early := range []time.Duration{25 * 24 * time.Hour, 375*24*time.Hour - time.Millisecond} {
			c.Advance(early)
			if o := k.wait(); o != (api.Waiting{RunID: k.snapshot().Run.RunID}) {
				t.Errorf("after %s the wait answers %#v", early, o)
			}
			if p := k.snapshot().Parked; len(p) != 1 || p[0].Until != until {
				t.Errorf("parked %+v", p)
			}
		}
		wait := k.snapshot().Parked[0].WaitID
		c.Advance(time.Millisecond)
		// Too late, or even settled: the attached host may look for the first time only now.
		o := do[api.ReplyOutcome](k)(k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: "w", WaitID: wait, Reply: []byte(`1`)}))
		if o != (api.NotWaiting{}) && o != (api.NotFound{}) {
			t.Errorf("a reply at the deadline answers %#v", o)
		}
		for k.phaseName() != "done" {
			k.step() // what a scheduler does
		}
		if got := k.results()["w"]; got != "Waited until "+until.Time().Format(time.RFC3339Nano)+"." {
			t.Errorf("the call answers %q", got)
		}
	})
}

func TestC200_AStepTellsDeadlinesAndDoesNotSleep(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		c := storetest.NewClock() // it stands still: a step that slept would never return
		k := newKit(t, s, clocked(c),
			scripted.Text("no"), scripted.Err(llm.Failure{Kind: llm.FailureOverloaded, RetryAfterMs: 3_600_000}),
			scripted.Call("w", "wait", `{"seconds":60}`), scripted.End(message.StopToolUse))
		k.send("go", "", "")
		retry, ok := k.settle().(api.Retry)
		if !ok || retry.At < c.Millis()+3_600_000 {
			t.Fatalf("the step answers %#v", retry)
		}
		if o := k.step(); o != retry {
			t.Errorf("before the time the step answers %#v", o)
		}
		c.Set(retry.At.Time())
		if o := k.settle(); o != (api.StepWaiting{Until: retry.At + 60_000}) {
			t.Errorf("the step answers %#v", o)
		}
	})
}
