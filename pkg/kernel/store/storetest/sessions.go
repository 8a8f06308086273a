package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func sessionTests(caps Capabilities) []test {
	tests := []test{
		{"C38 a session is created, listed, opened elsewhere and deleted", sessionLife},
		{"C39 a deleted id that is created again starts empty", sessionAgain},
		{"C40 the first refs and objects come with the creation", sessionFirstRefs},
		{"a taken id changes nothing", sessionTaken},
		{"an invalid creation is refused and makes nothing", sessionInvalid},
		{"the list has the newest first and comes by pages", sessionPages},
		{"an owner's list has the newest first and comes by pages", sessionOwners},
		{"C42 two simultaneous opens of new data both work", sessionSimultaneousOpens},
		{"calls on a deleted session say that it is unknown", sessionDeletedCalls},
		{"a watch has every session once, old and new", sessionWatch},
		{"the end of its context ends a watch without an error", sessionWatchAbort},
	}
	if caps.DurableAcrossReopen {
		tests = append(tests, test{"C38 everything is there after the last store closed", sessionReopen})
	}
	return tests
}

// ids are the ids of a list, in its order.
func (f *fixture) ids(s store.Store) []store.SessionID {
	f.Helper()
	var ids []store.SessionID
	for _, info := range got(s.ListSessions(f.Context(), store.ListOptions{}))(f) {
		ids = append(ids, info.ID)
	}
	return ids
}

func sessionLife(f *fixture) {
	f.clock.Advance(time.Second)
	at := f.clock.Millis()
	s := f.create(f.storeA, store.CreateOptions{ID: "session_1-A"})
	equal(f, "id", store.SessionID("session_1-A"), s.ID())
	f.clock.Advance(time.Second)
	f.numbered(s, 3)
	for name, st := range map[string]store.Store{"the same store": f.storeA, "the other store": f.storeB} {
		want := store.SessionInfo{ID: "session_1-A", CreatedAt: at}
		equal(f, name, []store.SessionInfo{want}, got(st.ListSessions(f.Context(), store.ListOptions{Limit: 1}))(f))
		equal(f, name+": info", want, got(f.openSession(st, "session_1-A").Info(f.Context()))(f))
		opened := f.openSession(st, "session_1-A")
		equal(f, name+": id", store.SessionID("session_1-A"), opened.ID())
		equal(f, name+": last sequence number", store.Seq(3), f.last(opened))
	}
	for range 2 { // deleting is idempotent
		f.must(f.storeB.DeleteSession(f.Context(), "session_1-A"))
	}
	f.must(f.storeB.DeleteSession(f.Context(), "never"))
	for name, st := range map[string]store.Store{"the same store": f.storeA, "the other store": f.storeB} {
		for _, id := range []store.SessionID{"session_1-A", "never"} {
			_, err := st.OpenSession(f.Context(), id)
			f.refused(name+" opens "+string(id), err, store.ErrUnknownSession)
		}
		equal(f, name, []store.SessionID{"s"}, f.ids(st))
	}
}

func sessionAgain(f *fixture) {
	f.put(f.a, f.blob("x"))
	f.numbered(f.a, 5)
	f.set(f.a, "refs/x", object.OID{}, id("1"))
	f.acquire(f.a, leaseName, ttl)
	got(f.a.TrimEvents(f.Context(), 2))(f)
	f.must(f.storeA.DeleteSession(f.Context(), "s"))
	s := f.create(f.storeB, store.CreateOptions{ID: "s"})
	for name, s := range map[string]store.Session{"the creator": s, "another": f.openSession(f.openStore(), "s")} {
		if f.has(s, f.blob("x").OID) || len(got(s.ListObjects(f.Context()))(f)) > 0 {
			f.Errorf("%s: there are objects", name)
		}
		if refs := got(s.ListRefs(f.Context(), ""))(f); len(refs) > 0 {
			f.Errorf("%s: there are refs: %v", name, refs)
		}
		if last, floor := f.last(s), got(s.Floor(f.Context()))(f); last != 0 || floor != 0 || len(f.events(s, 0)) > 0 {
			f.Errorf("%s: there are events up to %d from %d", name, last, floor)
		}
		if l, ok := f.lease(s, leaseName); ok {
			f.Errorf("%s: there is the lease %v", name, l)
		}
	}
	f.acquire(s, leaseName, ttl)
	equal(f, "first sequence number", store.Seq(1), f.append(s, notice("1")))
}

