package cloudtest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// everyCut plays a death before and after every request, until one comes too late to happen.
func everyCut(t *testing.T, play func(t *testing.T, death awsfault.Plan) (reached bool)) {
	t.Helper()
	cuts := 0
	for n, reached := 1, true; reached; n++ {
		for _, d := range deaths() {
			t.Run(fmt.Sprintf("%d %s", n, d.name), func(t *testing.T) {
				if reached = play(t, d.plan(n)); reached {
					cuts++
				}
			})
		}
	}
	t.Logf("%d cuts", cuts)
}

// A session is made wholly or not at all: whoever asks again has it, and can work in it.
func TestCrash_CreatingASession(t *testing.T) {
	everyCut(t, func(t *testing.T, death awsfault.Plan) bool {
		clock := storetest.NewClock()
		b := cloudtest.New(t, clock, cloudtest.Options{})
		p := b.Process(t)
		p.Meet(death)
		opts := store.CreateOptions{ID: "s"}
		_, err := p.CreateSession(t.Context(), opts)
		if (err != nil) != p.Met() {
			t.Errorf("creating: %v", err)
		}
		next := b.Process(t)
		if _, err := next.CreateSession(t.Context(), opts); err != nil {
			t.Fatalf("creating again: %v", err)
		}
		works(t, next, clock)
		return p.Met()
	})
}

// A deletion that was cut off is finished by whoever asks again, and nothing of the session is in the next one of its name.
func TestCrash_DeletingASession(t *testing.T) {
	everyCut(t, func(t *testing.T, death awsfault.Plan) bool {
		var b *cloudtest.Backend
		k := kerneltest.New(t, func(t testing.TB, clock *storetest.Clock) storetest.Backend {
			t.Helper()
			b = cloudtest.New(t, clock, cloudtest.Options{})
			return b
		})
		k.Damaged() // it will be gone
		k.Script.Toolbox = kerneltest.Asking()
		k.Send(kerneltest.Queue, "use look pay")
		k.Settle()
		k.Send(kerneltest.Queue, "b")
		p := b.Process(t)
		p.Meet(death)
		if err := p.DeleteSession(t.Context(), kerneltest.Session); (err != nil) != p.Met() {
			t.Errorf("deleting: %v", err)
		}
		next := b.Process(t)
		if err := next.DeleteSession(t.Context(), kerneltest.Session); err != nil {
			t.Fatalf("deleting again: %v", err)
		}
		if _, err := next.OpenSession(t.Context(), kerneltest.Session); !errors.Is(err, store.ErrUnknownSession) {
			t.Errorf("opening what was deleted: %v", err)
		}
		if _, err := k.Submit(t.Context(), kernel.SubmitOptions{Head: kerneltest.Head, Lane: kerneltest.Queue, Body: k.User("late")}); !errors.Is(err, store.ErrUnknownSession) {
			t.Errorf("submitting to what was deleted: %v", err)
		}
		made, err := next.CreateSession(t.Context(), store.CreateOptions{ID: kerneltest.Session})
		if _, ok := made.(store.SessionCreated); err != nil || !ok {
			t.Fatalf("creating the next: %#v, %v", made, err)
		}
		works(t, next, k.Clock)
		return p.Met()
	})
}

// A deletion is of the session that is there, whether its answer comes or not, and not of one that is made meanwhile.
func TestDeletingSparesTheNextSession(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("answer lost is %t", lost), func(t *testing.T) {
			clock := storetest.NewClock()
			b := cloudtest.New(t, clock, cloudtest.Options{})
			p, other := b.Process(t), b.Process(t)
			opts := store.CreateOptions{ID: kerneltest.Session}
			kerneltest.Must(p.CreateSession(t.Context(), opts))(t)
			// Another one comes in between right after the removal, or before the look for what became of it.
			next := func() { kerneltest.Must(other.CreateSession(t.Context(), opts))(t) }
			plan := awsfault.Plan{{Op: "TransactWriteItems", What: awsfault.Gate{After: next}}}
			if lost {
				plan = awsfault.Plan{
					{Op: "TransactWriteItems", What: awsfault.LoseResponse{}},
					{Op: "GetItem", Nth: 2, What: awsfault.Gate{Before: next}},
				}
			}
			p.Play(plan)
			if err := p.DeleteSession(t.Context(), kerneltest.Session); err != nil {
				t.Fatal(err)
			}
			works(t, b.Process(t), clock)
		})
	}
}

// works submits to a session that has nothing yet, and checks it.
func works(t *testing.T, st store.Store, clock *storetest.Clock) {
	t.Helper()
	session := kerneltest.Must(st.OpenSession(t.Context(), kerneltest.Session))(t)
	if refs := kerneltest.Must(session.ListRefs(t.Context(), ""))(t); len(refs) > 0 {
		t.Errorf("a new session has the refs %v", refs)
	}
	s := kernel.New(session, &kernel.Options{Now: clock.Now})
	k := kerneltest.Kit{TB: t, Clock: clock, Session: s}
	queued := kerneltest.Must(s.Submit(t.Context(), kernel.SubmitOptions{Head: kerneltest.Head, Lane: kerneltest.Queue, Body: k.User("a")}))(t)
	if _, ok := queued.(kernel.Queued); !ok {
		t.Errorf("submitting: %#v", queued)
	}
	if pending := kerneltest.Must(s.Pending(t.Context(), kerneltest.Head))(t); len(pending) != 1 {
		t.Errorf("%d are pending, want 1", len(pending))
	}
	for _, problem := range kerneltest.Must(kernel.Check(t.Context(), s))(t) {
		t.Errorf("check: %v", problem)
	}
}
