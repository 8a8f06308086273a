package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// ofStep reports whether a call is made by a step itself, and never beside it.
func ofStep(c storetest.Call) bool {
	return c.Op == storetest.OpUpdateRefs || c.Op == storetest.OpAcquireLease || c.Op == storetest.OpListRefs
}

func TestB22_LostSubmitResponse(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		p := k.Process()
		p.FailNext(afterCall, update("submit"))
		opts := kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("hi"), Key: "k1"}
		if _, err := p.Submit(k.Ctx, opts); !errors.Is(err, errInjected) {
			t.Fatalf("the lost response: got error %v", err)
		}
		first := must(k.Pending(k.Ctx, head))(t)[0].OID
		other := k.Process()
		for range 3 {
			for _, device := range []*kernel.Session{p.Session, other.Session} {
				same(t, "retry", kernel.SubmitOutcome(kernel.Duplicate{Change: first}), must(device.Submit(k.Ctx, opts))(t))
			}
			must(k.Step(k.Ctx, k.Options()))(t)
		}
		same(t, "texts", []string{"u:hi", "a:re: hi"}, k.Texts())
	})
}

// At every call of a landing the change is exactly one of pending, landed and withdrawn, also when an abort comes at that moment.
func TestB24_SteerSurvivesAbortAtEveryPoint(t *testing.T) {
	for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
		for n := 1; ; n++ {
			k := kerneltest.New(t, kerneltest.Memory)
			k.Script.Toolbox = asking()
			stepped("use look", 3)(k)
			steered := k.Send(steer, "steer")
			p := k.Process()
			var count atomic.Int64 // a runner that sees the abort looks at the refs beside the step
			p.Hook(at, func(c storetest.Call) {
				if !numbered(c) {
					return
				}
				if count.Add(1) == int64(n) {
					must(k.Abort(k.Ctx, head, nil))(t)
				}
				if c.Op != storetest.OpUpdateRefs {
					return // the step may be moving on beside this call
				}
				landed := 0
				for _, commit := range k.Branch() {
					if commit.Commit.Change == steered {
						landed++
					}
				}
				same(t, "places of the steer", 1, landed+len(k.PendingTexts()))
			})
			must(p.Step(k.Ctx, k.Options()))(t)
			must(p.Step(k.Ctx, k.Options()))(t)
			k.Settle()
			if !slices.Contains(k.Texts(), "u:steer") {
				t.Errorf("abort %v call %d: the steer is gone: %q", at, n, k.Texts())
			}
			if count.Load() < int64(n) {
				break
			}
		}
	}
}

func TestB25_TwoSteersDuringATool(t *testing.T) {
	for drain, want := range map[kernel.Drain][]string{
		kernel.DrainOne: {"u:A", "a:re: A", "u:B", "a:re: B"},
		kernel.DrainAll: {"u:A", "u:B", "a:re: B"},
	} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			k.Landing.Drain = drain
			k.Script.Toolbox["look"] = scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
				k.Send(steer, "A")
				k.Clock.Advance(9 * time.Minute)
				k.Send(steer, "B")
				return scene.Answer{Text: "ok"}
			}}
			k.Send(queue, "use look")
			k.Settle()
			same(t, "texts", append([]string{"u:use look", "a:I will look.", "c:look", "r:ok"}, want...), k.Texts())
		})
	}
}

func TestB26_SteerAtTheCeiling(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Ceiling = 1
		k.Send(queue, "use look")
		k.StepIs("continue")
		k.StepIs("continue")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(beforeCall, update("fail"))
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() { k.Send(steer, "late") })
		same(t, "phase and pending", []any{"failed", []string{"late"}}, []any{k.Phase(), k.PendingTexts()})
		k.Settle()
		same(t, "the next run answers", []string{"u:late", "a:re: late"}, k.Texts()[4:])
	})
}

// Two runners drive one head; whenever a lease may be lost, it is.
func TestB27_TwoRunnersOneAnswerEach(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		rng := rand.New(rand.NewPCG(1, 2))
		var want []string
		for i := range 10 {
			text := fmt.Sprint("m", i)
			k.Send(queue, text)
			want = append(want, "u:"+text, "a:re: "+text)
		}
		a, b := k.Process(), k.Process()
		turn := 0
		a.Hook(beforeCall, func(c storetest.Call) {
			if !ofStep(c) || rng.IntN(2) > 0 || turn > 0 {
				return
			}
			turn++ // the other one gets in between, after a pause longer than the lease
			k.Clock.Advance(2 * kernel.DefaultTTL)
			must(b.Step(k.Ctx, k.Options()))(t)
			turn--
		})
		for range 200 {
			must(a.Step(k.Ctx, k.Options()))(t)
		}
		k.Settle()
		same(t, "texts", want, k.Texts())
	})
}

