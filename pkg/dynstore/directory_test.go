package dynstore_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A page of a list is one request of the directory, whoever's list it is: of no session anything is read, however many there are.
func TestListSessions_readsTheDirectoryAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const many = 120
	for i := range many {
		r.clock.Advance(time.Millisecond)
		out, err := r.store.CreateSession(t.Context(), store.CreateOptions{
			ID: store.SessionID(fmt.Sprintf("many-%d", i)), Owner: fmt.Sprintf("owner-%d", i%3),
		})
		if _, ok := out.(store.SessionCreated); !ok || err != nil {
			t.Fatalf("CreateSession = %#v, %v", out, err)
		}
	}
	for _, test := range []struct {
		opts     store.ListOptions
		rows     int
		requests map[string]int
	}{
		{store.ListOptions{Limit: many}, many, map[string]int{"Query": 1}},
		{store.ListOptions{Owner: "owner-1"}, many / 3, map[string]int{"Query": 1}},
		{store.ListOptions{Owner: "owner-1", Limit: 5}, 5, map[string]int{"Query": 1}},
		{store.ListOptions{Owner: "owner-1", Cursor: "many-31", Limit: 100}, 10, map[string]int{"GetItem": 1, "Query": 1}},
		{store.ListOptions{Owner: "nobody"}, 0, map[string]int{"Query": 1}},
	} {
		r.transport.Reset()
		list, err := r.store.ListSessions(t.Context(), test.opts)
		if err != nil || len(list) != test.rows {
			t.Errorf("%+v: %d sessions, %v; want %d", test.opts, len(list), err, test.rows)
		}
		if got := r.transport.Counts().Requests; !maps.Equal(got, test.requests) {
			t.Errorf("%+v: %v, want %v", test.opts, got, test.requests)
		}
	}
}
