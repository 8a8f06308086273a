package kernel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestC117_LandsThenAnswersThenIdle(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		change := k.Send(queue, "q")
		k.StepIs("continue")
		same(t, "base", change, k.Ref(ref.QueueBase(head, queue)))
		same(t, "phase", "respond", k.Phase())
		same(t, "pending", []string{}, k.PendingTexts())
		commit := k.Branch()[0].Commit
		same(t, "provenance", []any{change, k.Run().ID}, []any{commit.Change, commit.Run})
		finished, ok := k.StepIs("finished").(kernel.StepFinished)
		if !ok || finished.Run.Attempts != 1 || object.PhaseName(finished.Run.Phase) != "done" {
			t.Errorf("finished: got %+v", finished.Run)
		}
		written(k, 0, "idle", func() { k.StepIs("idle") })
	})
}

func TestC118_ToolRound(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use look pay nothing")
		k.StepIs("continue")
		k.StepIs("continue")
		same(t, "the call is committed", 2, len(k.Branch()))
		same(t, "phase", "tools", k.Phase())
		written(k, 2*2+4, "two moves a call, then head, run and both effects", func() { k.StepIs("continue") })
		same(t, "effects", 0, len(k.Effects()))
		k.StepIs("finished")
		same(t, "texts", []string{
			"u:use look pay nothing", "a:I will look.", "c:look", "c:pay", "c:nothing",
			"r:look ok", "r:pay ok", `e:there is no tool "nothing"`, `a:done: look ok, pay ok, there is no tool "nothing"`,
		}, k.Texts())
		same(t, "attempts", 2, k.Run().Attempts)
	})
}

func TestC119_AgentSwitchStartsANewRun(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: steer, Body: with(k, "use look", "plan")})
		k.StepIs("continue")
		k.StepIs("continue")
		k.StepIs("continue") // the batch
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: steer, Body: with(k, "build it", "build")})
		tip, base, first := k.Tip(), k.Ref(ref.QueueBase(head, steer)), k.Run().ID
		k.StepIs("finished")
		same(t, "head, base, queue and phase", []any{tip, base, []string{"build it"}, "done"},
			[]any{k.Tip(), k.Ref(ref.QueueBase(head, steer)), k.PendingTexts(), k.Phase()})
		k.StepIs("continue")
		run := k.Run()
		same(t, "the new run", []any{false, "build", 0}, []any{run.ID == first, run.Config.Agent, run.Attempts})
		k.Settle()
	})
}

func TestC120_DrainOne(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use look")
		k.StepIs("continue")
		k.Send(steer, "s1")
		k.Send(steer, "s2")
		k.Send(queue, "q2")
		k.StepIs("continue") // the model is asked: nothing lands on top of an unanswered message
		same(t, "pending", []string{"q2", "s1", "s2"}, sorted(k.PendingTexts()))
		k.StepIs("continue") // the batch
		k.StepIs("continue") // lands s1
		same(t, "pending", []string{"q2", "s2"}, sorted(k.PendingTexts()))
		k.Settle()
		same(t, "texts", []string{
			"u:use look", "a:I will look.", "c:look", "r:look ok", "u:s1", "a:re: s1", "u:s2", "a:re: s2", "u:q2", "a:re: q2",
		}, k.Texts())
	})
}

// A checkpoint between a message and its answer does not let the next message in.
func TestC120_DrainOneBehindACheckpoint(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(steer, "s1")
		k.StepIs("continue")
		k.Send(steer, "s2")
		says(k, func(context.Context, kernel.TurnInput) (kernel.RespondOutcome, error) {
			return kernel.WriteCheckpoint{Checkpoint: object.CheckpointBody{
				Summary: "before", RetainedTail: []message.Message{message.NewUser("s1", k.Now())},
			}}, nil
		})
		k.StepIs("continue")
		k.Settle()
		texts := kerneltest.Texts(must(view.LoadContext(k.Ctx, k.Session, k.Tip(), view.Context{}))(t).Commits)
		same(t, "context", []string{"u:Summary of the conversation so far:\n\nbefore", "u:s1", "a:re: s1", "u:s2", "a:re: s2"}, texts)
	})
}