func TestB28_TwoAttachAtOnce(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		for i := range 20 {
			k.Send(queue, "q")
			in := make(chan struct{})
			out := make(chan struct{})
			k.Script.Say = func(context.Context, kernel.TurnInput, int) (kernel.RespondOutcome, error) {
				close(in)
				<-out
				return nil, nil
			}
			asked := k.Script.Asked()
			a, b := k.Process(), k.Process()
			var all sync.WaitGroup
			all.Go(func() {
				if err := drive(k, a.Session); err != nil {
					t.Error(err)
				}
			})
			<-in
			busy, ok := must(b.Drive(k.Ctx, k.Options()))(t).(kernel.StepBusy)
			if !ok || busy.Holder.Name != ref.Head(head) {
				t.Errorf("the second runner: got %#v", busy)
			}
			k.Script.Say = nil
			close(out)
			all.Wait()
			same(t, fmt.Sprint("responses to ", i), 1, k.Script.Asked()-asked)
		}
	})
}

// Order and what is answered come from chains, never from clocks.
func TestB29_SkewedClocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	k := kerneltest.New(t, kerneltest.Memory)
	st := k.Process().Session.Session // a store handle; the device's clock is its own
	var want []string
	for i := range 500 {
		skew := []time.Duration{-24 * time.Hour, -10 * time.Minute, 0, 10 * time.Minute, 24 * time.Hour}[rng.IntN(5)] + time.Duration(rng.IntN(1000))*time.Millisecond
		device := kernel.New(st, &kernel.Options{Now: func() time.Time { return k.Clock.Now().Add(skew) }})
		text := fmt.Sprint("m", i)
		must(device.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User(text)}))(t)
		want = append(want, "u:"+text, "a:re: "+text)
	}
	same(t, "pending in chain order", "m0 m1 m2", strings.Join(k.PendingTexts()[:3], " "))
	runner := kernel.New(st, &kernel.Options{Now: func() time.Time { return k.Clock.Now().Add(-48 * time.Hour) }})
	for range 1000 {
		must(runner.Step(k.Ctx, k.Options()))(t)
	}
	same(t, "texts", want, k.Texts())
}

func TestB31_RestoredSteerComesFirst(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use look", 2)(k)
		k.Script.Toolbox["look"] = scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
			k.Send(steer, "A")
			abort(k)
			k.Send(steer, "B")
			return scene.Answer{Text: "ok"}
		}}
		k.Settle()
		same(t, "texts", []string{"u:A", "a:re: A", "u:B", "a:re: B"}, k.Texts()[4:])
	})
}

// Submissions touch other refs than a publish: however many come, the run moves on.
func TestB35_SubmissionsDoNotHoldUpAPublish(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Landing.Drain = kernel.DrainAll
		k.Send(queue, "use look")
		p := k.Process()
		busy := false
		submitted := 0
		p.Hook(beforeCall, func(c storetest.Call) {
			if ofStep(c) && !busy && submitted < 200 {
				busy = true
				k.Send(queue, "noise")
				submitted++
				busy = false
			}
		})
		for i := range 4 {
			outcome := must(p.Step(k.Ctx, k.Options()))(t)
			if _, idle := outcome.(kernel.StepIdle); idle {
				t.Fatalf("step %d did nothing", i)
			}
		}
		same(t, "phase after four steps", "done", k.Phase())
		k.Settle()
		same(t, "pending", []string{}, k.PendingTexts())
	})
}

