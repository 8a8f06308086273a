package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

const (
	writers = 8
	rounds  = 10
)

func concurrencyTests() []test {
	return []test{
		{"C26 numbers stay gapless under 8 writers on two handles", concurrentSeqs},
		{"of racing moves of one ref exactly one wins each time", concurrentMoves},
		{"refs that move together are read together", concurrentReads},
		{"C35 watchers on two handles get every event of concurrent writers once", concurrentWatch},
		{"C30 of racing acquires exactly one is granted", concurrentAcquire},
		{"of racing creations exactly one makes the session", concurrentCreate},
		{"racing puts of the same objects all succeed", concurrentPuts},
	}
}

// race runs f in goroutines, each with a handle in turn, and waits for them.
func (f *fixture) race(run func(i int, s store.Session)) {
	f.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range writers {
		wg.Go(func() {
			<-start
			run(i, []store.Session{f.a, f.b}[i%2])
		})
	}
	close(start)
	wg.Wait()
	if f.Failed() {
		f.FailNow()
	}
}

// tryUpdate is update for goroutines, which must not end the test.
func (f *fixture) tryUpdate(s store.Session, opts store.UpdateOptions, updates ...store.Update) store.UpdateOutcome {
	opts.Reason = "race"
	out, err := s.UpdateRefs(f.Context(), updates, opts)
	if err != nil {
		f.Errorf("updating refs: %v", err)
	}
	return out
}

func concurrentSeqs(f *fixture) {
	var mu sync.Mutex
	owner := map[store.Seq]string{}
	f.race(func(i int, s store.Session) {
		name := ref.Name(fmt.Sprintf("refs/w%d", i))
		var from object.OID
		for r := range rounds {
			text := fmt.Sprintf("%d/%d", i, r)
			out := f.tryUpdate(s, store.UpdateOptions{Events: []store.EventBody{notice(text)}},
				store.Update{Name: name, From: from, To: id(text)})
			done, ok := out.(store.Updated)
			if !ok {
				f.Errorf("an update of a ref that nobody else moves: %#v", out)
				return
			}
			from = id(text)
			mu.Lock()
			owner[done.Seq] = text
			mu.Unlock()
		}
	})
	equal(f, "last", store.Seq(2*writers*rounds), f.last(f.b))
	events := f.events(f.a, 0)
	equal(f, "events", 2*writers*rounds, len(events))
	for seq, text := range owner {
		equal(f, "the event of an update's number", notice(text), events[seq-1].Body)
		if e, ok := events[seq-2].Body.(store.RefEvent); !ok || e.To != id(text) {
			f.Errorf("the events of one update are torn at %d: %v", seq, events[seq-2])
		}
	}
}

func concurrentMoves(f *fixture) {
	const name = "refs/contended"
	f.race(func(i int, s store.Session) {
		for won := 0; won < rounds; {
			oids, err := s.ReadRefs(f.Context(), name)
			if err != nil {
				f.Errorf("reading: %v", err)
				return
			}
			out := f.tryUpdate(s, store.UpdateOptions{},
				store.Update{Name: name, From: oids[0], To: id(fmt.Sprintf("%d/%d", i, won))})
			switch out.(type) {
			case store.Updated:
				won++
			case store.UpdateConflict:
			case store.Fenced, nil:
				f.Errorf("a contended move: %#v", out)
				return
			}
		}
	})
	var at object.OID
	for _, e := range f.events(f.b, 0) {
		move, ok := e.Body.(store.RefEvent)
		if !ok || move.From != at {
			f.Fatalf("event %d moves from %s, want %s", e.Seq, move.From.Short(), at.Short())
		}
		at = move.To
	}
	equal(f, "moves", store.Seq(writers*rounds), f.last(f.a))
	equal(f, "ref", at, f.read(f.a, name))
}