func TestC120_DrainAll(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Landing.Drain = kernel.DrainAll
		for _, text := range []string{"a", "b", "c"} {
			k.Send(queue, text)
		}
		k.StepIs("continue")
		k.Send(steer, "s")
		k.StepIs("continue") // with drain all a boundary change lands on top
		k.Settle()
		same(t, "texts", []string{"u:a", "u:b", "u:c", "u:s", "a:re: s"}, k.Texts())
	})
}

func TestC127_ToolsPhaseWithoutItsMessage(t *testing.T) {
	for flagged, phase := range map[bool]string{true: "aborted", false: "failed"} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			k.Send(queue, "use look")
			k.StepIs("continue")
			first := k.Tip()
			k.StepIs("continue")
			move(k, head, first)
			if flagged {
				abort(k)
			}
			k.StepIs("finished")
			same(t, "phase", phase, k.Phase())
			same(t, "tip", first, k.Tip())
			same(t, "runs", 0, k.Script.Runs("look"))
		})
	}
}

func TestC128_TerminalRunStaysUntilInput(t *testing.T) {
	for _, phase := range []object.Phase{object.Done{}, object.Aborted{}, object.Failed{Error: "x", Class: object.FailedProvider}} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			p := patient{k}
			p.set(ref.Run(head), p.put(object.Run{ID: "old", Head: head, Phase: phase, AbortRequested: true}))
			written(k, 0, "a step", func() { k.StepIs("idle") })
			same(t, "run", "old", k.Run().ID)
			k.Send(queue, "q")
			k.Settle()
			same(t, "texts", []string{"u:q", "a:re: q"}, k.Texts())
			same(t, "a new run", []any{false, false}, []any{k.Run().ID == "old", k.Run().AbortRequested})
		})
	}
}

func TestC129_WaiterAndRunnerJudgeAlike(t *testing.T) {
	for _, drain := range []kernel.Drain{kernel.DrainOne, kernel.DrainAll} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			k.Landing.Drain = drain
			judge := func(want bool) {
				t.Helper()
				same(t, "something lands", want, k.Landing.Lands(must(view.LoadLanes(k.Ctx, k.Session, head))(t)))
			}
			judge(false)
			k.Send("unserved", "x")
			judge(false)
			written(k, 0, "a step", func() { k.StepIs("idle") })
			a := k.Send(queue, "a")
			judge(true)
			must(k.Cancel(k.Ctx, head, a, nil))(t)
			judge(false)
			k.StepIs("idle")
			k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: config("build")})
			judge(true)
			k.Settle()
			judge(false)
		})
	}
}

func TestC130_QueuedWorkSurvivesReopening(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		k.Send(queue, "later")
		abort(k)
		k.StepIs("finished")
		p := k.Process()
		p.StepIs(k, "continue")
		p.StepIs(k, "finished")
		same(t, "texts", []string{"u:q", "u:later", "a:re: later"}, k.Texts())
	})
}

func TestC131_C143_ConfigAlone(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: object.ConfigBody{Model: &object.Model{ID: "m"}, ThinkingLevel: "low"}})
		k.StepIs("continue")
		want := object.Config{Model: &object.Model{ID: "m"}, ThinkingLevel: "low"}
		same(t, "born done", []any{"done", 0, want}, []any{k.Phase(), k.Run().Attempts, k.Run().Config})
		k.StepIs("idle")
		same(t, "responses", 0, k.Script.Asked())
		k.Send(queue, "q")
		k.StepIs("continue")
		same(t, "the next run's config", want, k.Run().Config)
		k.Settle()
	})
}

func TestC132_RepeatedAbortWritesNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		same(t, "no run", kernel.AbortOutcome(kernel.NotRunning{}), must(k.Abort(k.Ctx, head, nil))(t))
		k.Send(queue, "q")
		k.StepIs("continue")
		written(k, 1, "the first", func() { abort(k) })
		written(k, 0, "the second", func() { abort(k) })
		k.StepIs("finished")
		written(k, 0, "after the end", func() {
			same(t, "abort", kernel.AbortOutcome(kernel.NotRunning{}), must(k.Abort(k.Ctx, head, nil))(t))
		})
	})
}

