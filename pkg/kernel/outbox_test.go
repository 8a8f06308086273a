package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

func appending(c storetest.Call) bool { return c.Op == storetest.OpAppendEvents }

// emitting takes the response step of a landed message in a process of its own, whose turn emits.
func emitting(k *kerneltest.Kit, p kerneltest.Process, emit func(ctx context.Context, in kernel.TurnInput) error) (kernel.StepOutcome, error) {
	k.Send(queue, "q")
	k.StepIs("continue")
	says(k, func(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
		if err := emit(ctx, in); err != nil {
			return nil, err
		}
		return kernel.Complete{Message: scene.Says("", in.Now)}, nil
	})
	return p.Step(k.Ctx, k.Options())
}

// piece is a delta that merges with none of its neighbours.
func piece(in kernel.TurnInput, i int) store.DeltaEvent {
	return store.DeltaEvent{RunID: in.Run.ID, Attempt: in.Attempt, Index: i % 2, Part: store.ThinkingPart, Delta: fmt.Sprint(i, ".")}
}

func TestC115_FullOutboxHoldsTheTurnBack(t *testing.T) {
	k := kerneltest.New(t, kerneltest.Memory)
	k.Damaged() // the deltas are of no message
	p := k.Process()
	gate := p.Gate(beforeCall, appending)
	const all = 129
	emitted := make(chan int, all)
	done := make(chan error, 1)
	go func() {
		_, err := emitting(k, p, func(ctx context.Context, in kernel.TurnInput) error {
			for i := range all {
				if err := in.Emit(ctx, piece(in, i)); err != nil {
					return err
				}
				emitted <- i
			}
			return nil
		})
		done <- err
	}()
	gate.Wait() // at least one event is on its way; 64 more fit in
	for range 65 {
		<-emitted
	}
	for range 1000 {
		runtime.Gosched() // time for a turn that is not held back
	}
	if n := 65 + len(emitted); n > 128 {
		t.Errorf("%d events were taken while an append of at most 64 was out", n)
	}
	gate.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, e := range must(k.ReadEvents(k.Ctx, 0, 1000))(t) {
		if d, ok := e.Body.(store.DeltaEvent); ok {
			same(t, "delta", fmt.Sprint(i, "."), d.Delta)
			i++
		}
	}
	same(t, "deltas", all, i)
}

func TestC116_LatestProgressBehindItsDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, kerneltest.Memory)
		k.Damaged() // the deltas are of no message
		_, err := emitting(k, k.Process(), func(ctx context.Context, in kernel.TurnInput) error {
			progress := func(call, text string) store.EventBody {
				return store.ProgressEvent{RunID: in.Run.ID, CallID: call, Progress: store.Progress{Text: text}}
			}
			for _, body := range []store.EventBody{
				progress("a", "10 %"), piece(in, 0), progress("b", "start"), piece(in, 2), piece(in, 1), progress("a", "50 %"),
				store.NoticeEvent{Level: store.Info, Owner: "x", Message: "note"},
				progress("a", "90 %"), piece(in, 3),
			} {
				if err := in.Emit(ctx, body); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range must(k.ReadEvents(k.Ctx, 0, 0))(t) {
			switch b := e.Body.(type) {
			case store.DeltaEvent:
				got = append(got, fmt.Sprint(b.Index, ":", b.Delta))
			case store.ProgressEvent:
				got = append(got, b.CallID+":"+b.Progress.Text)
			case store.NoticeEvent:
				got = append(got, b.Message)
			case store.RefEvent:
			}
		}
		same(t, "stream", []string{"0:0.", "b:start", "0:2.", "1:1.", "note", "a:90 %", "1:3."}, got)
	})
}

func TestOutbox_FirstWordsComeSoonAndTheRestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, kerneltest.Memory)
		k.Damaged() // the deltas are of no message
		p := k.Process()
		start := time.Now()
		var at []time.Duration
		p.Hook(storetest.Before, func(c storetest.Call) {
			if appending(c) {
				at = append(at, time.Since(start))
			}
		})
		k.Send(queue, "q")
		k.StepIs("continue")
		says(k, func(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
			for range 200 {
				if err := in.Emit(ctx, piece(in, 0)); err != nil {
					return nil, err
				}
				time.Sleep(7 * time.Millisecond) // never at the time of a flush
			}
			return kernel.Complete{Message: scene.Says("", in.Now)}, nil
		})
		opts := k.Options()
		opts.Flush = 500 * time.Millisecond
		must(p.Step(k.Ctx, opts))(t)
		want := []time.Duration{25 * time.Millisecond, 528 * time.Millisecond, 1032 * time.Millisecond, 1400 * time.Millisecond}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("appends: %s", diff)
		}
	})
}

func TestOutboxMergesNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, kerneltest.Memory)
		k.Damaged() // the deltas are of no message
		_, err := emitting(k, k.Process(), func(ctx context.Context, in kernel.TurnInput) error {
			for range 1000 {
				d := piece(in, 0)
				if err := in.Emit(ctx, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		deltas, bytes := 0, 0
		for _, e := range must(k.ReadEvents(k.Ctx, 0, 0))(t) {
			if d, ok := e.Body.(store.DeltaEvent); ok {
				deltas++
				bytes += len(d.Delta)
			}
		}
		same(t, "events and bytes", []int{1, 2000}, []int{deltas, bytes})
	})
}

// A fenced append ends the work at once: it does not finish into the void.
func TestFencedAppendEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, kerneltest.Memory)
		var cause error
		outcome, err := emitting(k, k.Process(), func(ctx context.Context, in kernel.TurnInput) error {
			takeOver(k)
			if err := in.Emit(ctx, piece(in, 0)); err != nil {
				return err
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return in.Emit(ctx, piece(in, 1))
		})
		same(t, "step", kernel.StepOutcome(kernel.StepFenced{}), outcome)
		same(t, "error", nil, err)
		if !errors.Is(cause, kernel.ErrFenced) {
			t.Errorf("cause: got %v, want %v", cause, kernel.ErrFenced)
		}
	})
}

// A stream that cannot be written costs the live view and nothing else.
func TestFailedAppendLosesNoAnswer(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Damaged() // what was streamed is not what was committed
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		p.FailNext(beforeCall, appending)
		p.StepIs(k, "finished")
		same(t, "texts", []string{"u:q", "a:re: q"}, k.Texts())
	})
}