func sessionFirstRefs(f *fixture) {
	actor := &object.Actor{ClientID: "c"}
	e := f.blob("same")
	s := f.create(f.storeA, store.CreateOptions{
		ID: "born", Reason: "fact", Actor: actor, Objects: []object.Encoded{e, e},
		Refs: []store.Update{{Name: "refs/facts/b", To: e.OID}, store.Absent("refs/none"), {Name: "refs/facts/a", To: e.OID}},
	})
	for name, s := range map[string]store.Session{"the creator": s, "another": f.openSession(f.storeB, "born")} {
		equal(f, name, []store.EventBody{
			store.RefEvent{Name: "refs/facts/b", To: e.OID, Reason: "fact", Actor: actor},
			store.RefEvent{Name: "refs/facts/a", To: e.OID, Reason: "fact", Actor: actor},
		}, f.bodies(s, 0))
		equal(f, name, []store.Ref{{Name: "refs/facts/a", OID: e.OID}, {Name: "refs/facts/b", OID: e.OID}},
			got(s.ListRefs(f.Context(), ""))(f))
		equal(f, name+": objects", 1, len(got(s.ListObjects(f.Context()))(f)))
		if !f.has(s, e.OID) {
			f.Errorf("%s: the object is not there", name)
		}
	}
	loose := f.create(f.storeA, store.CreateOptions{ID: "loose", Objects: []object.Encoded{e}})
	if !f.has(loose, e.OID) || f.last(loose) != 0 {
		f.Error("an object without a ref did not come with the creation")
	}
}

func sessionTaken(f *fixture) {
	f.fill("refs/x")
	f.unchanged("creating a taken id", func() {
		for _, s := range []store.Store{f.storeA, f.storeB} {
			f.clock.Advance(time.Second)
			out := got(s.CreateSession(f.Context(), store.CreateOptions{
				ID: "s", Reason: "r", Objects: []object.Encoded{f.blob("x")},
				Refs: []store.Update{{Name: "refs/y", To: id("1")}},
			}))(f)
			equal(f, "outcome", store.CreateOutcome(store.SessionExists{}), out)
		}
	})
}

func sessionInvalid(f *fixture) {
	good := store.Update{Name: "refs/y", To: id("1")}
	for name, opts := range map[string]store.CreateOptions{
		"an empty id":        {},
		"a path as id":       {ID: "../x"},
		"a long id":          {ID: store.SessionID(strings.Repeat("x", 129))},
		"a first ref moved":  {ID: "x", Reason: "r", Refs: []store.Update{good, {Name: "refs/z", From: id("1"), To: id("2")}}},
		"a bad name":         {ID: "x", Reason: "r", Refs: []store.Update{good, {Name: "refs//z", To: id("1")}}},
		"a repeated name":    {ID: "x", Reason: "r", Refs: []store.Update{good, good}},
		"refs and no reason": {ID: "x", Refs: []store.Update{good}},
		"a long owner":       {ID: "x", Owner: strings.Repeat("x", store.MaxOwner+1)},
		"a broken owner":     {ID: "x", Owner: "\xff"},
	} {
		out, err := f.storeA.CreateSession(f.Context(), opts)
		f.refused(name, err, store.ErrInvalid)
		if out != nil {
			f.Errorf("%s: got outcome %#v beside the error", name, out)
		}
	}
	equal(f, "sessions", []store.SessionID{"s"}, f.ids(f.storeB))
	f.create(f.storeA, store.CreateOptions{ID: store.SessionID(strings.Repeat("x", 128))})
}

func sessionPages(f *fixture) {
	var want []store.SessionInfo
	for i := range 10 {
		f.clock.Advance(time.Second)
		// The order is not that of the ids.
		info := store.SessionInfo{ID: store.SessionID(fmt.Sprintf("p%d", i*7%10)), CreatedAt: f.clock.Millis()}
		f.create([]store.Store{f.storeA, f.storeB}[i%2], store.CreateOptions{ID: info.ID})
		want = slices.Insert(want, 0, info) // the newest first
	}
	for _, st := range []store.Store{f.storeA, f.storeB} {
		equal(f, "the newest", want, got(st.ListSessions(f.Context(), store.ListOptions{Limit: 10}))(f))
		equal(f, "a page", want[3:6], got(st.ListSessions(f.Context(), store.ListOptions{Cursor: want[2].ID, Limit: 3}))(f))
		if last := got(st.ListSessions(f.Context(), store.ListOptions{Cursor: want[9].ID, Limit: -1}))(f); len(last) != 1 || last[0].ID != "s" {
			f.Errorf("the oldest are %v", last)
		}
		if rest := got(st.ListSessions(f.Context(), store.ListOptions{Cursor: "s"}))(f); len(rest) > 0 {
			f.Errorf("behind the oldest there are %v", rest)
		}
		_, err := st.ListSessions(f.Context(), store.ListOptions{Cursor: "never"})
		f.refused("a cursor that never was", err, store.ErrInvalid)
	}
	// Deleting what was listed moves nothing else.
	f.must(f.storeA.DeleteSession(f.Context(), want[1].ID))
	equal(f, "a page after a deletion", want[3:5], got(f.storeB.ListSessions(f.Context(), store.ListOptions{Cursor: want[2].ID, Limit: 2}))(f))
	rest, err := f.storeB.ListSessions(f.Context(), store.ListOptions{Cursor: want[1].ID, Limit: 2})
	if err != nil {
		f.refused("a cursor that is gone", err, store.ErrInvalid)
	} else {
		equal(f, "a page from a cursor that is gone", want[2:4], rest)
	}
}

