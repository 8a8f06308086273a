package kernel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A caller opens and moves calls of a run that stands in its tools phase, under a lease of its own.
type caller struct {
	*kerneltest.Kit
	lease store.Lease
	run   string
}

// calling brings the head to the tools phase with a call of each name, and takes the lease.
func calling(k *kerneltest.Kit, names string) caller {
	k.Helper()
	k.Send(queue, "use "+names)
	k.StepIs("continue")
	k.StepIs("continue")
	return caller{k, acquire(k), k.Run().ID}
}

func acquire(k *kerneltest.Kit) store.Lease {
	k.Helper()
	got := must(k.AcquireLease(k.Ctx, ref.Head(head), kernel.DefaultTTL))(k)
	a, ok := got.(store.Acquired)
	if !ok {
		k.Fatalf("acquire: got %#v", got)
	}
	return a.Lease
}

// takeOver lets the lease expire and another process take it.
func takeOver(k *kerneltest.Kit) store.Lease {
	k.Helper()
	k.Clock.Advance(kernel.DefaultTTL)
	return acquire(k)
}

func call(id, args string) message.ToolCall {
	return message.ToolCall{ID: id, Name: "ask", Arguments: jsontext.Value(args)}
}

func (c caller) open(id string) kernel.EffectState {
	c.Helper()
	return c.opened(c.opening(id, `{}`, object.ReplayNever)).EffectState
}

func (c caller) opening(id, args string, replay object.ReplayPolicy) kernel.OpenOutcome {
	c.Helper()
	return must(c.OpenEffects(c.Ctx, c.lease, c.run, []kernel.Opening{{Call: call(id, args), Replay: replay}}))(c)
}

// opened returns the one call that was opened.
func (c caller) opened(got kernel.OpenOutcome) kernel.OpenCall {
	c.Helper()
	if o, ok := got.(kernel.Opened); ok && len(o.Calls) == 1 {
		return o.Calls[0]
	}
	c.Fatalf("open: %#v", got)
	return kernel.OpenCall{}
}

func (c caller) park(seen kernel.EffectState, until object.Millis) kernel.EffectState {
	c.Helper()
	return c.moved(c.ParkEffect(c.Ctx, c.lease, seen, nil, until))
}

func (c caller) moved(o kernel.EffectOutcome, err error) kernel.EffectState {
	c.Helper()
	if m, ok := must(o, err)(c).(kernel.Moved); ok {
		return m.State
	}
	c.Fatalf("got %#v, want the effect moved", o)
	return kernel.EffectState{}
}

func (c caller) reply(id string, wait object.OID, text string) kernel.SignalOutcome {
	c.Helper()
	return must(c.Signal(c.Ctx, kernel.SignalOptions{RunID: c.run, CallID: id, WaitID: wait, Signal: jsontext.Value(`"` + text + `"`)}))(c)
}

func result(id, text string) message.ToolResult {
	return message.ToolResult{ToolCallID: id, ToolName: "ask", Content: []message.Content{message.Text{Text: text}}}
}

// release gives the lease back, so that the session ends in order.
func (c caller) release() { must(c.ReleaseLease(c.Ctx, c.lease))(c) }

func TestC067_ConcurrentOpensShareOneIntent(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		written(k, 1, "ten opens", func() {
			var all sync.WaitGroup
			outcomes := make([]kernel.OpenOutcome, 10)
			errs := make([]error, len(outcomes))
			for i := range outcomes {
				all.Go(func() {
					outcomes[i], errs[i] = c.OpenEffects(c.Ctx, c.lease, c.run, []kernel.Opening{{Call: call("ask", `{}`), Replay: object.ReplayNever}})
				})
			}
			all.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			opened := 0
			for _, o := range outcomes {
				if c.opened(o).Fresh {
					opened++
				}
			}
			same(t, "opened", 1, opened)
		})
	})
}

func TestC068_LaterOpenGetsTheStoredIntent(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		c.opening("ask", `{"n":1}`, object.ReplaySafe)
		written(k, 0, "open with other arguments", func() {
			got := c.opened(c.opening("ask", `{"n":2}`, object.ReplayNever))
			if got.Fresh || string(got.Intent.Args) != `{"n":1}` || got.Intent.Replay != object.ReplaySafe {
				t.Errorf("open: got %#v", got)
			}
		})
	})
}

