package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func watchTests() []test {
	return []test{
		{"C35 two watchers replay and then see each later event once, in one order", watchReplayAndLive},
		{"a watch from a cursor beyond the end waits for what comes after it", watchBeyondEnd},
		{"C36 the end of its context ends a watch without an error", watchAbort},
		{"a watch may be left at any event", watchLeave},
		{"C37 a watch from below the floor is an expired cursor", watchBelowFloor},
		{"B83 the cursor boundary of a watch is exact at the floor", watchBoundary},
		{"B83 a slow watcher that a trim overtakes gets no gap", watchOvertaken},
		{"B83 a trim beside a deletion drops no event above the floor", watchTrimBesideDelete},
		{"a trim up to its cursor does not end a watch", watchTrimToCursor},
		{"deleting the session ends its watches", watchDeleted},
	}
}

func seqs(events []store.Event) []store.Seq {
	list := make([]store.Seq, len(events))
	for i, e := range events {
		list[i] = e.Seq
	}
	return list
}

// span is the sequence numbers from first to last.
func span(first, last store.Seq) []store.Seq {
	list := []store.Seq{}
	for s := first; s <= last; s++ {
		list = append(list, s)
	}
	return list
}

func watchReplayAndLive(f *fixture) {
	f.numbered(f.a, store.DefaultPage+10)
	wa := watch(f, f.a.WatchEvents(f.Context(), 0))
	wb := watch(f, f.b.WatchEvents(f.Context(), 0))
	seen := store.DefaultPage + 10
	all := append([]store.Event(nil), wa.next(seen)...)
	equal(f, "replay", all, wb.next(seen))
	for i := range 20 {
		s := []store.Session{f.a, f.b}[i%2]
		f.append(s, notice(fmt.Sprint("live ", i)))
		f.set(s, "refs/x", object.OID{}, id("1"))
		f.set(s, "refs/x", id("1"), object.OID{})
		live := wa.next(3)
		equal(f, "live", live, wb.next(3))
		all = append(all, live...)
	}
	wa.rest()
	wb.rest()
	equal(f, "all", f.events(f.a, 0), all)
}

func watchBeyondEnd(f *fixture) {
	w := watch(f, f.b.WatchEvents(f.Context(), 5))
	for range 7 {
		f.numbered(f.a, 1)
	}
	equal(f, "events", span(6, 7), seqs(w.next(2)))
}

func watchAbort(f *fixture) {
	f.numbered(f.a, 3)
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	waiting := watch(f, f.a.WatchEvents(ctx, 0))
	other := watch(f, f.b.WatchEvents(ctx, 0))
	waiting.next(3)
	waiting.rest()
	other.next(1) // still has some to go
	cancel()
	for name, w := range map[string]*watcher[store.Event]{"waiting": waiting, "reading": other} {
		if err := w.ended(); err != nil {
			f.Errorf("a %s watch ended with %v", name, err)
		}
	}
	for _, err := range f.a.WatchEvents(ctx, 0) {
		f.Errorf("a watch whose context is over gave something, with error %v", err)
	}
	caused, cancelCause := context.WithCancelCause(f.Context())
	w := watch(f, f.b.WatchEvents(caused, 3))
	w.rest()
	cancelCause(errors.New("enough"))
	if err := w.ended(); err != nil {
		f.Errorf("a watch whose context has a cause ended with %v", err)
	}
}

func watchLeave(f *fixture) {
	f.numbered(f.a, 3)
	for leave := range 3 {
		n := 0
		for _, err := range f.b.WatchEvents(f.Context(), 0) {
			f.must(err)
			if n == leave {
				break
			}
			n++
		}
		equal(f, "events before leaving", leave, n)
	}
}

func watchBelowFloor(f *fixture) {
	f.numbered(f.a, 5)
	got(f.a.TrimEvents(f.Context(), 3))(f)
	f.both(func(name string, s store.Session) {
		f.expired(name, watch(f, s.WatchEvents(f.Context(), 0)).ended(), 0, 3)
	})
	f.expired("before everything", watch(f, f.a.WatchEvents(f.Context(), -1)).ended(), -1, 3)
}

