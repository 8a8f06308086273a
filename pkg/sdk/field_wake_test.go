package sdk_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// once is a tool that counts its runs and parks for a minute, and then counts its wakes.
func once(runs, wakes *atomic.Int64) tool.Tool {
	return tool.Tool{
		Name: "once", Description: "Does it.", Parameters: []byte(`{"type":"object"}`), Replay: tool.ReplayNever,
		Execute: func(_ context.Context, c tool.Call) (tool.Outcome, error) {
			runs.Add(1)
			return tool.Wait{Until: c.Now + 60_000}, nil
		},
		Wake: func(_ context.Context, w tool.Wake) (tool.Outcome, error) {
			wakes.Add(1)
			return tool.Text(fmt.Sprint("expired: ", w.Expired)), nil
		},
	}
}

// Field report B62: whoever wakes a head wakes it up to three times, together and late. Every surplus wake ends busy, idle or waiting, and
// the work is done once.
func TestB62_WakesThatComeOftenTogetherAndLateHaveOneEffect(t *testing.T) {
	for times := 1; times <= 3; times++ {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				var runs, wakes atomic.Int64
				c := storetest.NewClock()
				compose := func(o *sdk.Options) { clocked(c)(o); offers(once(&runs, &wakes))(o) }
				k := newKit(t, s, compose, scripted.Call("o", "once", `{}`), scripted.End(message.StopToolUse),
					scripted.Text("fine"), scripted.End(message.StopEnd))
				var hosts []*sdk.Stepwell
				for range times {
					hosts = append(hosts, k.newHost(compose))
				}
				// deliver gives the head one wake, as often as it comes, until none of them finds anything to do.
				deliver := func() api.StepOutcome {
					for range 50 {
						got := make([]api.StepOutcome, times)
						var together sync.WaitGroup
						for i, host := range hosts {
							together.Go(func() { got[i] = do[api.StepOutcome](k)(host.Step(k.ctx, k.head())) })
						}
						together.Wait()
						// One that is busy lost to one that tells what there was to do.
						var settled api.StepOutcome
						moved := false
						for _, o := range got {
							switch o.(type) {
							case api.Continue, api.Finished:
								moved = true
							case api.Idle, api.StepWaiting:
								settled = o
							case api.StepBusy:
							case api.Retry, api.Fenced:
								t.Errorf("a wake answers %#v", o)
							}
						}
						if settled != nil && !moved {
							return settled
						}
					}
					t.Fatal("50 wakes did not settle the head")
					return nil
				}
				late := func(want api.StepOutcome) {
					t.Helper()
					k.writesNothing("a late wake", func() {
						if o := deliver(); o != want {
							t.Errorf("a late wake answers %#v, want %#v", o, want)
						}
					})
				}
				k.send("go", "", "")
				until := c.Millis() + 60_000
				if o := deliver(); o != (api.StepWaiting{Until: until}) {
					t.Fatalf("the wakes answer %#v", o)
				}
				late(api.StepWaiting{Until: until})
				c.Advance(time.Minute)
				if o := deliver(); o != (api.Idle{}) {
					t.Errorf("the wakes of the deadline answer %#v", o)
				}
				c.Advance(10 * time.Minute)
				late(api.Idle{})
				if runs.Load() != 1 || wakes.Load() != 1 {
					t.Errorf("the tool ran %d times and was woken %d times", runs.Load(), wakes.Load())
				}
				if diff := cmp.Diff([]string{"user: go", "tool: once", "assistant: fine"}, k.said()); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(map[string]string{"o": "expired: true"}, k.results()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Field report B62: while a response is under way every other wake is busy at once, and asks no model.
func TestB62_WakesDuringAResponseAreBusy(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		streams, open := make(chan struct{}, 9), make(chan struct{})
		e := &echo{before: func(context.Context) { streams <- struct{}{}; <-open }}
		k := newKit(t, s, e.option)
		k.send("hello", "", "")
		k.step() // it lands
		var first sync.WaitGroup
		first.Go(func() { k.step() })
		<-streams
		for range 3 {
			if o := do[api.StepOutcome](k)(k.newHost(e.option).Step(k.ctx, k.head())); !isBusy(o) {
				t.Errorf("a wake by another host answers %#v", o)
			}
			if o := k.step(); !isBusy(o) {
				t.Errorf("a wake by the same host answers %#v", o)
			}
		}
		close(open)
		first.Wait()
		if o := k.settle(); o != (api.Idle{}) {
			t.Errorf("in the end a wake answers %#v", o)
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: re: hello"}, k.said()); diff != "" || e.calls.Load() != 1 {
			t.Errorf("the model was asked %d times: %s", e.calls.Load(), diff)
		}
	})
}

// Field report B50: a deadline that has passed when the call is parked is due at once, also by a clock that is behind, and whoever looks
// next ends the wait.
func TestB50_ADeadlineThatHasPassedIsDueAtOnce(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"passed": -time.Second, "now": 0, "long passed": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				c := storetest.NewClock()
				parks := tool.Tool{
					Name: "parks", Description: "Parks.", Parameters: []byte(`{"type":"object"}`), Replay: tool.ReplayNever,
					Execute: func(_ context.Context, call tool.Call) (tool.Outcome, error) {
						return tool.Wait{Until: call.Now + message.Millis(ahead.Milliseconds())}, nil
					},
					Wake: func(_ context.Context, w tool.Wake) (tool.Outcome, error) {
						return tool.Text(fmt.Sprint(w.Expired)), nil
					},
				}
				k := newKit(t, s, func(o *sdk.Options) { clocked(c)(o); offers(parks)(o) },
					scripted.Call("p", "parks", `{}`), scripted.End(message.StopToolUse), scripted.Text("fine"), scripted.End(message.StopEnd))
				k.send("go", "", "")
				k.attach() // its clock stands still: a timer that waited for anything would wait for ever
				if o := k.wait(); o != (api.Idle{}) {
					if o != (api.Waiting{RunID: k.snapshot().Run.RunID}) {
						t.Errorf("the wait answers %#v", o)
					}
					k.await(ended)
				}
				if diff := cmp.Diff(map[string]string{"p": "true"}, k.results()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Field report B50: half a second is not rounded up to what some scheduler counts in. An attached host looks again by itself when it is due.
func TestB50_HalfASecondIsNotAMinute(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, offers(builtin.Wait()), scripted.Call("w", "wait", `{"seconds":0.5}`), scripted.End(message.StopToolUse),
			scripted.Text("fine"), scripted.End(message.StopEnd))
		var cancel context.CancelFunc
		k.ctx, cancel = context.WithTimeout(k.ctx, 20*time.Second) // far from what it takes, and from a minute
		defer cancel()
		k.attach()
		k.send("go", "", "")
		end := k.await(ended).Body.(api.RunEvent).Run
		if end.Phase == nil || k.phaseName() != "done" {
			t.Errorf("the run ends %+v", end)
		}
	})
}