func TestC069_OneReply(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		wait := c.park(c.open("ask"), 0)
		same(t, "first reply", kernel.SignalOutcome(kernel.Signalled{}), c.reply("ask", wait.OID, "one"))
		written(k, 0, "second reply", func() {
			same(t, "second reply", kernel.SignalOutcome(kernel.NotWaiting{}), c.reply("ask", wait.OID, "two"))
		})
		c.release()
		k.Settle()
		same(t, "the value", "r:one", k.Texts()[3])
	})
}

func TestC070_ReplyToWhatDoesNotWait(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		same(t, "unknown", kernel.SignalOutcome(kernel.NotFound{}), c.reply("ask", object.OID{}, "x"))
		intent := c.open("ask")
		same(t, "not parked", kernel.SignalOutcome(kernel.NotWaiting{}), c.reply("ask", intent.OID, "x"))
		c.park(intent, 0)
		same(t, "no wait id", kernel.SignalOutcome(kernel.NotWaiting{}), c.reply("ask", object.OID{}, "x"))
	})
}

func TestC071_ExpiryIsClaimedOnce(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		wait := c.park(c.open("ask"), k.Now()+1000)
		k.Clock.Advance(time.Second)
		same(t, "reply at the deadline", kernel.SignalOutcome(kernel.NotWaiting{}), c.reply("ask", wait.OID, "late"))
		expired := c.moved(c.ExpireEffect(c.Ctx, c.lease, wait, k.Now()))
		same(t, "second claim", kernel.EffectOutcome(kernel.Conflict{}), must(c.ExpireEffect(c.Ctx, c.lease, wait, k.Now()))(t))
		same(t, "late reply", kernel.SignalOutcome(kernel.NotWaiting{}), c.reply("ask", wait.OID, "late"))
		e, ok := expired.Effect.(object.Expired)
		if !ok || e.Waiting != wait.OID {
			t.Errorf("expired: got %#v", expired.Effect)
		}
		c.release()
		k.Settle()
		same(t, "recovery wakes", "e:timed out", k.Texts()[3])
	})
}

func TestC072_ReplyBeforeTheDeadlineBeatsExpiry(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		wait := c.park(c.open("ask"), k.Now()+1000)
		k.Clock.Advance(time.Second - time.Millisecond)
		same(t, "reply", kernel.SignalOutcome(kernel.Signalled{}), c.reply("ask", wait.OID, "in time"))
		k.Clock.Advance(time.Millisecond)
		same(t, "claim", kernel.EffectOutcome(kernel.Conflict{}), must(c.ExpireEffect(c.Ctx, c.lease, wait, k.Now()))(t))
	})
}

func TestC073_OnlyDueWaitsExpire(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask:a ask:b")
		for _, wait := range []kernel.EffectState{c.park(c.open("a"), 0), c.park(c.open("b"), k.Now()+1)} {
			if _, err := c.ExpireEffect(c.Ctx, c.lease, wait, k.Now()); !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("expire %q: got error %v, want %v", wait.Intent.CallID, err, kernel.ErrInvalid)
			}
		}
	})
}

func TestC074_StaleViewsMoveNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask:a ask:b ask:c")
		// From intent, from waiting, from signal.
		a, b, s := c.open("a"), c.park(c.open("b"), 0), c.park(c.open("c"), 0)
		c.reply("c", s.OID, "yes")
		stale := []kernel.EffectState{a, b, s}
		fresh := []kernel.EffectState{a, b, c.open("c")}
		for _, seen := range fresh {
			c.moved(c.SettleEffect(c.Ctx, c.lease, seen, result(seen.Intent.CallID, "done")))
		}
		written(k, 0, "moves from stale views", func() {
			for _, seen := range stale {
				same(t, "settle", kernel.EffectOutcome(kernel.Conflict{}), must(c.SettleEffect(c.Ctx, c.lease, seen, result(seen.Intent.CallID, "again")))(t))
			}
			same(t, "park", kernel.EffectOutcome(kernel.Conflict{}), must(c.ParkEffect(c.Ctx, c.lease, a, nil, 0))(t))
			settled := c.open("a")
			if _, err := c.SettleEffect(c.Ctx, c.lease, settled, result("a", "again")); !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("settling a result: got error %v, want %v", err, kernel.ErrInvalid)
			}
			for _, seen := range []kernel.EffectState{settled, b} {
				if _, err := c.ParkEffect(c.Ctx, c.lease, seen, nil, 0); !errors.Is(err, kernel.ErrInvalid) {
					t.Errorf("parking a %s: got error %v, want %v", object.StateName(seen.Effect), err, kernel.ErrInvalid)
				}
			}
		})
	})
}

