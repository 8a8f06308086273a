package sqlitestore_test

import (
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestWake_OnlySessionsThatMoved(t *testing.T) {
	path := newPath(t)
	a, b := open(t, path, nil), open(t, path, nil)
	create(t, a, "moves")
	create(t, a, "stays")
	moved, still := sqlitestore.Subscribe(reopen(t, b, "moves")), sqlitestore.Subscribe(reopen(t, b, "stays"))
	set(t.Context(), t, reopen(t, a, "moves"), "refs/a", object.OID{}, oid("a"))
	must(t, b.Look())
	if !isClosed(moved) {
		t.Error("the session that has moved is not woken")
	}
	if isClosed(still) {
		t.Error("a session that has not moved is woken")
	}
}

// Where the operating system does not notify, watches still see the commits of others.
func TestWake_PollsWithoutNotification(t *testing.T) {
	path := newPath(t)
	a, b := open(t, path, nil), open(t, path, nil)
	b.Unwatchable()
	writer := create(t, a, "s")
	watcher := reopen(t, b, "s")
	seen := make(chan store.Seq)
	go func() {
		for e, err := range watcher.WatchEvents(t.Context(), 0) {
			if err != nil {
				return
			}
			seen <- e.Seq
		}
	}()
	var from object.OID
	for want := store.Seq(1); want <= 3; want++ {
		to := oid(string(rune('a' + want)))
		set(t.Context(), t, writer, "refs/a", from, to)
		from = to
		if got := <-seen; got != want {
			t.Fatalf("saw event %d, want %d", got, want)
		}
	}
}

func TestWake_StoreOfTheSameProcess(t *testing.T) {
	path := newPath(t)
	a, b := open(t, path, nil), open(t, path, nil)
	b.NotifiedOnly()
	writer := create(t, a, "s")
	watcher := reopen(t, b, "s")
	seen := make(chan store.Seq)
	go func() {
		for e, err := range watcher.WatchEvents(t.Context(), 0) {
			if err != nil {
				return
			}
			seen <- e.Seq
		}
	}()
	var from object.OID
	for want := store.Seq(1); want <= 20; want++ {
		to := oid(string(rune('a' + want)))
		set(t.Context(), t, writer, "refs/a", from, to)
		from = to
		if got := <-seen; got != want {
			t.Fatalf("saw event %d, want %d", got, want)
		}
	}
}
