package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// A gate holds whoever is about to run the queue while it is shut.
type gate struct {
	mu     sync.Mutex
	shut   chan struct{}
	waiter chan struct{}
}

func newGate(s *sqlitestore.Store) *gate {
	g := &gate{}
	s.Hold(func() {
		g.mu.Lock()
		shut, waiter := g.shut, g.waiter
		g.mu.Unlock()
		if shut != nil {
			close(waiter)
			<-shut
		}
	})
	return g
}

// close makes the next leader wait. The returned arrived is closed when it does.
func (g *gate) close() (arrived chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.waiter = make(chan struct{}), make(chan struct{})
	return g.waiter
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

func awaitQueue(s *sqlitestore.Store, n int) {
	for s.Queued() < n {
		runtime.Gosched()
	}
}

func TestGroupCommit_SharesOneCommit(t *testing.T) {
	const writers, rounds = 50, 20
	st := open(t, newPath(t), nil)
	g := newGate(st)
	s := create(t, st, "s")
	tips := make([]object.OID, writers)

	for round := range rounds {
		before := st.Commits()
		g.close()
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				next := oid(fmt.Sprint(w, round))
				set(context.WithoutCancel(t.Context()), t, s, ref.Name(fmt.Sprintf("refs/w/%d", w)), tips[w], next)
				tips[w] = next
			})
		}
		awaitQueue(st, writers)
		g.open()
		wg.Wait()
		if got := st.Commits() - before; got != 1 {
			t.Fatalf("round %d: %d queued updates took %d commits, want 1", round, writers, got)
		}
	}

	events, err := s.ReadEvents(t.Context(), 0, 10*writers*rounds)
	must(t, err)
	if len(events) != writers*rounds {
		t.Fatalf("%d events, want %d", len(events), writers*rounds)
	}
}

func TestGroupCommit_FailureStaysAlone(t *testing.T) {
	st := open(t, newPath(t), nil)
	g := newGate(st)
	s, gone := create(t, st, "s"), create(t, st, "gone")
	must(t, st.DeleteSession(t.Context(), "gone"))

	// The queue: a good update, a conflict after a ref was moved, a failing call, another good update.
	calls := []func() (store.UpdateOutcome, error){
		func() (store.UpdateOutcome, error) { return update(t, s, store.Update{Name: "refs/a", To: oid("a")}) },
		func() (store.UpdateOutcome, error) {
			return update(t, s, store.Update{Name: "refs/b", To: oid("b")}, store.Update{Name: "refs/c", From: oid("x"), To: oid("c")})
		},
		func() (store.UpdateOutcome, error) {
			return update(t, gone, store.Update{Name: "refs/a", To: oid("a")})
		},
		func() (store.UpdateOutcome, error) { return update(t, s, store.Update{Name: "refs/d", To: oid("d")}) },
	}
	outs, errs := make([]store.UpdateOutcome, len(calls)), make([]error, len(calls))
	before := st.Commits()
	g.close()
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { outs[i], errs[i] = call() })
		awaitQueue(st, i+1) // so that they queue in this order
	}
	g.open()
	wg.Wait()

	if got := st.Commits() - before; got != 1 {
		t.Errorf("%d commits, want 1", got)
	}
	want := []store.UpdateOutcome{store.Updated{Seq: 1}, store.UpdateConflict{Name: "refs/c"}, nil, store.Updated{Seq: 2}}
	for i := range calls {
		if outs[i] != want[i] {
			t.Errorf("call %d: %#v, want %#v", i, outs[i], want[i])
		}
		if wantErr := want[i] == nil; wantErr != (errs[i] != nil) || wantErr && !errors.Is(errs[i], store.ErrUnknownSession) {
			t.Errorf("call %d: error %v", i, errs[i])
		}
	}
	oids, err := s.ReadRefs(t.Context(), "refs/a", "refs/b", "refs/c", "refs/d")
	must(t, err)
	if oids[0] != oid("a") || !oids[1].IsZero() || !oids[2].IsZero() || oids[3] != oid("d") {
		t.Errorf("refs are %v; the conflict must leave none of its moves", oids)
	}
}

