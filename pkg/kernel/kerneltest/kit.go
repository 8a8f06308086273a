package kerneltest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// The names that the kit's sessions go by.
const (
	Session = store.SessionID("s")
	Head    = "trunk"
	Steer   = "steer" // lands at boundaries
	Queue   = "queue" // lands when idle
)

// A Kit is one test's session. When the test ends, its data are checked.
type Kit struct {
	testing.TB
	Ctx     context.Context //nolint:containedctx // the test's, which ends with it
	Clock   *storetest.Clock
	Backend storetest.Backend
	*kernel.Session
	Script  *scene.Script // the turn of Step, Drive and Settle
	Landing kernel.Landing
	Ceiling int

	ids     atomic.Int64
	damaged bool
}

// New makes a session in a fresh backend.
func New(t testing.TB, open storetest.Opener) *Kit {
	t.Helper()
	clock := storetest.NewClock()
	k := &Kit{
		TB: t, Ctx: t.Context(), Clock: clock, Backend: open(t, clock), Script: &scene.Script{},
		Landing: kernel.Landing{
			Lanes: []kernel.LandingLane{{Lane: Steer, Lands: kernel.AtBoundary}, {Lane: Queue, Lands: kernel.WhenIdle}},
			Drain: kernel.DrainOne,
		},
	}
	st := k.openStore()
	made := Must(st.CreateSession(k.Ctx, store.CreateOptions{ID: Session}))(k)
	created, ok := made.(store.SessionCreated)
	if !ok {
		t.Fatalf("creating the session: got %#v", made)
	}
	k.Session = k.kernel(created.Session)
	t.Cleanup(func() {
		if !k.damaged {
			k.Check()
		}
	})
	return k
}

// Must takes a call's results and returns the value, or fails the test: Must(s.LastSeq(ctx))(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Check fails the test for every invariant that the session breaks.
func (k *Kit) Check() {
	k.Helper()
	for _, p := range k.Problems() {
		k.Errorf("check: %v", p)
	}
}

// Problems returns what a check finds.
func (k *Kit) Problems() []kernel.Problem {
	k.Helper()
	return Must(kernel.Check(context.WithoutCancel(k.Ctx), k.Session))(k)
}

// Damaged says that this test breaks its session on purpose.
func (k *Kit) Damaged() { k.damaged = true }

func (k *Kit) openStore() store.Store {
	k.Helper()
	st := k.Backend.Open(k)
	k.Cleanup(func() { _ = st.Close() })
	return st
}

func (k *Kit) kernel(s store.Session) *kernel.Session {
	return kernel.New(s, &kernel.Options{Now: k.Clock.Now, NewID: func() string { return fmt.Sprint(k.ids.Add(1)) }})
}

// A Process is another process on the same session, which can be held, failed and killed.
type Process struct {
	*storetest.Faulty
	*kernel.Session
}

// Process opens the session as another process does. Its calls are numbered from 1 on, the opening not among them.
func (k *Kit) Process() Process {
	k.Helper()
	f := storetest.NewFaulty(k.openStore())
	s := Must(f.OpenSession(k.Ctx, Session))(k)
	return Process{f, k.kernel(s)}
}

// Options returns the step options of the kit.
func (k *Kit) Options() kernel.StepOptions {
	opts := kernel.StepOptions{Head: Head, Landing: k.Landing, Turn: k.Script}
	if k.Ceiling > 0 {
		opts.Ceiling = k.ceiling
	}
	return opts
}
