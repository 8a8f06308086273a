package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

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

// attempts returns the texts that streamed, by attempt.
func attempts(k *kerneltest.Kit) map[int]string {
	k.Helper()
	texts := map[int]string{}
	for _, e := range must(k.ReadEvents(k.Ctx, 0, 0))(k) {
		if d, ok := e.Body.(store.DeltaEvent); ok {
			texts[d.Attempt] += d.Delta
		}
	}
	return texts
}

func TestB81_C039_AttemptsNeverShareANumber(t *testing.T) {
	interrupt := map[string]func(k *kerneltest.Kit, p kerneltest.Process){
		"the runner dies before its publish": func(_ *kerneltest.Kit, p kerneltest.Process) {
			p.Hook(beforeCall, func(c storetest.Call) {
				if c.Reason == "respond" {
					p.KillNow()
				}
			})
		},
		"the publish fails":          func(_ *kerneltest.Kit, p kerneltest.Process) { p.FailNext(beforeCall, update("respond")) },
		"the publish has no outcome": func(_ *kerneltest.Kit, p kerneltest.Process) { p.FailNext(afterCall, update("respond")) },
		"the turn breaks":            func(k *kerneltest.Kit, _ kerneltest.Process) { says(k, broken) },
		"the turn and the store break": func(k *kerneltest.Kit, p kerneltest.Process) {
			says(k, broken)
			p.FailNext(beforeCall, update("takeover"))
		},
	}
	for name, plan := range interrupt {
		for _, hot := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hot %v", name, hot), func(t *testing.T) {
				over(t, func(t *testing.T, k *kerneltest.Kit) {
					k.Send(queue, "q")
					k.StepIs("continue")
					p := k.Process()
					plan(k, p)
					var err error
					if hot {
						_, err = p.Drive(k.Ctx, k.Options())
					} else {
						_, err = p.Step(k.Ctx, k.Options())
					}
					if err == nil {
						t.Fatal("nothing broke")
					}
					k.Settle()
					same(t, "texts", []string{"u:q", "a:re: q"}, k.Texts())
					for attempt, text := range attempts(k) {
						if text != "re: q" && text != "half" {
							t.Errorf("attempt %d streamed %q", attempt, text)
						}
					}
				})
			})
		}
	}
}

// broken streams half an answer and gives no outcome.
func broken(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
	if err := scene.Stream(ctx, in, scene.Says("half", in.Now)); err != nil {
		return nil, err
	}
	return nil, errors.New("the provider's client broke")
}

// A taken-over head whose run has nothing in flight loses no attempt.
func TestB81_TakeoverOfAnIdleHeadCountsNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		acquire(k) // by one who dies
		k.Send(queue, "q")
		k.Clock.Advance(kernel.DefaultTTL)
		if _, ok := must(k.Drive(k.Ctx, k.Options()))(t).(kernel.StepFinished); !ok {
			t.Error("drive did not finish")
		}
		same(t, "attempts", 1, k.Run().Attempts)
	})
}

func TestB84_BranchAndMoveDuringABatch(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b other")
		k.Script.Toolbox["look"] = scene.Tool{Run: func(ctx context.Context, _ message.ToolCall) scene.Answer {
			create(k, kernel.CreateHeadOptions{Head: "copy", Parent: head})
			move(k, head, at["b"])
			<-ctx.Done() // the runner sees the move
			if cause := context.Cause(ctx); !errors.Is(cause, kernel.ErrSuperseded) {
				t.Errorf("cause: got %v, want %v", cause, kernel.ErrSuperseded)
			}
			return scene.Answer{Text: "late"}
		}}
		stepped("use look", 2)(k)
		tip := k.Tip()
		k.StepIs("finished")
		same(t, "phase, head and effects", []any{"aborted", at["b"], 0}, []any{k.Phase(), k.Tip(), len(must(k.ListRefs(k.Ctx, ref.Effects))(t))})
		// The copy ends in an open call, and goes on with a valid request.
		same(t, "the copy", tip, k.Ref(ref.Head("copy")))
		opts := k.Options()
		opts.Head = "copy"
		k.Submitted(kernel.SubmitOptions{Head: "copy", Lane: queue, Body: k.User("go on")})
		for range 3 {
			must(k.Step(k.Ctx, opts))(t)
		}
		texts := kerneltest.Texts(must(view.Branch(k.Ctx, k.Session, k.Ref(ref.Head("copy")), 0))(t))
		same(t, "texts", []string{"u:use look", "a:I will look.", "c:look", "e:" + view.Interrupted, "u:go on", "a:re: go on"}, texts)
	})
}