// A store that tries again after a lost reply meets its own first try.
func TestB53_HiddenRetryOfOurOwnWrite(t *testing.T) {
	k := kerneltest.New(t, kerneltest.Memory)
	k.Script.Toolbox = asking()
	twice := &repeating{Session: k.Process().Session.Session}
	s := kernel.New(twice, &kernel.Options{Now: k.Clock.Now})
	opts := kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("use look"), Key: "k"}
	got := must(s.Submit(k.Ctx, opts))(t)
	change := must(k.Pending(k.Ctx, head))(t)[0].OID
	if q, ok := got.(kernel.Queued); ok {
		same(t, "queued", change, q.Change)
	} else {
		same(t, "submit", kernel.SubmitOutcome(kernel.Duplicate{Change: change}), got)
	}
	for range 5 {
		outcome := must(s.Drive(k.Ctx, k.Options()))(t)
		if _, idle := outcome.(kernel.StepIdle); idle {
			break
		}
	}
	same(t, "texts", []string{"u:use look", "a:I will look.", "c:look", "r:look ok", "a:done: look ok"}, k.Texts())
	same(t, "not superseded", "done", k.Phase())
	if !twice.tried {
		t.Error("nothing was tried twice")
	}
}

// repeating sends every update twice, as an SDK does that has lost the reply to the first, and returns the second outcome.
type repeating struct {
	store.Session
	tried bool
}

func (r *repeating) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	first, err := r.Session.UpdateRefs(ctx, updates, opts)
	if _, ok := first.(store.Updated); err != nil || !ok {
		return first, err
	}
	r.tried = true
	return r.Session.UpdateRefs(ctx, updates, opts)
}

func TestC204_AgentTravelsWithItsMessage(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		a := kernel.SubmitOptions{Head: head, Lane: queue, Body: with(k, "a", "plan"), Key: "a"}
		first := k.Submitted(a)
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: with(k, "b", "build")})
		a.Body = with(k, "a", "build")
		same(t, "a retry changes nothing", kernel.SubmitOutcome(kernel.Duplicate{Change: first}), must(k.Submit(k.Ctx, a))(t))
		k.StepIs("continue")
		same(t, "agent", "plan", k.Run().Config.Agent)
		k.StepIs("finished")
		b := oldest(k)
		redelivered(k, kernel.RedeliverOptions{Change: b, Lane: steer})
		k.StepIs("continue")
		same(t, "carried by redelivery", "build", k.Run().Config.Agent)
		k.Settle()
		c := k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: with(k, "c", "other")})
		must(k.Cancel(k.Ctx, head, c, nil))(t)
		k.Send(queue, "d")
		k.Settle()
		same(t, "withdrawn with its message", "build", k.Run().Config.Agent)
	})
}

func TestC205_SteerDuringTools(t *testing.T) {
	for agent, stays := range map[string]bool{"plan": true, "": true, "build": false} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: with(k, "use look", "plan")})
			k.StepIs("continue")
			k.StepIs("continue")
			id := k.Run().ID
			k.Submitted(kernel.SubmitOptions{Head: head, Lane: steer, Body: object.ConfigBody{ThinkingLevel: "high"}})
			k.Submitted(kernel.SubmitOptions{Head: head, Lane: steer, Body: with(k, "steer", agent)})
			k.Settle()
			same(t, "run of agent "+agent, stays, k.Run().ID == id)
			commits := k.Branch()
			_, shared := commits[3].Commit.Body.(object.ConfigBody)
			same(t, "config ahead of the message", true, shared)
			same(t, "its run", commits[4].Commit.Run, commits[3].Commit.Run)
			same(t, "folded", "high", must(view.LoadContext(k.Ctx, k.Session, k.Tip(), view.Context{}))(t).Config.ThinkingLevel)
		})
	}
}

// Sizes beyond what some services put into one transaction: none fails at its publish for ever.
func TestB21_ManyOfEverything(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		var calls []string
		for i := range 130 {
			calls = append(calls, fmt.Sprintf("look:%d", i))
		}
		k.Send(queue, "use "+strings.Join(calls, " "))
		k.Settle()
		same(t, "commits of 130 calls", 133, len(k.Branch()))
		same(t, "effects", 0, len(must(k.ListRefs(k.Ctx, ref.Effects))(t)))
		k.Landing.Drain = kernel.DrainAll
		for i := range 250 {
			k.Send(queue, fmt.Sprint(i))
		}
		k.StepIs("continue")
		same(t, "commits after landing 250 at once", 383, len(k.Branch()))
		k.Settle()
		for i := range 60 {
			must(k.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: fmt.Sprint("lane", i), Body: k.User("x")}))(t)
		}
		same(t, "delete with 62 lanes", kernel.DeleteHeadOutcome(kernel.HeadDeleted{}), must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head}))(t))
		same(t, "queue refs", 0, len(must(k.ListRefs(k.Ctx, ref.Queues))(t)))
	})
}