func concurrentReads(f *fixture) {
	names := []ref.Name{"refs/a", "refs/b", "refs/c", "refs/d"}
	f.race(func(i int, s store.Session) {
		for r := range rounds {
			if i > 1 { // the readers
				oids, err := s.ReadRefs(f.Context(), names...)
				if err != nil || len(slices.Compact(oids)) != 1 {
					f.Errorf("ReadRefs gave %v, %v", oids, err)
				}
				list, err := s.ListRefs(f.Context(), "refs/")
				torn := func(l store.Ref) bool { return l.OID != list[0].OID }
				if err != nil || len(list) != 0 && (len(list) != len(names) || slices.ContainsFunc(list, torn)) {
					f.Errorf("ListRefs gave %v, %v", list, err)
				}
				continue
			}
			for moved := false; !moved && !f.Failed(); {
				oids, err := s.ReadRefs(f.Context(), names[0])
				if err != nil {
					f.Errorf("reading: %v", err)
					return
				}
				updates := make([]store.Update, len(names))
				for j, n := range names {
					updates[j] = store.Update{Name: n, From: oids[0], To: id(fmt.Sprintf("%d/%d", i, r))}
				}
				_, moved = f.tryUpdate(s, store.UpdateOptions{}, updates...).(store.Updated)
			}
		}
	})
}

func concurrentWatch(f *fixture) {
	watchers := []*watcher[store.Event]{watch(f, f.a.WatchEvents(f.Context(), 0)), watch(f, f.b.WatchEvents(f.Context(), 0))}
	seen := make([][]store.Event, len(watchers))
	f.race(func(i int, s store.Session) {
		for r := range rounds {
			if _, err := s.AppendEvents(f.Context(), []store.EventBody{notice(fmt.Sprintf("%d/%d", i, r))}, nil); err != nil {
				f.Errorf("appending: %v", err)
			}
		}
	})
	for i, w := range watchers {
		seen[i] = w.next(writers * rounds)
		equal(f, "watched", f.events(f.a, 0), seen[i])
		w.rest()
	}
}

func concurrentAcquire(f *fixture) {
	for r := range rounds {
		name := ref.Name(fmt.Sprintf("refs/heads/%d", r))
		outcomes := make([]store.AcquireOutcome, writers)
		f.race(func(i int, s store.Session) {
			out, err := s.AcquireLease(f.Context(), name, ttl)
			if err != nil {
				f.Errorf("acquiring: %v", err)
			}
			outcomes[i] = out
		})
		holder, ok := f.lease(f.a, name)
		if !ok {
			f.Fatal("nobody has the lease")
		}
		granted := 0
		for _, out := range outcomes {
			switch out := out.(type) {
			case store.Acquired:
				granted++
				equal(f, "granted", holder, out.Lease)
			case store.Held:
				equal(f, "holder", holder, out.Holder)
			}
		}
		equal(f, "grants", 1, granted)
	}
}

func concurrentCreate(f *fixture) {
	outcomes := make([]store.CreateOutcome, writers)
	f.race(func(i int, _ store.Session) {
		out, err := []store.Store{f.storeA, f.storeB}[i%2].CreateSession(f.Context(), store.CreateOptions{
			ID: "contended", Reason: "r", Refs: []store.Update{{Name: "refs/creator", To: id(fmt.Sprint(i))}},
		})
		if err != nil {
			f.Errorf("creating: %v", err)
		}
		outcomes[i] = out
	})
	created := 0
	for i, out := range outcomes {
		if done, ok := out.(store.SessionCreated); ok {
			created++
			equal(f, "creator", id(fmt.Sprint(i)), f.read(done.Session, "refs/creator"))
		}
	}
	equal(f, "creations", 1, created)
	equal(f, "events", 1, len(f.events(f.openSession(f.storeB, "contended"), 0)))
}

func concurrentPuts(f *fixture) {
	objs := f.commits(rounds)
	f.race(func(_ int, s store.Session) {
		if err := s.PutObjects(f.Context(), objs); err != nil {
			f.Errorf("putting: %v", err)
		}
	})
	equal(f, "stored", rounds, len(got(f.a.ListObjects(f.Context()))(f)))
	equal(f, "chain", rounds, len(got(f.b.Chain(f.Context(), objs[rounds-1].OID, object.OID{}, 100))(f)))
}