func checkpointing(k *kerneltest.Kit, act func()) {
	raced(k, act, func(object.Millis) kernel.RespondOutcome {
		return kernel.WriteCheckpoint{Checkpoint: object.CheckpointBody{Summary: "so far", TokensBefore: 9}}
	})
}

func TestC133_CheckpointContinuesTheRun(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: with(k, "q", "plan")})
		k.StepIs("continue")
		run := k.Ref(ref.Run(head))
		checkpointing(k, func() {})
		written(k, 1, "the checkpoint", func() { k.StepIs("continue") })
		same(t, "run ref", run, k.Ref(ref.Run(head)))
		commits := k.Branch()
		body, ok := commits[1].Commit.Body.(object.CheckpointBody)
		if !ok || body.Config == nil || body.Config.Agent != "plan" {
			t.Errorf("checkpoint: got %+v", commits[1].Commit.Body)
		}
		k.StepIs("finished")
		same(t, "attempts", 1, k.Run().Attempts)
	})
}

func TestC134_StopDuringACheckpointDropsIt(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		checkpointing(k, func() { abort(k) })
		k.StepIs("continue")
		k.StepIs("finished")
		same(t, "commits, phase and responses", []any{1, "aborted", 1}, []any{len(k.Branch()), k.Phase(), k.Script.Asked()})
	})
}

func TestC135_C224_HeadMovedUnderARun(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b other")
		k.Send(queue, "q")
		k.StepIs("continue")
		k.Send(queue, "waits")
		raced(k, func() { move(k, head, at["b"]) }, whole)
		finished, _ := k.StepIs("finished").(kernel.StepFinished)
		same(t, "phase, attempts, head and queue", []any{"aborted", 1, at["b"], []string{"waits"}},
			[]any{object.PhaseName(finished.Run.Phase), finished.Run.Attempts, k.Tip(), k.PendingTexts()})
		k.Settle()
		same(t, "texts", []string{"u:A", "a:b", "u:waits", "a:re: waits"}, k.Texts())
	})
}

func TestC136_C200_Retry(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		retrying(k, 2000)
		k.StepIs("continue")
		retry, _ := k.StepIs("retry").(kernel.StepRetry)
		same(t, "deadline", k.Now()+2000, retry.At)
		k.Clock.Advance(1999 * time.Millisecond)
		written(k, 0, "early", func() { k.StepIs("retry") })
		k.Clock.Advance(time.Millisecond)
		k.StepIs("finished")
		same(t, "attempts", 2, k.Run().Attempts)
		same(t, "texts", []string{"u:q", "a:re: q"}, k.Texts())
	})
}

func TestC137_Ceiling(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Ceiling = 1
		k.Send(queue, "use look")
		for range 3 {
			k.StepIs("continue")
		}
		finished, _ := k.StepIs("finished").(kernel.StepFinished)
		failed, ok := finished.Run.Phase.(object.Failed)
		if !ok || failed.Class != object.FailedCeiling {
			t.Errorf("phase: got %#v", finished.Run.Phase)
		}
		same(t, "responses", 1, k.Script.Asked())
	})
}

func TestC138_C201_LostLeasePublishesNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		raced(k, func() { takeOver(k) }, whole)
		written(k, 0, "a fenced step", func() { k.StepIs("fenced") })
		busy, _ := k.StepIs("busy").(kernel.StepBusy)
		same(t, "holder", k.Now()+object.Millis(kernel.DefaultTTL.Milliseconds()), busy.Holder.ExpiresAt)
	})
}

func TestC139_DriveUnderOneLease(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use look")
		before := acquire(k)
		must(k.ReleaseLease(k.Ctx, before))(t)
		if _, ok := must(k.Drive(k.Ctx, k.Options()))(t).(kernel.StepFinished); !ok {
			t.Error("drive did not finish")
		}
		after := acquire(k) // the lease is free
		same(t, "grants", int64(2), after.Fence-before.Fence)
		must(k.ReleaseLease(k.Ctx, after))(t)
		same(t, "again", kernel.StepOutcome(kernel.StepIdle{}), must(k.Drive(k.Ctx, k.Options()))(t))
		opts := k.Options()
		opts.Lease = &after
		if _, err := k.Drive(k.Ctx, opts); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("drive with a lease: got error %v, want %v", err, kernel.ErrInvalid)
		}
	})
}

