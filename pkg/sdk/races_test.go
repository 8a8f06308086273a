package sdk_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// fresh goes on in a new session, after the last one was checked.
func (k *kit) fresh(id string) {
	k.Helper()
	k.check()
	k.id = api.SessionID("ses_" + id)
	do[api.CreateSessionOutcome](k)(k.host.CreateSession(k.ctx, api.CreateSessionOptions{SessionID: k.id}))
}

// whereabouts counts the places in which a change is: pending, landed, cancelled.
func (k *kit) whereabouts(oid object.OID) (pending, landed, cancelled int) {
	k.Helper()
	snap := k.snapshot()
	if pends(snap, oid) {
		pending++
	}
	for _, it := range snap.Transcript {
		turn, _ := it.(api.Turn)
		for _, p := range turn.Parts {
			if u, ok := p.(api.UserPart); ok && u.Change == oid {
				landed++
			}
		}
	}
	for _, c := range of[api.QueueCancelledEvent](k.events(0)) {
		if c.Change == oid {
			cancelled++
		}
	}
	return pending, landed, cancelled
}

// Field report B24: a steer lands while the run is aborted, withdrawn, or its host fails, at each store call. At every instant it is in exactly one
// place, and in the end it is answered once unless it was withdrawn.
func TestB24_ASteerIsAlwaysInExactlyOnePlace(t *testing.T) {
	type plan func(k *kit, f *storetest.Faulty, n int, at storetest.Moment, steer object.OID)
	for name, event := range map[string]plan{
		"abort": func(k *kit, f *storetest.Faulty, n int, at storetest.Moment, _ object.OID) {
			f.Hook(at, func(c storetest.Call) {
				if c.N == n {
					k.abort(k.host)
				}
			})
		},
		"cancel": func(k *kit, f *storetest.Faulty, n int, at storetest.Moment, steer object.OID) {
			f.Hook(at, func(c storetest.Call) {
				if c.N == n {
					do[api.CancelOutcome](k)(k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: steer}))
				}
			})
		},
		"failure": func(_ *kit, f *storetest.Faulty, n int, at storetest.Moment, _ object.OID) {
			if at == storetest.Before {
				f.FailBefore(n)
			} else {
				f.FailAfter(n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				e := &echo{}
				k := newKit(t, s, e.option)
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					calls := 1
					for n := 1; n <= calls; n++ {
						k.fresh(fmt.Sprintf("%s_%d", at, n))
						k.send("one", "", "")
						k.step()
						steer := change(k.send("steer", sdk.QueueLane, ""))
						do[api.RedeliverOutcome](k)(k.host.Redeliver(k.ctx, api.RedeliverOptions{SessionID: k.id, Change: steer, Lane: sdk.SteerLane}))
						steer = do[[]api.PendingItem](k)(k.host.Pending(k.ctx, k.head()))[0].Change
						f := storetest.NewFaulty(s)
						runner := k.hostOver(f, e.option)
						var one sync.Mutex // a stream and a guard call the store at the same time
						f.Hook(at, func(storetest.Call) { one.Lock() })
						event(k, f, n, at, steer)
						f.Hook(at, func(c storetest.Call) {
							defer one.Unlock()
							if c.N < n || c.N > n+1 {
								return // looked at for another n
							}
							if p, l, x := k.whereabouts(steer); p+l+x != 1 {
								t.Errorf("%s %s: pending %d, landed %d, cancelled %d times", at, c, p, l, x)
							}
						})
						for range 4 { // errors are the plan's, and what they leave behind is looked at
							if _, err := runner.Step(k.ctx, k.head()); err != nil && !errors.Is(err, storetest.ErrInjected) {
								t.Errorf("%s %d: %v", at, n, err)
							}
						}
						calls = min(f.Count(), 40)
						if err := runner.Close(); err != nil {
							t.Error(err)
						}
						k.leaseFree()
						k.settle()
						p, l, x := k.whereabouts(steer)
						if p != 0 || l+x != 1 || x == 1 && name != "cancel" {
							t.Errorf("%s %d: in the end pending %d, landed %d, cancelled %d times", at, n, p, l, x)
						}
						// A stop that comes after the landing leaves it unanswered.
						if answered := e.said()[len(e.said())-1]; l == 1 && name != "abort" && answered != "steer" {
							t.Errorf("%s %d: the last answer is to %q", at, n, answered)
						}
					}
					if calls < 10 {
						t.Errorf("only %d calls were tried", calls)
					}
				}
			})
		})
	}
}

// leaseFree gives back what a host kept that failed to.
func (k *kit) leaseFree() {
	k.Helper()
	if run := k.snapshot().Run; run != nil && run.Lease != nil {
		raw := k.raw()
		l, _, err := raw.ReadLease(k.ctx, "refs/heads/main")
		if err != nil {
			k.Fatal(err)
		}
		do[bool](k)(raw.ReleaseLease(k.ctx, l))
	}
}

