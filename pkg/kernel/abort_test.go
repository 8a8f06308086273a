package kernel_test

import (
	"context"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func abort(k *kerneltest.Kit) {
	k.Helper()
	if _, ok := must(k.Abort(k.Ctx, head, nil))(k).(kernel.AbortRequested); !ok {
		k.Fatal("no run is live")
	}
}

// raced answers although a participant acts while the response is in flight.
func raced(k *kerneltest.Kit, act func(), out func(at object.Millis) kernel.RespondOutcome) {
	says(k, func(_ context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
		act()
		return out(in.Now), nil
	})
}

func whole(at object.Millis) kernel.RespondOutcome {
	return kernel.Complete{Message: scene.Says("whole", at)}
}

func TestC121_AbortRacingAResponseKeepsIt(t *testing.T) {
	for name, out := range map[string]func(object.Millis) kernel.RespondOutcome{
		"complete": whole,
		"aborted": func(at object.Millis) kernel.RespondOutcome {
			m := scene.Says("half", at)
			m.StopReason = message.StopAborted
			return kernel.ResponseAborted{Message: m}
		},
		"retry": func(at object.Millis) kernel.RespondOutcome {
			return kernel.RetryLater{Message: scene.Says("x", at), At: at + 1000, Retries: 1, Error: "x"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(t *testing.T, k *kerneltest.Kit) {
				k.Send(queue, "q")
				k.StepIs("continue")
				raced(k, func() { abort(k) }, out)
				k.StepIs("continue")
				same(t, "commits", 2, len(k.Branch()))
				k.StepIs("finished")
				same(t, "phase", "aborted", k.Phase())
				same(t, "responses", 1, k.Script.Asked())
				same(t, "attempts", 1, k.Run().Attempts)
			})
		})
	}
}

func TestC122_AbortWithBoundaryInputGoesOn(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		id := k.Run().ID
		raced(k, func() {
			k.Send(steer, "instead")
			abort(k)
		}, whole)
		k.StepIs("continue")
		k.StepIs("continue")
		same(t, "the same run, its flag cleared", []any{id, false, "respond"}, []any{k.Run().ID, k.Run().AbortRequested, k.Phase()})
		k.StepIs("finished")
		same(t, "texts", []string{"u:q", "a:whole", "u:instead", "a:re: instead"}, k.Texts())
	})
}

// The user interrupted on purpose: what waits lands behind an unanswered message too, but not for another agent.
func TestC122_AbortBeforeAnAnswer(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		id := k.Run().ID
		k.Send(steer, "instead")
		abort(k)
		k.StepIs("continue")
		same(t, "run", []any{id, false}, []any{k.Run().ID, k.Run().AbortRequested})
		same(t, "texts", []string{"u:q", "u:instead"}, k.Texts())
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: steer, Body: with(k, "other", "build")})
		abort(k)
		k.StepIs("finished")
		same(t, "phase", "aborted", k.Phase())
		k.Settle()
		same(t, "agent", "build", k.Run().Config.Agent)
	})
}

func TestC123_AbortDuringABatch(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Script.Toolbox["pay"] = scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
			abort(k)
			return scene.Answer{Text: "paid"}
		}}
		k.Send(queue, "use look pay")
		k.StepIs("continue")
		k.StepIs("continue")
		k.StepIs("continue")
		same(t, "flag and phase", []any{true, "respond"}, []any{k.Run().AbortRequested, k.Phase()})
		k.StepIs("finished")
		same(t, "phase", "aborted", k.Phase())
		same(t, "texts", []string{"u:use look pay", "a:I will look.", "c:look", "c:pay", "r:look ok", "r:paid"}, k.Texts())
		same(t, "responses", 1, k.Script.Asked())
	})
}

func retrying(k *kerneltest.Kit, after object.Millis) {
	says(k, func(_ context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
		m := scene.Says("", in.Now)
		m.StopReason, m.ErrorMessage = message.StopError, "overloaded"
		return kernel.RetryLater{Message: m, At: in.Now + after, Retries: 1, Error: "overloaded"}, nil
	})
}

func TestC124_AbortDoesNotSitOutARetry(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		retrying(k, 60_000)
		k.StepIs("continue")
		k.StepIs("retry")
		abort(k)
		k.StepIs("finished")
		same(t, "phase", "aborted", k.Phase())
	})
}

// failing is a turn whose batches fail with whatever results exist.
type failing struct {
	*scene.Script
	before func()
}

func (f failing) Tools(_ context.Context, in kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	f.before()
	first := in.Assistant.Calls()[0]
	return kernel.BatchFailed{Error: "policy broke", Results: []message.ToolResult{{
		ToolCallID: first.ID, ToolName: first.Name, IsError: true, Content: []message.Content{message.Text{Text: "refused"}},
	}}}, nil
}

func TestC126_FlaggedRunWhoseBatchFails(t *testing.T) {
	for flagged, phase := range map[bool]string{true: "aborted", false: "failed"} {
		for _, during := range []bool{true, false} {
			over(t, func(t *testing.T, k *kerneltest.Kit) {
				k.Send(queue, "use look pay")
				k.StepIs("continue")
				k.StepIs("continue")
				flag := func() {
					if flagged {
						abort(k)
					}
				}
				turn := failing{k.Script, func() {}}
				if during {
					turn.before = flag
				} else {
					flag()
				}
				opts := k.Options()
				opts.Turn = turn
				for range 2 {
					must(k.Step(k.Ctx, opts))(t)
				}
				same(t, "phase", phase, k.Phase())
				same(t, "texts", []string{"u:use look pay", "a:I will look.", "c:look", "c:pay", "e:refused", "e:" + view.Interrupted}, k.Texts())
				notices := 0
				for _, e := range must(k.ReadEvents(k.Ctx, 0, 0))(t) {
					if n, ok := e.Body.(store.NoticeEvent); ok && n.Message == "policy broke" {
						notices++
					}
				}
				same(t, "notices", map[bool]int{true: 1, false: 0}[flagged], notices)
			})
		}
	}
}