func TestC140_ParkedRunHoldsNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use ask")
		k.Settle()
		if _, held, err := k.ReadLease(k.Ctx, ref.Head(head)); held || err != nil {
			t.Errorf("lease: held is %v, error %v", held, err)
		}
		written(k, 0, "polling", func() {
			for range 5 {
				k.StepIs("waiting")
			}
		})
		answer(k, "ask", "yes")
		k.Settle()
		same(t, "texts", []string{"u:use ask", "a:I will look.", "c:ask", "r:yes", "a:done: yes"}, k.Texts())
	})
}

// answer answers the parked call with a text.
func answer(k *kerneltest.Kit, id, text string) {
	k.Helper()
	for _, e := range k.Effects() {
		if e.Intent.CallID == id {
			got := must(k.Signal(k.Ctx, kernel.SignalOptions{
				RunID: e.Intent.RunID, CallID: id, WaitID: e.OID, Signal: jsontext.Value(`"` + text + `"`),
			}))(k)
			same(k, "reply to "+id, kernel.SignalOutcome(kernel.Signalled{}), got)
			return
		}
	}
	k.Fatalf("the call %q is not open", id)
}

func TestC141_AllResultsWake(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use ask")
		k.Settle()
		c := caller{k, acquire(k), k.Run().ID}
		c.moved(c.SettleEffect(k.Ctx, c.lease, k.Effects()[0], result("ask", "settled elsewhere")))
		c.release()
		k.Settle()
		same(t, "texts", "r:settled elsewhere", k.Texts()[3])
	})
}

func TestC142_DeletedSessionIsIdle(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		for range 2 {
			if err := k.MarkDeleted(k.Ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		written(k, 0, "steps", func() {
			k.StepIs("idle")
			k.StepIs("idle")
		})
	})
}

func TestC144_DeltasComeBeforeThePublish(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		before := must(k.LastSeq(k.Ctx))(t)
		k.StepIs("finished")
		var kinds []string
		text := ""
		for _, e := range must(k.ReadEvents(k.Ctx, before, 0))(t) {
			if d, ok := e.Body.(store.DeltaEvent); ok {
				text += d.Delta
				same(t, "attempt", 1, d.Attempt)
				continue
			}
			kinds = append(kinds, store.EventKind(e.Body))
		}
		same(t, "after the deltas", []string{"ref", "ref"}, kinds)
		same(t, "text", "re: q", text)
	})
}

func TestStepRefusesBadOptions(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		lanes := func(l ...kernel.LandingLane) kernel.Landing {
			return kernel.Landing{Lanes: l, Drain: kernel.DrainOne}
		}
		ok := kernel.LandingLane{Lane: "a", Lands: kernel.AtBoundary}
		for name, change := range map[string]func(*kernel.StepOptions){
			"head":       func(o *kernel.StepOptions) { o.Head = "a/b" },
			"turn":       func(o *kernel.StepOptions) { o.Turn = nil },
			"no lanes":   func(o *kernel.StepOptions) { o.Landing = lanes() },
			"lane twice": func(o *kernel.StepOptions) { o.Landing = lanes(ok, ok) },
			"lane name": func(o *kernel.StepOptions) {
				o.Landing = lanes(kernel.LandingLane{Lane: "a b", Lands: kernel.WhenIdle})
			},
			"lands when": func(o *kernel.StepOptions) { o.Landing = lanes(kernel.LandingLane{Lane: "a", Lands: "never"}) },
			"drain": func(o *kernel.StepOptions) {
				o.Landing = kernel.Landing{Lanes: []kernel.LandingLane{ok}, Drain: "some"}
			},
			"lease length": func(o *kernel.StepOptions) { o.TTL = -time.Second },
		} {
			opts := k.Options()
			change(&opts)
			if _, err := k.Step(k.Ctx, opts); err == nil {
				t.Errorf("%s: the step is taken", name)
			}
		}
	})
}