// Field report B33: a stop and the publish that ends the run, in both orders.
func TestB33_AStopThatRacesTheEndHasOneOutcome(t *testing.T) {
	for at, want := range map[storetest.Moment]struct {
		outcome func(o api.AbortOutcome) bool
		phase   string
	}{
		storetest.Before: {func(o api.AbortOutcome) bool { _, ok := o.(api.Requested); return ok }, "aborted"},
		storetest.After:  {func(o api.AbortOutcome) bool { return o == api.NotRunning{} }, "done"},
	} {
		t.Run(at.String(), func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				k := newKit(t, s, nil)
				host, f, _ := k.faulty(scripted.Text("whole"))
				gate := f.Gate(at, writing("respond"))
				attach(k, host)
				k.send("hello", "", "")
				gate.Wait()
				if o := k.abort(k.host); !want.outcome(o) {
					t.Errorf("the abort answers %#v", o)
				}
				gate.Release()
				if o := k.wait(); o != (api.Idle{}) || k.phaseName() != want.phase {
					t.Errorf("%#v, the run is %s, want %s", o, k.phaseName(), want.phase)
				}
				if diff := cmp.Diff([]string{"user: hello", "assistant: whole"}, k.said()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Field report B35: something is submitted before every write of a run. The run takes as many steps as without.
func TestB35_SubmissionsDoNotHoldUpARun(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		steps := func(noise bool) int {
			var script []scripted.Step
			for i := range 5 {
				script = append(script, scripted.Call(fmt.Sprint("c", i), "clock", `{}`), scripted.End(message.StopToolUse))
			}
			host, f, player := k.faulty(append(script, scripted.Text("end"), scripted.End(message.StopEnd))...)
			k.send("go", "", "")
			if noise {
				f.Hook(storetest.Before, func(c storetest.Call) {
					if c.Op == storetest.OpUpdateRefs {
						k.send("noise", sdk.QueueLane, "")
					}
				})
			}
			for n := 1; ; n++ {
				if _, ok := do[api.StepOutcome](k)(host.Step(k.ctx, k.head())).(api.Finished); ok {
					if len(player.Requests()) != 6 {
						t.Errorf("%d requests", len(player.Requests()))
					}
					return n
				}
			}
		}
		if quiet, noisy := steps(false), steps(true); quiet != noisy {
			t.Errorf("%d steps, and %d while others submit", quiet, noisy)
		}
	})
}

// Field report B84: a head is cut and moved while a tool runs. What was abandoned starts nothing more, and both heads go on with valid requests.
func TestB84_ABranchAndAMoveDuringABatch(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		var runs atomic.Int64
		started, open := make(chan struct{}, 9), make(chan struct{})
		k := newKit(t, s, offers(slow(&runs, started, open, tool.ReplayNever)),
			scripted.Call("s", "slow", `{}`), scripted.End(message.StopToolUse))
		k.attach()
		k.send("go", "", "")
		<-started
		tip := k.snapshot().Tip
		do[api.CreateHeadOutcome](k)(k.host.CreateHead(k.ctx, api.CreateHeadOptions{SessionID: k.id, Head: "side", Parent: "main"}))
		if o, ok := do[api.MoveOutcome](k)(k.host.MoveHead(k.ctx, api.MoveHeadOptions{SessionID: k.id, To: api.At(object.OID{})})).(api.Busy); !ok || o.Run.RunID != k.snapshot().Run.RunID {
			t.Errorf("moving under a live run answers %#v", o)
		}
		// The kernel's own move does not ask.
		moved := do[kernel.MoveHeadOutcome](k)(kernel.New(k.raw(), nil).MoveHead(k.ctx, kernel.MoveHeadOptions{Head: "main"}))
		if moved != (kernel.HeadMoved{From: tip}) {
			t.Fatalf("the move answers %#v", moved)
		}
		close(open)
		k.await(ended)
		if k.phaseName() != "aborted" || !k.snapshot().Tip.IsZero() {
			t.Errorf("the run is %s, the head at %s", k.phaseName(), k.snapshot().Tip)
		}
		k.player.Then(scripted.Text("one"), scripted.End(message.StopEnd), scripted.Text("two"), scripted.End(message.StopEnd))
		for _, head := range []string{"main", "side"} {
			do[api.SendReceipt](k)(k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Head: head, Content: api.Text("on")}))
			if o := do[api.WaitOutcome](k)(k.host.WaitRun(k.ctx, api.HeadOptions{SessionID: k.id, Head: head})); o != (api.Idle{}) {
				t.Errorf("%s: the wait answers %#v", head, o)
			}
		}
		requests := k.player.Requests()
		for i, r := range requests {
			if err := view.CheckRequest(r.Messages); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}
		if n := len(requests); n != 3 || len(requests[1].Messages) != 1 || len(requests[2].Messages) != 4 {
			t.Errorf("%d requests: %+v", n, requests)
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
	})
}
