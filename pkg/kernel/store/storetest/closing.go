package storetest

import (
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func closingTests() []test {
	return []test{
		{"C43 a closed session refuses new work", closedSession},
		{"C43 closing a session ends its pending and unstarted watches", closedSessionWatches},
		{"C43 a closed store refuses new work, and so do its sessions", closedStore},
		{"C43 closing a store ends the watches on it", closedStoreWatches},
	}
}

// refusesWork expects ErrClosed from every method of s.
func (f *fixture) refusesWork(what string, s store.Session, lease store.Lease) {
	f.Helper()
	e := f.blob("closed")
	for name, call := range map[string]func() error{
		"Info":          func() error { _, err := s.Info(f.Context()); return err },
		"GetObject":     func() error { _, _, err := s.GetObject(f.Context(), e.OID); return err },
		"GetObjects":    func() error { _, err := s.GetObjects(f.Context(), []object.OID{e.OID}); return err },
		"Chain":         func() error { _, err := s.Chain(f.Context(), e.OID, object.OID{}, 5); return err },
		"ListObjects":   func() error { _, err := s.ListObjects(f.Context()); return err },
		"PutObjects":    func() error { return s.PutObjects(f.Context(), []object.Encoded{e}) },
		"DeleteObjects": func() error { _, err := s.DeleteObjects(f.Context(), []object.OID{e.OID}, never); return err },
		"ReadRefs":      func() error { _, err := s.ReadRefs(f.Context(), "refs/x"); return err },
		"ListRefs":      func() error { _, err := s.ListRefs(f.Context(), ""); return err },
		"UpdateRefs": func() error {
			_, err := s.UpdateRefs(f.Context(), []store.Update{{Name: "refs/x", To: e.OID}}, store.UpdateOptions{Reason: "r"})
			return err
		},
		"ReadLease":    func() error { _, _, err := s.ReadLease(f.Context(), leaseName); return err },
		"AcquireLease": func() error { _, err := s.AcquireLease(f.Context(), "refs/heads/free", ttl); return err },
		"RenewLease":   func() error { _, _, err := s.RenewLease(f.Context(), lease, ttl); return err },
		"ReleaseLease": func() error { _, err := s.ReleaseLease(f.Context(), lease); return err },
		"ReadEvents":   func() error { _, err := s.ReadEvents(f.Context(), 0, 0); return err },
		"LastSeq":      func() error { _, err := s.LastSeq(f.Context()); return err },
		"Floor":        func() error { _, err := s.Floor(f.Context()); return err },
		"WatchEvents":  func() error { return watch(f, s.WatchEvents(f.Context(), 0)).ended() },
		"AppendEvents": func() error { _, err := s.AppendEvents(f.Context(), []store.EventBody{notice("n")}, nil); return err },
		"TrimEvents":   func() error { _, err := s.TrimEvents(f.Context(), 1); return err },
	} {
		f.refused(fmt.Sprintf("%s: %s", what, name), call(), store.ErrClosed)
	}
}

func closedSession(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	sibling := f.openSession(f.storeA, "s")
	for range 2 {
		f.must(f.a.Close())
	}
	f.unchanged("work on a closed session", func() { f.refusesWork("a closed session", f.a, lease) })
	equal(f, "its id", store.SessionID("s"), f.a.ID())
	f.set(sibling, "refs/x", object.OID{}, id("1"))
	equal(f, "another handle of the session", id("1"), f.read(f.b, "refs/x"))
	equal(f, "the lease of the closed handle", lease, f.held(f.b, leaseName))
}

func closedSessionWatches(f *fixture) {
	f.numbered(f.a, 2)
	pending, unstarted := watch(f, f.a.WatchEvents(f.Context(), 0)), f.a.WatchEvents(f.Context(), 0)
	other := watch(f, f.b.WatchEvents(f.Context(), 0))
	pending.next(2)
	other.next(2)
	pending.rest()
	f.must(f.a.Close())
	f.refused("a pending watch", pending.ended(), store.ErrClosed)
	f.refused("an unstarted watch", watch(f, unstarted).ended(), store.ErrClosed)
	f.numbered(f.b, 1)
	equal(f, "the watch of another handle", span(3, 3), seqs(other.next(1)))
}

func closedStore(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	for range 2 {
		f.must(f.storeA.Close())
	}
	f.unchanged("work on a closed store", func() {
		f.refusesWork("a session of a closed store", f.a, lease)
		_, err := f.storeA.CreateSession(f.Context(), store.CreateOptions{ID: "x"})
		f.refused("CreateSession", err, store.ErrClosed)
		_, err = f.storeA.OpenSession(f.Context(), "s")
		f.refused("OpenSession", err, store.ErrClosed)
		_, err = f.storeA.ListSessions(f.Context(), store.ListOptions{})
		f.refused("ListSessions", err, store.ErrClosed)
		f.refused("DeleteSession", f.storeA.DeleteSession(f.Context(), "s"), store.ErrClosed)
		f.refused("WatchSessions", watch(f, f.storeA.WatchSessions(f.Context())).ended(), store.ErrClosed)
	})
	f.must(f.a.Close())
	equal(f, "sessions through the other store", []store.SessionID{"s"}, f.ids(f.storeB))
}

func closedStoreWatches(f *fixture) {
	f.numbered(f.a, 1)
	events, sessions := watch(f, f.a.WatchEvents(f.Context(), 0)), watch(f, f.storeA.WatchSessions(f.Context()))
	unstarted := f.storeA.WatchSessions(f.Context())
	other := watch(f, f.storeB.WatchSessions(f.Context()))
	events.next(1)
	sessions.next(1)
	other.next(1)
	events.rest()
	sessions.rest()
	f.must(f.storeA.Close())
	f.refused("a watch of events", events.ended(), store.ErrClosed)
	f.refused("a watch of sessions", sessions.ended(), store.ErrClosed)
	f.refused("an unstarted watch of sessions", watch(f, unstarted).ended(), store.ErrClosed)
	f.create(f.storeB, store.CreateOptions{ID: "t"})
	equal(f, "the watch of the other store", []store.SessionID{"t"}, other.next(1))
}