func TestC075_ReparkingIsANewGeneration(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask")
		first := c.park(c.open("ask"), 0)
		c.reply("ask", first.OID, "hm")
		second := c.park(c.open("ask"), 0) // in the same millisecond, with the same content
		if second.OID == first.OID {
			t.Fatal("both waits have one id")
		}
		same(t, "old id", kernel.SignalOutcome(kernel.NotWaiting{}), c.reply("ask", first.OID, "old"))
		same(t, "new id", kernel.SignalOutcome(kernel.Signalled{}), c.reply("ask", second.OID, "new"))
	})
}

func TestC076_OldLeaseMovesNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask:a ask:b")
		a, b := c.open("a"), c.open("b")
		next := takeOver(k)
		written(k, 0, "the old runner's moves", func() {
			same(t, "park", kernel.EffectOutcome(kernel.Fenced{}), must(c.ParkEffect(c.Ctx, c.lease, a, nil, 0))(t))
			same(t, "settle", kernel.EffectOutcome(kernel.Fenced{}), must(c.SettleEffect(c.Ctx, c.lease, b, result("b", "x")))(t))
			same(t, "open", kernel.OpenOutcome(kernel.Fenced{}), c.opening("a", `{}`, object.ReplayNever))
		})
		c.lease = next
		c.park(a, 0) // the successor may go on from the same view
	})
}

func TestC077_EffectsAreListedInByteOrder(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		ids := []string{"é", "a/b", "Z", "a", "10", "9"}
		c := calling(k, "ask:é ask:a/b ask:Z ask:a ask:10 ask:9")
		for _, id := range ids {
			c.open(id)
		}
		var got []string
		for _, e := range must(c.Session.Effects(c.Ctx, c.run))(t) {
			got = append(got, e.Intent.CallID)
		}
		same(t, "order", []string{"10", "9", "Z", "a", "a/b", "é"}, got)
		same(t, "another run", 0, len(must(c.Session.Effects(c.Ctx, "other"))(t)))
		c.release()
		k.Settle()
		same(t, "after the batch", 0, len(must(c.ListRefs(c.Ctx, ref.Effects))(t)))
	})
}

// states brings the call to a state, as an earlier runner may have left it.
func states() map[string]func(caller) {
	parked := func(c caller) kernel.EffectState { return c.park(c.open("ask"), c.Now()+1000) }
	return map[string]func(caller){
		"missing": func(caller) {},
		"intent":  func(c caller) { c.open("ask") },
		"waiting": func(c caller) { parked(c) },
		"expired": func(c caller) {
			w := parked(c)
			c.Clock.Advance(time.Second)
			c.moved(c.ExpireEffect(c.Ctx, c.lease, w, c.Now()))
		},
		"signal": func(c caller) { c.reply("ask", parked(c).OID, "yes") },
		"result": func(c caller) { c.moved(c.SettleEffect(c.Ctx, c.lease, c.open("ask"), result("ask", "done"))) },
	}
}

func TestC079to084_StaleRunnerIsFencedInEveryState(t *testing.T) {
	for state, bring := range states() {
		t.Run(state, func(t *testing.T) {
			over(t, func(t *testing.T, k *kerneltest.Kit) {
				c := calling(k, "ask")
				bring(c)
				takeOver(k)
				woken := 0
				k.Script.Toolbox["ask"] = scene.Tool{Wake: func(context.Context, message.ToolCall, scene.Wake) scene.Answer {
					woken++
					return scene.Answer{}
				}}
				refs := must(k.ListRefs(k.Ctx, ""))(t)
				written(k, 0, "the stale runner", func() {
					opts := k.Options()
					opts.Lease = &c.lease
					same(t, "step", kernel.StepOutcome(kernel.StepFenced{}), must(k.Step(k.Ctx, opts))(t))
				})
				same(t, "refs", refs, must(k.ListRefs(k.Ctx, ""))(t))
				same(t, "executions and wakes", 0, k.Script.Runs("ask")+woken)
			})
		})
	}
}

