package sdk_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

type waited struct {
	outcome api.WaitOutcome
	err     error
}

// waiting waits for the default head in the background.
func (k *kit) waiting(ctx context.Context, host *sdk.Stepwell) <-chan waited {
	got := make(chan waited, 1)
	go func() {
		o, err := host.WaitRun(ctx, k.head())
		got <- waited{o, err}
	}()
	return got
}

func TestC193_EndingAWaitTouchesNothing(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		open, streams := make(chan struct{}), make(chan struct{})
		k := newKit(t, s, nil, scripted.Text("hi"), scripted.Do(func() { close(streams) }), scripted.Gate(open), scripted.Text(" there"))
		ended, cancel := context.WithCancel(k.ctx)
		cancel()
		k.writesNothing("a wait whose context had ended", func() {
			if o, err := k.host.WaitRun(ended, k.head()); o != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("it answers %#v, %v", o, err)
			}
		})
		k.attach()
		k.send("hello", "", "")
		<-streams
		waiter, f, _ := k.faulty()
		blocked := f.Gate(storetest.Before, on(storetest.OpWatchEvents))
		ctx, cancel := context.WithCancel(k.ctx)
		got := k.waiting(ctx, waiter)
		blocked.Wait()
		blocked.Release()
		cancel()
		if w := <-got; w.outcome != nil || !errors.Is(w.err, context.Canceled) {
			t.Errorf("the wait answers %#v, %v", w.outcome, w.err)
		}
		if run := k.snapshot().Run; run == nil || run.AbortRequested || run.Lease == nil || object.Terminal(run.Phase) {
			t.Errorf("the run is %+v", run)
		}
		close(open)
		if _, idle := k.wait().(api.Idle); !idle {
			t.Error("not idle")
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: hi there"}, k.said()); diff != "" {
			t.Error(diff)
		}
		if n := len(k.player.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// Whatever happens at any of a wait's reads, idle is true when it is said.
func TestC194_AChangeDuringTheReadsCannotMakeAWaitStale(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.send("first", "", "")
		k.settle()
		calls := 1
		for n := 1; n <= calls; n++ {
			waiter, f, _ := k.faulty()
			text := "meanwhile"
			f.Hook(storetest.After, func(c storetest.Call) {
				if c.N == n {
					k.send(text, "", "") // nobody runs: the wait must go on
				}
			})
			blocked := f.Gate(storetest.Before, on(storetest.OpWatchEvents))
			got := k.waiting(k.ctx, waiter)
			select {
			case w := <-got:
				// The message came after the last read.
				if f.Count() > n || w.err != nil {
					t.Errorf("call %d of %d: the wait answers %#v, %v with a message pending", n, f.Count(), w.outcome, w.err)
				}
				k.settle()
				calls = f.Count()
				continue
			case <-arrived(blocked):
			}
			k.settle()
			blocked.Release()
			if w := <-got; w.err != nil || w.outcome != (api.Idle{}) {
				t.Errorf("call %d: the wait answers %#v, %v", n, w.outcome, w.err)
			}
			calls = n + 1
		}
		if calls < 6 {
			t.Errorf("a wait made %d calls", calls)
		}
	})
}

// arrived is closed when a call is at the gate.
func arrived(g *storetest.Gate) <-chan struct{} {
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	return done
}

func TestC194_ATrimDoesNotEndAWait(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("hi"))
		k.send("hello", "", "")
		waiter, f, _ := k.faulty()
		blocked := f.Gate(storetest.Before, on(storetest.OpWatchEvents))
		got := k.waiting(k.ctx, waiter)
		blocked.Wait()
		k.settle()
		k.trim(math.MaxInt64)
		blocked.Release()
		if w := <-got; w.err != nil || w.outcome != (api.Idle{}) {
			t.Errorf("the wait answers %#v, %v", w.outcome, w.err)
		}
	})
}