func update(t *testing.T, s store.Session, updates ...store.Update) (store.UpdateOutcome, error) {
	return s.UpdateRefs(context.WithoutCancel(t.Context()), updates, store.UpdateOptions{Reason: "test"})
}

func TestWriter_WithdrawsWhatIsCancelledInTheQueue(t *testing.T) {
	st := open(t, newPath(t), nil)
	g := newGate(st)
	s := create(t, st, "s")
	arrived := g.close()
	var wg sync.WaitGroup
	wg.Go(func() { set(context.WithoutCancel(t.Context()), t, s, "refs/a", object.OID{}, oid("a")) })
	<-arrived

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.UpdateRefs(ctx, []store.Update{{Name: "refs/b", To: oid("b")}}, store.UpdateOptions{Reason: "test"})
		done <- err
	}()
	awaitQueue(st, 2)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a queued call ended with %v, want context.Canceled", err)
	}
	g.open()
	wg.Wait()
	if last, err := s.LastSeq(t.Context()); err != nil || last != 1 {
		t.Errorf("LastSeq = %d, %v; want 1: the cancelled update must not be written", last, err)
	}
}

// A leader whose context ends before it begins still runs the others.
func TestWriter_CancelledLeaderServesTheQueue(t *testing.T) {
	st := open(t, newPath(t), nil)
	g := newGate(st)
	s := create(t, st, "s")
	arrived := g.close()
	ctx, cancel := context.WithCancel(t.Context())
	leader := make(chan error, 1)
	go func() {
		_, err := s.UpdateRefs(ctx, []store.Update{{Name: "refs/a", To: oid("a")}}, store.UpdateOptions{Reason: "test"})
		leader <- err
	}()
	<-arrived
	var wg sync.WaitGroup
	wg.Go(func() { set(context.WithoutCancel(t.Context()), t, s, "refs/b", object.OID{}, oid("b")) })
	awaitQueue(st, 2)
	cancel()
	g.open()
	wg.Wait()
	if err := <-leader; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader ended with %v, want context.Canceled", err)
	}
}

func TestWriter_CloseEndsTheQueue(t *testing.T) {
	st := open(t, newPath(t), nil)
	g := newGate(st)
	s := create(t, st, "s")
	arrived := g.close()
	running, queued := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := update(t, s, store.Update{Name: "refs/a", To: oid("a")})
		running <- err
	}()
	<-arrived
	go func() {
		_, err := update(t, s, store.Update{Name: "refs/b", To: oid("b")})
		queued <- err
	}()
	awaitQueue(st, 2)
	closed := make(chan error, 1)
	go func() { closed <- st.Close() }()
	if err := <-queued; !errors.Is(err, store.ErrClosed) {
		t.Errorf("a queued call ended with %v, want ErrClosed", err)
	}
	g.open()
	if err := <-running; err != nil {
		t.Errorf("a call that had started ended with %v", err)
	}
	must(t, <-closed)
}

func TestLeases_CommitWithoutTouchingTheStream(t *testing.T) {
	st := open(t, newPath(t), nil)
	s := create(t, st, "s")
	before := st.Commits()
	out, err := s.AcquireLease(t.Context(), "refs/heads/main", 1e9)
	must(t, err)
	l := out.(store.Acquired).Lease
	if _, ok, err := s.RenewLease(t.Context(), l, 1e9); !ok || err != nil {
		t.Fatalf("RenewLease = %v, %v", ok, err)
	}
	if ok, err := s.ReleaseLease(t.Context(), l); !ok || err != nil {
		t.Fatalf("ReleaseLease = %v, %v", ok, err)
	}
	if got := st.Commits() - before; got != 3 {
		t.Errorf("%d commits, want 3", got)
	}
	set(t.Context(), t, s, "refs/a", object.OID{}, oid("a")) // the next durable commit is possible again
	if last, err := s.LastSeq(t.Context()); err != nil || last != 1 {
		t.Errorf("LastSeq = %d, %v; want 1", last, err)
	}
}