// The lease is lost while the tool or its wake handler runs: the move that follows is fenced, and the effect stays where the successor can go on.
func TestC085to088_LeaseLostDuringABatch(t *testing.T) {
	park := scene.Answer{Park: true}
	settle := scene.Answer{Text: "done"}
	for name, test := range map[string]struct {
		from   string
		answer scene.Answer
		stays  string
	}{
		"park":        {"missing", park, "intent"},
		"settle":      {"missing", settle, "intent"},
		"re-park":     {"signal", park, "signal"},
		"wake-settle": {"expired", settle, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(t *testing.T, k *kerneltest.Kit) {
				c := calling(k, "ask")
				states()[test.from](c)
				lose := func() scene.Answer {
					takeOver(k)
					return test.answer
				}
				k.Script.Toolbox["ask"] = scene.Tool{
					Run:  func(context.Context, message.ToolCall) scene.Answer { return lose() },
					Wake: func(context.Context, message.ToolCall, scene.Wake) scene.Answer { return lose() },
				}
				tip, run := k.Tip(), k.Run()
				opts := k.Options()
				opts.Lease = &c.lease
				same(t, "step", kernel.StepOutcome(kernel.StepFenced{}), must(k.Step(k.Ctx, opts))(t))
				same(t, "state", test.stays, object.StateName(k.Effects()[0].Effect))
				same(t, "head", tip, k.Tip())
				same(t, "run", run, k.Run())
			})
		})
	}
}

func TestC089_IntentExistsBeforeTheSideEffect(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Script.Toolbox["pay"] = scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
			same(t, "state while the tool runs", "intent", object.StateName(k.Effects()[0].Effect))
			return scene.Answer{Text: "paid"}
		}}
		k.Send(queue, "use pay")
		k.Settle()
		same(t, "runs", 1, k.Script.Runs("pay"))
	})
}

func TestC090_FencedBatchStartsNothingMore(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Script.Toolbox["look"] = scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
			takeOver(k)
			return scene.Answer{Text: "too late"}
		}}
		k.Send(queue, "use look pay")
		k.StepIs("continue")
		k.StepIs("continue")
		k.StepIs("fenced")
		same(t, "later calls", 0, k.Script.Runs("pay"))
		same(t, "effects", 1, len(k.Effects()))
	})
}

func TestC091_CompetingSettlementWins(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		c := calling(k, "ask:a")
		seen := c.open("a")
		k.Script.Toolbox["ask"] = scene.Tool{Replay: object.ReplaySafe}
		// The turn answers conflict because somebody settled what it had seen.
		conflict := conflicting{k.Script, func() { c.moved(c.SettleEffect(c.Ctx, c.lease, seen, result("a", "the winner's"))) }}
		opts := k.Options()
		opts.Lease, opts.Turn = &c.lease, conflict
		same(t, "step", kernel.StepOutcome(kernel.StepContinue{}), must(k.Step(k.Ctx, opts))(t))
		c.release()
		k.StepIs("continue")
		same(t, "runs", 0, k.Script.Runs("a"))
		same(t, "phase", "respond", k.Phase())
		same(t, "effects", 0, len(k.Effects()))
		same(t, "result", "r:the winner's", k.Texts()[3])
	})
}

// conflicting is a turn whose batch loses to a competing settlement.
type conflicting struct {
	*scene.Script
	win func()
}

func (c conflicting) Tools(context.Context, kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	c.win()
	return kernel.BatchConflict{}, nil
}

func TestC092_StoreFailureOnOpenKeepsItsCause(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use pay")
		k.StepIs("continue")
		k.StepIs("continue")
		p := k.Process()
		p.FailNext(beforeCall, update("effect"))
		if _, err := p.Step(k.Ctx, k.Options()); !errors.Is(err, errInjected) {
			t.Errorf("step: got error %v, want %v", err, errInjected)
		}
		same(t, "phase", "tools", k.Phase())
		k.Settle()
		same(t, "runs", 1, k.Script.Runs("pay"))
	})
}