// Owners whose names begin alike, or have what a key might be made of, do not see each other's.
func sessionOwners(f *fixture) {
	owners := []string{"a", "a#0", "ab", "A", "é %/?", strings.Repeat("#", store.MaxOwner)}
	want := map[string][]store.SessionInfo{}
	for i := range 4 * len(owners) {
		f.clock.Advance(time.Second)
		// The order is not that of the ids.
		owner := owners[i%len(owners)]
		info := store.SessionInfo{ID: store.SessionID(fmt.Sprintf("o%d", i*7%24)), Owner: owner, CreatedAt: f.clock.Millis()}
		s := f.create([]store.Store{f.storeA, f.storeB}[i%2], store.CreateOptions{ID: info.ID, Owner: owner})
		equal(f, "info of the creator", info, got(s.Info(f.Context()))(f))
		want[owner] = slices.Insert(want[owner], 0, info) // the newest first
	}
	want["nobody"] = nil
	for _, st := range []store.Store{f.storeA, f.storeB} {
		for owner, list := range want {
			equal(f, "all of "+owner, list, append([]store.SessionInfo(nil), got(st.ListSessions(f.Context(), store.ListOptions{Owner: owner}))(f)...))
			for i, info := range list {
				equal(f, "info", info, got(f.openSession(st, info.ID).Info(f.Context()))(f))
				page := got(st.ListSessions(f.Context(), store.ListOptions{Owner: owner, Cursor: info.ID, Limit: 2}))(f)
				equal(f, "a page", append([]store.SessionInfo(nil), list[i+1:min(i+3, len(list))]...), append([]store.SessionInfo(nil), page...))
			}
		}
		// A cursor is a place in time, whoever's it is.
		last := want[owners[1]][0].ID
		equal(f, "older than another's", want["a"], got(st.ListSessions(f.Context(), store.ListOptions{Owner: "a", Cursor: last}))(f))
		_, err := st.ListSessions(f.Context(), store.ListOptions{Owner: "a", Cursor: "never"})
		f.refused("a cursor that never was", err, store.ErrInvalid)
		equal(f, "everybody's", 4*len(owners)+1, len(f.ids(st)))
	}
	// A session that is deleted is off every list, and what follows under its id may be someone else's.
	gone := want["a"][1]
	f.must(f.storeA.DeleteSession(f.Context(), gone.ID))
	f.clock.Advance(time.Second)
	f.create(f.storeB, store.CreateOptions{ID: gone.ID, Owner: "ab"})
	next := store.SessionInfo{ID: gone.ID, Owner: "ab", CreatedAt: f.clock.Millis()}
	for _, st := range []store.Store{f.storeA, f.storeB} {
		equal(f, "after a deletion", slices.Delete(slices.Clone(want["a"]), 1, 2), got(st.ListSessions(f.Context(), store.ListOptions{Owner: "a"}))(f))
		equal(f, "the next of that id", slices.Insert(slices.Clone(want["ab"]), 0, next),
			got(st.ListSessions(f.Context(), store.ListOptions{Owner: "ab"}))(f))
	}
}

func sessionSimultaneousOpens(f *fixture) {
	backend := f.newBackend()
	var wg sync.WaitGroup
	stores := make([]store.Store, 2)
	for i := range stores {
		wg.Go(func() {
			s := backend.Open(f)
			out, err := s.CreateSession(f.Context(), store.CreateOptions{ID: store.SessionID(fmt.Sprint("s", i))})
			if _, ok := out.(store.SessionCreated); err != nil || !ok {
				f.Errorf("creating session %d: %#v, %v", i, out, err)
			}
			stores[i] = s
		})
	}
	wg.Wait()
	for _, s := range stores {
		if s == nil {
			f.Fatal("a store could not be opened")
		}
		equal(f, "sessions", 2, len(f.ids(s)))
		f.must(s.Close())
	}
}