func TestC195_IdleIsWithheldUntilTheLeaseIsFree(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("hi"))
		k.send("hello", "", "")
		k.settle()
		raw := k.raw()
		held, ok := do[store.AcquireOutcome](k)(raw.AcquireLease(k.ctx, ref.Head("main"), kernel.DefaultTTL)).(store.Acquired)
		if !ok {
			t.Fatal("the head is held")
		}
		waiter, f, _ := k.faulty()
		polls := 0
		gate := f.Gate(storetest.After, func(c storetest.Call) bool {
			if c.Op == storetest.OpReadLease {
				polls++
			}
			return c.Op == storetest.OpReadLease && polls == 3
		})
		got := k.waiting(k.ctx, waiter)
		gate.Wait() // it has seen the lease three times and not answered
		select {
		case w := <-got:
			t.Fatalf("the wait answers %#v, %v while the head is held", w.outcome, w.err)
		default:
		}
		if _, err := raw.ReleaseLease(k.ctx, held.Lease); err != nil {
			t.Fatal(err)
		}
		gate.Release()
		if w := <-got; w.err != nil || w.outcome != (api.Idle{}) {
			t.Errorf("the wait answers %#v, %v", w.outcome, w.err)
		}
	})
}

func TestC196_ACorruptRunRefMakesAWaitFail(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("hi"))
		k.broken = true
		k.send("hello", "", "")
		k.settle()
		raw := k.raw()
		was := do[[]object.OID](k)(raw.ReadRefs(k.ctx, ref.Run("main")))[0]
		if _, err := raw.UpdateRefs(k.ctx, []store.Update{{Name: ref.Run("main"), From: was, To: k.snapshot().Tip}}, store.UpdateOptions{Reason: "damage"}); err != nil {
			t.Fatal(err)
		}
		if o, err := k.host.WaitRun(k.ctx, k.head()); o != nil || !errors.Is(err, object.ErrCorrupt) {
			t.Errorf("the wait answers %#v, %v", o, err)
		}
	})
}

// Conformance 129: the waiter and the runner judge the same next batch.
func TestC129_AWaitGoesOnWhileTheLandingWouldLand(t *testing.T) {
	for name, adjust := range map[string]func(*sdk.Options){"one": nil, "all": drainAll} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				e := &echo{}
				k := newKit(t, s, func(o *sdk.Options) {
					if adjust != nil {
						adjust(o)
					}
					e.option(o)
				})
				for _, text := range []string{"a", "b", "c"} {
					k.send(text, sdk.QueueLane, "")
				}
				k.attach()
				if o := k.wait(); o != (api.Idle{}) {
					t.Errorf("the wait answers %#v", o)
				}
				want := []string{"a", "b", "c"}
				if adjust != nil {
					want = []string{"a + b + c"}
				}
				if diff := cmp.Diff(want, e.said()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestC192_ClosingEndsAWait(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		k.send("nobody runs", "", "")
		waiter, f, _ := k.faulty()
		blocked := f.Gate(storetest.Before, on(storetest.OpWatchEvents))
		got := k.waiting(k.ctx, waiter)
		blocked.Wait()
		blocked.Release()
		if err := waiter.Close(); err != nil {
			t.Fatal(err)
		}
		if w := <-got; w.outcome != nil || !errors.Is(w.err, api.ErrClosed) {
			t.Errorf("the wait answers %#v, %v", w.outcome, w.err)
		}
	})
}

func TestC212_AWaitEndsWhereACallIsParked(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			question("q", "Which?"), scripted.Call("w", "wait", `{"seconds":3600}`), scripted.End(message.StopToolUse))
		k.attach()
		k.send("go", "", "")
		o, ok := k.wait().(api.Waiting)
		snap := k.snapshot()
		if !ok || snap.Run == nil || o.RunID != snap.Run.RunID {
			t.Fatalf("the wait answers %#v, the run is %+v", o, snap.Run)
		}
		// A question is told from background work by its selection.
		if p := snap.Parked; len(p) != 2 || p[0].CallID != "q" || p[0].Selection == nil || p[1].CallID != "w" || p[1].Selection != nil || p[1].Until == 0 {
			t.Errorf("parked %+v", p)
		}
	})
}

func TestC142_AWaitOnAMarkedSessionIsIdle(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		k.send("never answered", "", "")
		raw, err := s.OpenSession(k.ctx, store.SessionID(k.id))
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if err := kernel.New(raw, nil).MarkDeleted(k.ctx, nil); err != nil {
			t.Fatal(err)
		}
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
	})
}