func watchBoundary(f *fixture) {
	const c = store.Seq(5)
	f.numbered(f.a, 10)
	got(f.a.TrimEvents(f.Context(), c))(f)
	f.both(func(name string, s store.Session) {
		f.expired(name, watch(f, s.WatchEvents(f.Context(), c-1)).ended(), c-1, c)
		at, behind := watch(f, s.WatchEvents(f.Context(), c)), watch(f, s.WatchEvents(f.Context(), c+1))
		last := f.last(s)
		equal(f, name+": at the floor", span(c+1, last), seqs(at.next(int(last-c))))
		equal(f, name+": behind the floor", span(c+2, last), seqs(behind.next(int(last-c-1))))
		f.numbered(f.a, 1)
		equal(f, name+": at the floor, live", span(last+1, last+1), seqs(at.next(1)))
		equal(f, name+": behind the floor, live", span(last+1, last+1), seqs(behind.next(1)))
	})
}

func watchOvertaken(f *fixture) {
	const n = 3 * store.DefaultPage
	f.numbered(f.a, n)
	next, stop := iter.Pull2(f.b.WatchEvents(f.Context(), 0))
	defer stop()
	e, err, _ := next()
	f.must(err)
	equal(f, "first event", store.Seq(1), e.Seq)
	// The watcher is stalled with a page in its hands. It may deliver that page, but must not then jump to the floor.
	got(f.a.TrimEvents(f.Context(), n-10))(f)
	for seq := store.Seq(2); ; seq++ {
		e, err, ok := next()
		switch {
		case !ok:
			f.Fatalf("the watch ended quietly before event %d", seq)
		case err != nil:
			f.expired("the overtaken watch", err, seq-1, n-10)
			return
		case e.Seq != seq:
			f.Fatalf("event %d follows %d", e.Seq, seq-1)
		case seq == n:
			return // the store had read ahead of the trim
		}
	}
}

func watchTrimBesideDelete(f *fixture) {
	f.set(f.a, "refs/x", object.OID{}, id("1"))
	w := watch(f, f.b.WatchEvents(f.Context(), 1))
	deleted := f.set(f.a, "refs/x", id("1"), object.OID{})
	got(f.a.TrimEvents(f.Context(), deleted-1))(f)
	f.set(f.a, "refs/x", object.OID{}, id("2"))
	equal(f, "a watch from before the trim", span(deleted, deleted+1), seqs(w.next(2)))
	fresh := watch(f, f.b.WatchEvents(f.Context(), deleted-1))
	equal(f, "a watch from the floor", span(deleted, deleted+1), seqs(fresh.next(2)))
}

func watchTrimToCursor(f *fixture) {
	f.numbered(f.a, 3)
	w := watch(f, f.b.WatchEvents(f.Context(), 0))
	w.next(3)
	w.rest()
	got(f.a.TrimEvents(f.Context(), 3))(f)
	f.numbered(f.a, 1)
	equal(f, "the event after the trim", span(4, 4), seqs(w.next(1)))
}

func watchDeleted(f *fixture) {
	f.numbered(f.a, 1)
	wa, wb := watch(f, f.a.WatchEvents(f.Context(), 0)), watch(f, f.b.WatchEvents(f.Context(), 0))
	wa.next(1)
	wb.next(1)
	wa.rest()
	wb.rest()
	f.must(f.storeB.DeleteSession(f.Context(), "s"))
	f.refused("the watch of the other handle", wa.ended(), store.ErrUnknownSession)
	f.refused("the watch of the deleting handle", wb.ended(), store.ErrUnknownSession)
	f.refused("a later watch", watch(f, f.a.WatchEvents(f.Context(), 0)).ended(), store.ErrUnknownSession)
}
