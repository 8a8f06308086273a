package kernel_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// dieInTool takes steps in a process that dies inside its first tool call.
func dieInTool(k *kerneltest.Kit, text string) {
	k.Helper()
	stepped(text, 2)(k)
	p := k.Process()
	toolbox := k.Script.Toolbox
	k.Script.Toolbox = map[string]scene.Tool{}
	for name, tool := range toolbox {
		tool.Run = func(context.Context, message.ToolCall) scene.Answer {
			p.KillNow()
			return scene.Answer{Text: "unseen"}
		}
		k.Script.Toolbox[name] = tool
	}
	if _, err := p.Step(k.Ctx, k.Options()); !errors.Is(err, storetest.ErrKilled) {
		k.Fatalf("the dying step: got error %v", err)
	}
	k.Script.Toolbox = toolbox
}

func TestC226_CrashBetweenIntentAndResult(t *testing.T) {
	for tool, want := range map[string]string{"look": "r:look ok", "pay": unknown} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			dieInTool(k, "use "+tool)
			k.Settle()
			same(t, "result", want, k.Texts()[3])
			same(t, "runs", map[string]int{"look": 2, "pay": 1}[tool], k.Script.Runs(tool))
		})
	}
}

func TestB05_AbortWithoutARunner(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		dieInTool(k, "use pay")
		k.Clock.Advance(time.Hour)
		if _, held, err := k.ReadLease(k.Ctx, ref.Head(head)); held || err != nil {
			t.Errorf("a lease of an hour ago: held is %v, error %v", held, err)
		}
		abort(k)
		k.Settle()
		same(t, "phase and result", []any{"aborted", unknown}, []any{k.Phase(), k.Texts()[3]})
		same(t, "runs", 1, k.Script.Runs("pay"))
		k.Send(queue, "next")
		k.Settle()
		same(t, "answered", "a:re: next", k.Texts()[5])
	})
}

func TestB34_RepliesBeforeTheNextStep(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use ask:a ask:b", 3)(k)
		answer(k, "b", "B")
		answer(k, "a", "A")
		k.StepIs("continue")
		same(t, "both settled in one wake", []string{"r:A", "r:B"}, k.Texts()[4:])
	})
}

// The replies come between the batch and the publish that parks the run: no event will tell of them later.
func TestB34_ReplyBeforeTheRunIsParked(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use ask", 2)(k)
		p := k.Process()
		gate := p.Gate(beforeCall, func(c storetest.Call) bool { return update("wait")(c) && slices.Contains(c.Names, ref.Run(head)) })
		outcome := meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Drive(k.Ctx, k.Options()) }, func() { answer(k, "ask", "yes") })
		if _, finished := outcome.(kernel.StepFinished); !finished {
			t.Errorf("drive: got %s, want it to see the reply", kernel.StepName(outcome))
		}
		same(t, "result", "r:yes", k.Texts()[3])
	})
}

func TestB38_AcquireAtTheMillisecondOfExpiry(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		first := acquire(k)
		k.Clock.Advance(kernel.DefaultTTL - time.Millisecond)
		a, b := k.Process(), k.Process()
		if _, held := must(a.AcquireLease(k.Ctx, ref.Head(head), kernel.DefaultTTL))(t).(store.Held); !held {
			t.Error("a millisecond early the lease is granted")
		}
		k.Clock.Advance(time.Millisecond)
		won, ok := must(a.AcquireLease(k.Ctx, ref.Head(head), kernel.DefaultTTL))(t).(store.Acquired)
		if !ok || won.Lease.Fence != first.Fence+1 || !won.Takeover {
			t.Errorf("at its expiry: got %#v", won)
		}
		held, ok := must(b.AcquireLease(k.Ctx, ref.Head(head), kernel.DefaultTTL))(t).(store.Held)
		if !ok || held.Holder != won.Lease {
			t.Errorf("the second one: got %#v", held)
		}
	})
}

// No reachable state is one in which nothing can change any more.
func TestB39_WaitingWithAnIntent(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use look ask", 2)(k)
		c := caller{k, acquire(k), k.Run().ID}
		c.open("look")
		c.park(c.open("ask"), 0)
		p := patient{k}
		run := k.Run()
		run.Phase = object.WaitingPhase{}
		p.set(ref.Run(head), p.put(run))
		c.release()
		must(k.Step(k.Ctx, k.Options()))(t)
		for _, e := range k.Effects() {
			same(t, e.Intent.CallID, map[string]string{"look": "result", "ask": "waiting"}[e.Intent.CallID], object.StateName(e.Effect))
		}
		answer(k, "ask", "yes")
		k.Settle()
		same(t, "phase", "done", k.Phase())
	})
}

func TestB40_StepsOfADeletedSession(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		retrying(k, 1000)
		k.StepIs("continue")
		k.StepIs("retry")
		p := k.Process()
		if err := k.MarkDeleted(k.Ctx, nil); err != nil {
			t.Fatal(err)
		}
		written(k, 0, "an hour of wake-ups", func() {
			for range 60 {
				k.Clock.Advance(time.Minute)
				k.StepIs("idle")
			}
		})
		k.Damaged() // the session goes; nothing is left to check
		st := k.Backend.Open(t)
		defer st.Close()
		if err := st.DeleteSession(k.Ctx, kerneltest.Session); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Step(k.Ctx, k.Options()); !errors.Is(err, store.ErrUnknownSession) {
			t.Errorf("a step after it is gone: got error %v, want %v", err, store.ErrUnknownSession)
		}
	})
}