func sessionDeletedCalls(f *fixture) {
	f.must(f.storeB.DeleteSession(f.Context(), "s"))
	for name, s := range map[string]store.Session{"the deleting handle": f.b, "the other handle": f.a} {
		_, err := s.UpdateRefs(f.Context(), []store.Update{{Name: "refs/x", To: id("1")}}, store.UpdateOptions{Reason: "r"})
		f.refused(name+": UpdateRefs", err, store.ErrUnknownSession)
		_, err = s.UpdateRefs(f.Context(), []store.Update{store.Absent("refs/x")}, store.UpdateOptions{Reason: "r"})
		f.refused(name+": an assertion", err, store.ErrUnknownSession)
		_, err = s.AppendEvents(f.Context(), []store.EventBody{notice("n")}, nil)
		f.refused(name+": AppendEvents", err, store.ErrUnknownSession)
		_, err = s.ReadEvents(f.Context(), 0, 0)
		f.refused(name+": ReadEvents", err, store.ErrUnknownSession)
		_, err = s.Info(f.Context())
		f.refused(name+": Info", err, store.ErrUnknownSession)
		_, err = s.LastSeq(f.Context())
		f.refused(name+": LastSeq", err, store.ErrUnknownSession)
	}
	s := f.create(f.storeA, store.CreateOptions{ID: "s"})
	equal(f, "last sequence number of the next", store.Seq(0), f.last(s))
	if refs := got(s.ListRefs(f.Context(), ""))(f); len(refs) > 0 {
		f.Errorf("refs of the next: %v", refs)
	}
}

func sessionWatch(f *fixture) {
	f.clock.Advance(time.Second)
	f.create(f.storeA, store.CreateOptions{ID: "old"})
	wa, wb := watch(f, f.storeA.WatchSessions(f.Context())), watch(f, f.storeB.WatchSessions(f.Context()))
	for name, w := range map[string]*watcher[store.SessionID]{"existing": wa, "existing, elsewhere": wb} {
		equal(f, name, []store.SessionID{"old", "s"}, slices.Sorted(slices.Values(w.next(2))))
	}
	for i := range 6 {
		f.clock.Advance(time.Second)
		sid := store.SessionID(fmt.Sprintf("new-%d", 6-i))
		f.create([]store.Store{f.storeA, f.storeB}[i%2], store.CreateOptions{ID: sid})
		equal(f, "new", []store.SessionID{sid}, wa.next(1))
		equal(f, "new, elsewhere", []store.SessionID{sid}, wb.next(1))
	}
}

func sessionWatchAbort(f *fixture) {
	ctx, cancel := context.WithCancelCause(f.Context())
	w := watch(f, f.storeA.WatchSessions(ctx))
	w.next(1)
	w.rest()
	cancel(errors.New("enough"))
	if err := w.ended(); err != nil {
		f.Errorf("the watch ended with %v", err)
	}
}

func sessionReopen(f *fixture) {
	e := f.blob("x")
	f.updated(f.a, store.UpdateOptions{Objects: []object.Encoded{e}, Events: []store.EventBody{notice("n")}},
		store.Update{Name: "refs/x", To: e.OID})
	f.numbered(f.a, 4)
	got(f.a.TrimEvents(f.Context(), 1))(f)
	lease := f.acquire(f.a, leaseName, ttl)
	events := f.events(f.b, 1)
	f.must(f.storeA.Close())
	f.must(f.storeB.Close())

	s := f.openSession(f.openStore(), "s")
	if !f.has(s, e.OID) {
		f.Error("the object is gone")
	}
	equal(f, "ref", e.OID, f.read(s, "refs/x"))
	equal(f, "events", events, f.events(s, 1))
	equal(f, "floor", store.Seq(1), got(s.Floor(f.Context()))(f))
	if f.caps.AbandonsLeases {
		if next := f.acquired(s, leaseName, ttl); next.Lease.Fence <= lease.Fence || !next.Takeover {
			f.Errorf("the abandoned lease %v is granted anew as %v, want a takeover with a higher fence", lease, next)
		}
		return
	}
	equal(f, "lease", lease, f.held(s, leaseName))
	f.publishes("the holder after a restart", s, lease)
}
