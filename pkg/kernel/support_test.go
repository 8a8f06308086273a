package kernel_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

const (
	head  = kerneltest.Head
	steer = kerneltest.Steer
	queue = kerneltest.Queue
)

// over runs a test on every store, with a fresh session that is checked afterwards.
func over(t *testing.T, test func(t *testing.T, k *kerneltest.Kit)) {
	t.Helper()
	stores(t, func(t *testing.T, open storetest.Opener) {
		t.Helper()
		k := kerneltest.New(t, open)
		k.Script.Toolbox = asking()
		test(t, k)
	})
}

// must returns the value, or fails the test: must(s.LastSeq(ctx))(t).
func must[T any](v T, err error) func(testing.TB) T { return kerneltest.Must(v, err) }

// same fails the test where got differs from want.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// written fails the test unless do appends exactly n events.
func written(k *kerneltest.Kit, n int, what string, do func()) {
	k.Helper()
	before := must(k.LastSeq(k.Ctx))(k)
	do()
	if got := must(k.LastSeq(k.Ctx))(k) - before; got != store.Seq(n) {
		k.Errorf("%s: %d events were written, want %d", what, got, n)
	}
}

// update matches the compare-and-swap of a reason.
func update(reason string) func(storetest.Call) bool {
	return func(c storetest.Call) bool { return c.Op == storetest.OpUpdateRefs && c.Reason == reason }
}

// both plays a race twice: first's gated call is held while second acts, before it took effect and after.
func both(t *testing.T, test func(t *testing.T, k *kerneltest.Kit, at storetest.Moment)) {
	t.Helper()
	stores(t, func(t *testing.T, open storetest.Opener) {
		t.Helper()
		for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
			t.Run(at.String(), func(t *testing.T) {
				k := kerneltest.New(t, open)
				k.Script.Toolbox = asking()
				test(t, k, at)
			})
		}
	})
}

// meanwhile runs slow in its own goroutine until it stands at the gate, then runs quick, then lets slow finish.
func meanwhile[T any](t testing.TB, gate *storetest.Gate, slow func() (T, error), quick func()) T {
	t.Helper()
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := slow()
		done <- result{v, err}
	}()
	gate.Wait()
	quick()
	gate.Release()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.v
}

// says makes the script answer with these outcomes in turn, and by its rules after that.
func says(k *kerneltest.Kit, outcomes ...func(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error)) {
	k.Script.Say = func(ctx context.Context, in kernel.TurnInput, n int) (kernel.RespondOutcome, error) {
		if n > len(outcomes) {
			return nil, nil
		}
		return outcomes[n-1](ctx, in)
	}
}

// complete answers with a text, whatever the question.
func complete(text string) func(context.Context, kernel.TurnInput) (kernel.RespondOutcome, error) {
	return func(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
		m := scene.Says(text, in.Now)
		if err := scene.Stream(ctx, in, m); err != nil {
			return nil, err
		}
		return kernel.Complete{Message: m}, nil
	}
}

// answers calls done while a response is in flight and then answers by the rules.
func answers(done func()) func(context.Context, kernel.TurnInput) (kernel.RespondOutcome, error) {
	return func(context.Context, kernel.TurnInput) (kernel.RespondOutcome, error) {
		done()
		return nil, nil
	}
}

// config is a configuration change.
func config(agent string) object.Body { return object.ConfigBody{Agent: agent} }

// with is a user message that chooses an agent.
func with(k *kerneltest.Kit, text, agent string) object.Body {
	body, ok := k.User(text).(object.MessageBody)
	if !ok {
		k.Fatal("a user message is a message body")
	}
	body.Agent = agent
	return body
}

// Shorter names.
const (
	beforeCall = storetest.Before
	afterCall  = storetest.After
)

var errInjected = storetest.ErrInjected

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }
