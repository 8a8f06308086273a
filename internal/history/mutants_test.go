package history_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/history"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A broken is what is wrong with a store: each function that is set stands in for the call.
type broken struct {
	update  func(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error)
	read    func(ctx context.Context, s store.Session, names []ref.Name) ([]object.OID, error)
	acquire func(ctx context.Context, s store.Session, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error)
	renew   func(ctx context.Context, s store.Session, l store.Lease, ttl store.Duration) (store.Lease, bool, error)
	release func(ctx context.Context, s store.Session, l store.Lease) (bool, error)
	append  func(ctx context.Context, s store.Session, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error)
	events  func(ctx context.Context, s store.Session, after store.Seq, limit int) ([]store.Event, error)
}

// A mutant is a session of a broken store.
type mutant struct {
	store.Session
	broken
}

func (m mutant) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	if m.update != nil {
		return m.update(ctx, m.Session, updates, opts)
	}
	return m.Session.UpdateRefs(ctx, updates, opts)
}

func (m mutant) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	if m.read != nil {
		return m.read(ctx, m.Session, names)
	}
	return m.Session.ReadRefs(ctx, names...)
}

func (m mutant) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	if m.acquire != nil {
		return m.acquire(ctx, m.Session, name, ttl)
	}
	return m.Session.AcquireLease(ctx, name, ttl)
}

func (m mutant) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	if m.renew != nil {
		return m.renew(ctx, m.Session, l, ttl)
	}
	return m.Session.RenewLease(ctx, l, ttl)
}

func (m mutant) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	if m.release != nil {
		return m.release(ctx, m.Session, l)
	}
	return m.Session.ReleaseLease(ctx, l)
}

func (m mutant) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	if m.append != nil {
		return m.append(ctx, m.Session, bodies, lease)
	}
	return m.Session.AppendEvents(ctx, bodies, lease)
}

func (m mutant) ReadEvents(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	if m.events != nil {
		return m.events(ctx, m.Session, after, limit)
	}
	return m.Session.ReadEvents(ctx, after, limit)
}

// A flaw makes a broken store. Its functions are called one at a time, since the stage plays the clients so.
type flaw struct {
	make func() broken
	// unseen is why the search for an order accepts it.
	unseen string
}

const noStream = "it does not look at the stream or its numbers"

func flaws() map[string]flaw {
	return map[string]flaw{
		"the lease of an update is not checked": {make: func() broken {
			return broken{update: func(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
				out, err := s.UpdateRefs(ctx, updates, opts)
				if _, fenced := out.(store.Fenced); fenced {
					opts.Lease, opts.Renew, opts.Release = nil, 0, false
					return s.UpdateRefs(ctx, updates, opts)
				}
				return out, err
			}}
		}},
		"the lease of an append is not checked": {make: func() broken {
			return broken{append: func(ctx context.Context, s store.Session, bodies []store.EventBody, _ *store.Lease) (store.AppendOutcome, error) {
				return s.AppendEvents(ctx, bodies, nil)
			}}
		}},
		"a conflict wins over a lost lease": {make: func() broken {
			return broken{update: func(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
				for _, u := range updates {
					now, err := s.ReadRefs(ctx, u.Name)
					if err != nil {
						return nil, err
					}
					if now[0] != u.From {
						return store.UpdateConflict{Name: u.Name, Actual: now[0]}, nil
					}
				}
				return s.UpdateRefs(ctx, updates, opts)
			}}
		}},
		"only the first ref is compared": {make: func() broken { return broken{update: compareFirst} }},
		"refs move one by one":           {make: func() broken { return broken{update: oneByOne} }},
		"some writes are lost":           {make: loseWrites},
		"reads are served from a cache":  {make: cacheReads},
		"a read is of two instants":      {make: tearReads},
		"a conflict names the wrong oid": {make: func() broken {
			return broken{update: func(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
				out, err := s.UpdateRefs(ctx, updates, opts)
				if c, ok := out.(store.UpdateConflict); ok {
					c.Actual = object.Hash([]byte("wrong"))
					return c, nil
				}
				return out, err
			}}
		}},
		"a held lease is granted again": {make: func() broken {
			return broken{acquire: func(ctx context.Context, s store.Session, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
				out, err := s.AcquireLease(ctx, name, ttl)
				if h, ok := out.(store.Held); ok {
					if _, err := s.ReleaseLease(ctx, h.Holder); err != nil {
						return nil, err
					}
					return s.AcquireLease(ctx, name, ttl)
				}
				return out, err
			}}
		}},
		"a released lease still holds": {make: func() broken {
			return broken{release: func(context.Context, store.Session, store.Lease) (bool, error) { return true, nil }}
		}},
		"a renewal is forgotten": {make: func() broken {
			return broken{renew: func(_ context.Context, _ store.Session, l store.Lease, _ store.Duration) (store.Lease, bool, error) {
				return l, true, nil
			}}
		}},
		"a takeover is not told": {make: func() broken {
			return broken{acquire: func(ctx context.Context, s store.Session, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
				out, err := s.AcquireLease(ctx, name, ttl)
				if a, ok := out.(store.Acquired); ok {
					a.Takeover = false
					return a, nil
				}
				return out, err
			}}
		}},
		"appends are made twice": {unseen: noStream, make: func() broken {
			return broken{append: func(ctx context.Context, s store.Session, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
				if out, err := s.AppendEvents(ctx, bodies, lease); err != nil {
					return out, err
				}
				return s.AppendEvents(ctx, bodies, lease)
			}}
		}},
		"an answer has a number that was given before": {unseen: noStream, make: func() broken {
			return broken{append: func(ctx context.Context, s store.Session, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
				out, err := s.AppendEvents(ctx, bodies, lease)
				if a, ok := out.(store.Appended); ok {
					return store.Appended{Seq: a.Seq - 1}, nil
				}
				return out, err
			}}
		}},
		"two events have one number": {unseen: noStream, make: func() broken {
			return broken{events: func(ctx context.Context, s store.Session, after store.Seq, limit int) ([]store.Event, error) {
				page, err := s.ReadEvents(ctx, after, limit)
				if len(page) > 5 {
					page[4].Seq = page[3].Seq
				}
				return page, err
			}}
		}},
		"an event is missing": {unseen: noStream, make: func() broken {
			return broken{events: func(ctx context.Context, s store.Session, after store.Seq, limit int) ([]store.Event, error) {
				page, err := s.ReadEvents(ctx, after, limit)
				if len(page) > 5 {
					page = slices.Delete(page, 3, 4)
				}
				return page, err
			}}
		}},
	}
}

func compareFirst(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	updates = slices.Clone(updates)
	for i := 1; i < len(updates); i++ {
		now, err := s.ReadRefs(ctx, updates[i].Name)
		if err != nil {
			return nil, err
		}
		if updates[i].From == updates[i].To {
			updates[i].To = now[0]
		}
		updates[i].From = now[0]
	}
	return s.UpdateRefs(ctx, updates, opts)
}

func oneByOne(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (out store.UpdateOutcome, err error) {
	last := len(updates) - 1
	for i := range updates {
		o := opts
		if i < last {
			o.Renew, o.Release, o.Events = 0, false, nil
		}
		out, err = s.UpdateRefs(ctx, updates[i:i+1], o)
		if _, ok := out.(store.Updated); err != nil || !ok {
			break
		}
	}
	return out, err
}

func loseWrites() broken {
	n := 0
	return broken{update: func(ctx context.Context, s store.Session, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
		if n++; n%5 != 0 {
			return s.UpdateRefs(ctx, updates, opts)
		}
		seq, err := s.LastSeq(ctx)
		return store.Updated{Seq: seq + 1}, err
	}}
}

// cacheReads remembers where it saw a ref first, and looks again only every tenth time.
func cacheReads() broken {
	cache := map[ref.Name]object.OID{}
	n := 0
	return broken{read: func(ctx context.Context, s store.Session, names []ref.Name) ([]object.OID, error) {
		oids, err := s.ReadRefs(ctx, names...)
		if n++; n%10 == 0 || err != nil {
			clear(cache)
		}
		for i, oid := range oids {
			if old, ok := cache[names[i]]; ok {
				oids[i] = old
			} else {
				cache[names[i]] = oid
			}
		}
		return oids, err
	}}
}

// tearReads takes the first ref as it was when that was read last, by anybody, and the others as they are.
func tearReads() broken {
	var mu sync.Mutex
	before := map[ref.Name]object.OID{}
	return broken{read: func(ctx context.Context, s store.Session, names []ref.Name) ([]object.OID, error) {
		oids, err := s.ReadRefs(ctx, names...)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		old, ok := before[names[0]]
		before[names[0]] = oids[0]
		if ok && len(oids) > 1 {
			oids[0] = old
		}
		return oids, nil
	}}
}

// TestBrokenStoresAreRejected proves that the checkers see: each history of a store with one flaw is rejected by the witness, and, where the
// flaw shows in answers, by the search for an order too. The same histories without the flaw are accepted by both.
func TestBrokenStoresAreRejected(t *testing.T) {
	t.Parallel()
	const seeds = 6
	var mu sync.Mutex
	witnessed, searched := 0, 0
	t.Run("flaws", func(t *testing.T) {
		for name, f := range flaws() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(seeds) {
					b := f.make()
					p := play(t, 1000+seed, 100, 0.02, func(s store.Session) store.Session { return mutant{s, b} })
					_, byWitness := history.Witness(p.ops, p.stream, 0)
					bySearch := history.Linearizable(p.ops, 0, timeout)
					mu.Lock()
					if byWitness != nil {
						witnessed++
					}
					if bySearch != nil {
						searched++
					}
					mu.Unlock()
					if byWitness == nil {
						t.Errorf("seed %d: the witness accepts it", seed)
					}
					if (bySearch == nil) != (f.unseen != "") {
						t.Errorf("seed %d: the search says %v", seed, bySearch)
					}
					if seed == 0 {
						t.Logf("witness: %.300v; search: %v", byWitness, bySearch)
					}
				}
			})
		}
	})
	t.Logf("of %d histories of %d broken stores the witness rejects %d, the search %d", seeds*len(flaws()), len(flaws()), witnessed, searched)
	for seed := range uint64(seeds) {
		p := play(t, 1000+seed, 100, 0.02, nil)
		if _, err := history.Witness(p.ops, p.stream, 0); err != nil {
			t.Errorf("seed %d without a flaw: %v", seed, err)
		}
		if err := history.Linearizable(p.ops, 0, timeout); err != nil {
			t.Errorf("seed %d without a flaw: %v", seed, err)
		}
	}
}
