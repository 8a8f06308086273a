package history_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/history"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// TestPlayedHistories proves that both checkers accept what a store in memory does, in many interleavings that can be played again.
func TestPlayedHistories(t *testing.T) {
	t.Parallel()
	var total sum
	for seed := range uint64(300) {
		p := play(t, seed, 40, 0.04, nil)
		f, err := history.Witness(p.ops, p.stream, 0)
		if err != nil {
			t.Errorf("seed %d: witness: %v", seed, err)
		}
		if err := history.Linearizable(p.ops, 0, timeout); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		total.add(len(p.ops), f)
	}
	t.Log(&total)
	if f := total.found; f.Happened == 0 || f.Unknown == f.Happened || f.Fenced == 0 || f.Grants == 0 {
		t.Errorf("the histories lack something to judge: %v", &total)
	}
}

// opener opens two stores on the same new data.
type opener func(t *testing.T, clock *storetest.Clock) [2]store.Store

func openers() map[string]opener {
	return map[string]opener{
		"memstore": func(_ *testing.T, clock *storetest.Clock) [2]store.Store {
			s := memstore.New(&memstore.Options{Now: clock.Now})
			return [2]store.Store{s, s.Another()}
		},
		"sqlitestore": func(t *testing.T, clock *storetest.Clock) (stores [2]store.Store) {
			path := filepath.Join(t.TempDir(), "db")
			for i := range stores {
				s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{Now: clock.Now})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				stores[i] = s
			}
			return stores
		},
	}
}

// TestConcurrentHistories proves that calls from many goroutines through two stores on the same data have one order that explains every
// answer, also where some were lost.
func TestConcurrentHistories(t *testing.T) {
	t.Parallel()
	for name, open := range openers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			stores := open(t, clock)
			var total sum
			for seed := range uint64(100) {
				random := rand.New(rand.NewPCG(seed, 3))
				ids := []store.SessionID{store.SessionID(fmt.Sprintf("a%d", seed)), store.SessionID(fmt.Sprintf("b%d", seed))}
				clean := create(t, stores[:], ids...)
				through := []store.Store{lossy(stores[0], 2000, 0.04, random), lossy(stores[1], 2000, 0.04, random)}
				r := history.NewRecorder(clock.Now)
				w := history.Workload{Seed: seed, Clients: 4 + int(seed%5), Calls: 60, Refs: 4, Leases: 2, Advance: clock.Advance}
				if err := w.Run(t.Context(), r, reopen(t, through, ids)); err != nil {
					t.Fatal(err)
				}
				ops := r.Ops()
				if err := witness(t.Context(), ops, clean[0], &total); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if err := history.Linearizable(ops, 0, timeout); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			t.Log(&total)
		})
	}
}

// reopen opens the same sessions through other stores.
func reopen(t *testing.T, stores []store.Store, ids []store.SessionID) [][]store.Session {
	t.Helper()
	handles := make([][]store.Session, len(stores))
	for i, st := range stores {
		for _, id := range ids {
			s, err := st.OpenSession(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			handles[i] = append(handles[i], s)
		}
	}
	return handles
}

// TestLongRun holds a long history against its stream; for a search it is too long.
func TestLongRun(t *testing.T) {
	t.Parallel()
	for name, open := range openers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 12_000
			if name == "sqlitestore" {
				calls = 1_500
			}
			clock := storetest.NewClock()
			stores := open(t, clock)
			ids := []store.SessionID{"long"}
			clean := create(t, stores[:], ids...)
			random := rand.New(rand.NewPCG(1, 4))
			through := []store.Store{lossy(stores[0], 100_000, 0.02, random), lossy(stores[1], 100_000, 0.02, random)}
			r := history.NewRecorder(clock.Now)
			w := history.Workload{Seed: 1, Clients: 8, Calls: calls, Refs: 6, Leases: 3, Advance: clock.Advance}
			if err := w.Run(t.Context(), r, reopen(t, through, ids)); err != nil {
				t.Fatal(err)
			}
			var total sum
			if err := witness(t.Context(), r.Ops(), clean[0], &total); err != nil {
				t.Error(err)
			}
			t.Log(&total)
		})
	}
}
