package history_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell-dev/stepwell/internal/history"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
)

// timeout is far more than a search needs, also on a busy machine.
const timeout = time.Minute

// create makes sessions through the first of several stores on the same data, and returns a handle on each for every store.
func create(t testing.TB, stores []store.Store, ids ...store.SessionID) [][]store.Session {
	t.Helper()
	handles := make([][]store.Session, len(stores))
	for _, id := range ids {
		if _, err := stores[0].CreateSession(t.Context(), store.CreateOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		for i, st := range stores {
			s, err := st.OpenSession(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			handles[i] = append(handles[i], s)
		}
	}
	return handles
}

// A sum is what was judged in several histories.
type sum struct {
	mu        sync.Mutex
	histories int
	calls     int
	found     history.Findings
}

func (s *sum) add(calls int, f history.Findings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.histories++
	s.calls += calls
	s.found = s.found.Plus(f)
}

func (s *sum) String() string {
	return fmt.Sprintf("%d histories of one session, %d calls: %+v", s.histories, s.calls, s.found)
}

// witness judges every session of a history by its stream, as clean handles read it.
func witness(ctx context.Context, ops []history.Op, clean []store.Session, s *sum) error {
	parts := history.Sessions(ops)
	for _, h := range clean {
		stream, err := history.Stream(ctx, h)
		if err != nil {
			return err
		}
		part := parts[h.ID()]
		f, err := history.Witness(part, stream, 0)
		if err != nil {
			return fmt.Errorf("witness: %w", err)
		}
		if s != nil {
			s.add(len(part), f)
		}
	}
	return nil
}

// lossy makes calls of a store fail before or after they took effect, at the given rate.
func lossy(st store.Store, calls int, rate float64, random *rand.Rand) store.Store {
	f := storetest.NewFaulty(st)
	for n := range calls {
		if n > 10 && random.Float64() < rate {
			if random.IntN(2) == 0 {
				f.FailBefore(n)
			} else {
				f.FailAfter(n)
			}
		}
	}
	return f
}

// A stage lets clients go on one at a time, in an order drawn from a seed, so that a history can be played again.
type stage struct {
	random *rand.Rand
	mu     sync.Mutex
	parked map[int]chan struct{}
}

func newStage(seed uint64) *stage {
	return &stage{random: rand.New(rand.NewPCG(seed, 1)), parked: map[int]chan struct{}{}}
}

// wait holds a client until it is its turn.
func (s *stage) wait(client int) {
	turn := make(chan struct{})
	s.mu.Lock()
	s.parked[client] = turn
	s.mu.Unlock()
	<-turn
}

// play runs until nobody waits any more.
func (s *stage) play() {
	for {
		synctest.Wait()
		s.mu.Lock()
		waiting := slices.Sorted(maps.Keys(s.parked))
		if len(waiting) == 0 {
			s.mu.Unlock()
			return
		}
		id := waiting[s.random.IntN(len(waiting))]
		turn := s.parked[id]
		delete(s.parked, id)
		s.mu.Unlock()
		close(turn)
	}
}

// A staged session waits for its client's turn before and after it makes a call.
type staged struct {
	store.Session
	turn func()
}

func (s staged) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	s.turn()
	defer s.turn()
	return s.Session.UpdateRefs(ctx, updates, opts)
}

func (s staged) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	s.turn()
	defer s.turn()
	return s.Session.ReadRefs(ctx, names...)
}

func (s staged) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	s.turn()
	defer s.turn()
	return s.Session.AcquireLease(ctx, name, ttl)
}

func (s staged) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	s.turn()
	defer s.turn()
	return s.Session.RenewLease(ctx, l, ttl)
}

func (s staged) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	s.turn()
	defer s.turn()
	return s.Session.ReleaseLease(ctx, l)
}

func (s staged) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	s.turn()
	defer s.turn()
	return s.Session.AppendEvents(ctx, bodies, lease)
}

// A played history is the same each time, apart from owners.
type played struct {
	ops    []history.Op
	stream []store.Event
}

// play makes a history of two handles on one session in memory, as bend changes them, with some answers lost.
func play(t *testing.T, seed uint64, calls int, rate float64, bend func(store.Session) store.Session) (p played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := storetest.NewClock()
		data := memstore.New(&memstore.Options{Now: clock.Now})
		random := rand.New(rand.NewPCG(seed, 2))
		stores := []store.Store{lossy(data, 9999, rate, random), lossy(data.Another(), 9999, rate, random)}
		stage := newStage(seed)
		const clients = 6
		w := history.Workload{Seed: seed, Clients: clients, Calls: calls, Refs: 4, Leases: 2, Advance: clock.Advance, Turn: stage.wait}
		var handles [][]store.Session
		shared := create(t, stores, "s")
		for i := range clients {
			s := shared[i%len(shared)][0]
			if bend != nil {
				s = bend(s)
			}
			handles = append(handles, []store.Session{staged{s, func() { stage.wait(i) }}})
		}
		r := history.NewRecorder(clock.Now)
		var err error
		go func() { err = w.Run(t.Context(), r, handles) }()
		stage.play()
		if err != nil {
			t.Fatal(err)
		}
		clean, err := data.OpenSession(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if bend != nil {
			clean = bend(clean)
		}
		p.ops = r.Ops()
		if p.stream, err = history.Stream(t.Context(), clean); err != nil {
			t.Fatal(err)
		}
	})
	return p
}