func TestB42_AnswersGoToTheExactCall(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use ask:a ask:b", 3)(k)
		e := k.Effects()
		got := must(k.Signal(k.Ctx, kernel.SignalOptions{RunID: e[1].Intent.RunID, CallID: "b", WaitID: e[0].OID, Signal: jsontext.Value(`"x"`)}))(t)
		same(t, "a's wait for b's call", kernel.SignalOutcome(kernel.NotWaiting{}), got)
		answer(k, "b", "B")
		answer(k, "a", "A")
		k.Settle()
		same(t, "results", []string{"r:A", "r:B"}, k.Texts()[4:6])
	})
}

func TestB43_OnlyTheAnsweredCallWakes(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use pay ask:b ask:c", 3)(k)
		before := k.Effects()
		answer(k, "b", "B")
		k.StepIs("waiting")
		after := k.Effects()
		same(t, "c keeps its wait", before[1].OID, after[1].OID)
		same(t, "b is settled", "result", object.StateName(after[0].Effect))
		same(t, "runs", 1, k.Script.Runs("pay"))
		answer(k, "c", "C")
		k.Settle()
	})
}

func TestB45_ThreeRepliesInAnyOrder(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		for stepAfter := range 3 {
			over(t, func(t *testing.T, k *kerneltest.Kit) {
				stepped("use ask:a ask:b ask:c", 3)(k)
				for i, id := range order {
					answer(k, id, "deny "+id)
					if i == stepAfter {
						must(k.Process().Step(k.Ctx, k.Options()))(t) // a crash and a new process between the answers
					}
				}
				k.Settle()
				same(t, "results", []string{"r:deny a", "r:deny b", "r:deny c"}, k.Texts()[5:8])
			})
		}
	}
}

// Two devices answer at once: each way round exactly one wins.
func TestB47_C227_TwoDevicesAnswer(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		stepped("use ask", 3)(k)
		e := k.Effects()[0]
		deny, approve := k.Process(), k.Process()
		say := func(s *kernel.Session, text string) (kernel.SignalOutcome, error) {
			return s.Signal(k.Ctx, kernel.SignalOptions{RunID: e.Intent.RunID, CallID: "ask", WaitID: e.OID, Signal: jsontext.Value(`"` + text + `"`)})
		}
		gate := deny.Gate(at, update("signal"))
		var second kernel.SignalOutcome
		first := meanwhile(t, gate, func() (kernel.SignalOutcome, error) { return say(deny.Session, "deny") }, func() {
			second = must(say(approve.Session, "approve"))(t)
		})
		want := map[storetest.Moment][]kernel.SignalOutcome{
			storetest.Before: {kernel.NotWaiting{}, kernel.Signalled{}},
			storetest.After:  {kernel.Signalled{}, kernel.NotWaiting{}},
		}[at]
		same(t, "deny, approve", want, []kernel.SignalOutcome{first, second})
		k.Settle()
		same(t, "result", map[storetest.Moment]string{storetest.Before: "r:approve", storetest.After: "r:deny"}[at], k.Texts()[3])
	})
}

// Deadlines are epoch milliseconds of any size: no timer's limit and no time zone moves them.
func TestB48_B49_LongDeadlines(t *testing.T) {
	day := 24 * time.Hour
	for _, wait := range []time.Duration{30 * day, 400 * day, 200 * 365 * day, 90 * time.Minute} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			// Half an hour before Europe skips an hour.
			k.Clock.Set(time.Date(2026, time.March, 29, 0, 30, 0, 0, time.UTC).In(time.FixedZone("CET", 3600)))
			until := k.Now() + object.Millis(wait.Milliseconds())
			k.Script.Toolbox["ask"] = scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
				return scene.Answer{Park: true, Until: until}
			}}
			stepped("use ask", 2)(k)
			for range 3 {
				parked, _ := k.StepIs("waiting").(kernel.StepWaiting)
				same(t, "deadline", until, parked.Until)
			}
			if left := kernel.Until(k.Now(), until); left <= 0 || left > wait {
				t.Errorf("sleep %v of %v", left, wait)
			}
			k.Clock.Advance(wait - time.Millisecond)
			k.StepIs("waiting")
			k.Clock.Advance(time.Millisecond)
			k.StepIs("continue")
			same(t, "result", "e:timed out", k.Texts()[3])
		})
	}
	if got := kernel.Until(5, 5); got != 0 {
		t.Errorf("a deadline that has come: sleep %v", got)
	}
}

// Results come in call order, whatever order they were made in.
func TestB14_B16_ResultsInCallOrder(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		ids := []string{"c", "a", "b"}
		stepped("use ask:c ask:a ask:b", 3)(k)
		for _, id := range slices.Sorted(slices.Values(ids)) {
			answer(k, id, id)
			must(k.Step(k.Ctx, k.Options()))(t)
		}
		same(t, "results", []string{"r:c", "r:a", "r:b"}, k.Texts()[5:8])
	})
}