// A head that is moved to another run's open call starts none of its tools.
func TestB84_MoveOntoAnOpenCall(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		stepped("use pay:theirs", 2)(k)
		theirs := k.Tip()
		create(k, kernel.CreateHeadOptions{Head: "side", Commit: k.Branch()[0].OID})
		opts := k.Options()
		opts.Head = "side"
		k.Submitted(kernel.SubmitOptions{Head: "side", Lane: queue, Body: k.User("use look:mine")})
		for range 2 {
			must(k.Step(k.Ctx, opts))(t)
		}
		move(k, "side", theirs)
		finished, ok := must(k.Step(k.Ctx, opts))(t).(kernel.StepFinished)
		if !ok || object.PhaseName(finished.Run.Phase) != "failed" {
			t.Errorf("step: got %#v", finished)
		}
		same(t, "runs", 0, k.Script.Runs("theirs"))
	})
}

// The session is marked as deleted at each store call of a turn: no runner writes after it.
func TestB86_DeletionAtEveryCallOfATurn(t *testing.T) {
	for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
		for n, reached := 1, true; reached; n++ {
			k := kerneltest.New(t, kerneltest.Memory)
			k.Script.Toolbox = asking()
			k.Send(queue, "use look pay")
			p := k.Process()
			var count atomic.Int64 // a runner that sees the deletion looks at the refs beside the step
			p.Hook(at, func(c storetest.Call) {
				if numbered(c) && count.Add(1) == int64(n) {
					if err := k.MarkDeleted(k.Ctx, nil); err != nil {
						t.Error(err)
					}
				}
			})
			if err := drive(k, p.Session); err != nil {
				t.Errorf("drive: %v", err)
			}
			if reached = count.Load() >= int64(n); !reached {
				break
			}
			written(k, 0, "steps after the deletion", func() {
				k.StepIs("idle")
				k.StepIs("idle")
			})
		}
	}
}

// The same with the session's data gone: every call fails cleanly, and nothing comes back.
func TestB86_RemovalAtEveryCallOfATurn(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Damaged() // nothing is left to check
		k.Send(queue, "use look")
		st := k.Backend.Open(t)
		defer st.Close()
		for i := range 2 {
			p := k.Process()
			p.Hook(beforeCall, func(c storetest.Call) {
				if c.Op == storetest.OpUpdateRefs && c.Reason == []string{"land", "respond"}[i] {
					if err := st.DeleteSession(k.Ctx, kerneltest.Session); err != nil {
						t.Error(err)
					}
				}
			})
			if _, err := p.Drive(k.Ctx, k.Options()); !errors.Is(err, store.ErrUnknownSession) {
				t.Errorf("drive: got error %v, want %v", err, store.ErrUnknownSession)
			}
			if sessions := must(st.ListSessions(k.Ctx, store.ListOptions{}))(t); len(sessions) > 0 {
				t.Errorf("sessions: %v", sessions)
			}
			made, ok := must(st.CreateSession(k.Ctx, store.CreateOptions{ID: kerneltest.Session}))(t).(store.SessionCreated)
			if !ok {
				t.Fatal("the id is still taken")
			}
			k.Session = kernel.New(made.Session, &kernel.Options{Now: k.Clock.Now})
			k.Send(queue, "q")
		}
	})
}
