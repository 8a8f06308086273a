package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func eventTests() []test {
	return []test{
		{"C26 sequence numbers are 1, 2, 3 and the last is the newest", eventsContiguous},
		{"C27 read honours its cursor and its limit", eventsPages},
		{"every kind of event reads back as it was written", eventsReadBack},
		{"C28 trim raises the floor, and reading below it is an expired cursor", eventsTrim},
		{"C29 trim beyond the end stops at the newest event", eventsTrimBeyond},
		{"the floor never goes down", eventsFloorNeverDown},
		{"B83 the cursor boundary is exact at the floor", eventsBoundary},
		{"an invalid batch is refused and consumes no number", eventsInvalid},
		{"sessions do not share events", eventsPerSession},
	}
}

// numbered appends n notices, each with its sequence number as text.
func (f *fixture) numbered(s store.Session, n int) {
	f.Helper()
	last := f.last(s)
	bodies := make([]store.EventBody, n)
	for i := range bodies {
		bodies[i] = notice(fmt.Sprint(last + store.Seq(i) + 1))
	}
	f.append(s, bodies...)
}

// expired expects err to be an expired cursor that says where the floor is.
func (f *fixture) expired(what string, err error, after, floor store.Seq) {
	f.Helper()
	f.refused(what, err, store.ErrCursorExpired)
	var expired *store.CursorExpiredError
	if errors.As(err, &expired) {
		equal(f, what, store.CursorExpiredError{After: after, Floor: floor}, *expired)
	} else {
		f.Errorf("%s: the error %v does not say where the floor is", what, err)
	}
}

func eventsContiguous(f *fixture) {
	equal(f, "last of an empty stream", store.Seq(0), f.last(f.a))
	if page := got(f.a.ReadEvents(f.Context(), 0, 0))(f); len(page) != 0 {
		f.Errorf("an empty stream has %v", page)
	}
	equal(f, "one", store.Seq(1), f.append(f.a, notice("1")))
	equal(f, "two more", store.Seq(3), f.append(f.b, notice("2"), notice("3")))
	equal(f, "a ref", store.Seq(4), f.set(f.a, "refs/x", object.OID{}, id("1")))
	f.both(func(name string, s store.Session) {
		equal(f, name+": last", store.Seq(4), f.last(s))
		equal(f, name+": events", 4, len(f.events(s, 0)))
	})
}

func eventsPages(f *fixture) {
	n := store.DefaultPage + 44
	f.numbered(f.a, n)
	for _, tc := range []struct {
		after store.Seq
		limit int
		want  int
	}{
		{0, 0, store.DefaultPage},
		{0, -1, store.DefaultPage},
		{0, 1, 1},
		{0, 2 * n, n},
		{10, 5, 5},
		{store.Seq(n) - 3, 0, 3},
		{store.Seq(n), 0, 0},
		{store.Seq(n) + 100, 0, 0},
	} {
		f.both(func(name string, s store.Session) {
			page := got(s.ReadEvents(f.Context(), tc.after, tc.limit))(f)
			if len(page) != tc.want {
				f.Errorf("%s: after %d, limit %d: got %d events, want %d", name, tc.after, tc.limit, len(page), tc.want)
			}
			for i, e := range page {
				seq := tc.after + store.Seq(i) + 1
				equal(f, name, store.Event{Seq: seq, At: f.clock.Millis(), Body: notice(fmt.Sprint(seq))}, e)
			}
		})
	}
	_, err := f.a.ReadEvents(f.Context(), -1, 0)
	f.expired("a cursor before everything", err, -1, 0)
}

func eventsReadBack(f *fixture) {
	want := []store.EventBody{
		store.DeltaEvent{RunID: "r", Attempt: 1, Index: 0, Part: store.TextPart, Delta: "\"</x>\" \u2028 \U0001F600 \x00\n"},
		store.DeltaEvent{RunID: "r", Attempt: 7, Index: 3, Part: store.ThinkingPart, Delta: ""},
		store.ProgressEvent{RunID: "r", CallID: "", Progress: store.Progress{Text: ""}},
		store.ProgressEvent{RunID: "r", CallID: "c", Progress: store.Progress{Text: "t", Title: "T", Details: []byte(`[1,"</x>"]`)}},
		store.NoticeEvent{Level: store.Warn, Owner: "", Message: ""},
		store.NoticeEvent{Level: store.Error, Owner: "o", Message: "m"},
	}
	var times []store.Millis
	for _, b := range want {
		f.clock.Advance(time.Millisecond)
		f.append(f.a, b)
		times = append(times, f.clock.Millis())
	}
	f.both(func(name string, s store.Session) {
		equal(f, name, want, f.bodies(s, 0))
		for i, e := range f.events(s, 0) {
			equal(f, name+": time", times[i], e.At)
		}
	})
}

func eventsTrim(f *fixture) {
	f.numbered(f.a, 10)
	equal(f, "floor", store.Seq(0), got(f.a.Floor(f.Context()))(f))
	equal(f, "trim", store.Seq(4), got(f.a.TrimEvents(f.Context(), 4))(f))
	f.both(func(name string, s store.Session) {
		equal(f, name+": floor", store.Seq(4), got(s.Floor(f.Context()))(f))
		equal(f, name+": last", store.Seq(10), f.last(s))
		page, err := s.ReadEvents(f.Context(), 3, 0)
		f.expired(name+": below the floor", err, 3, 4)
		if len(page) != 0 {
			f.Errorf("%s: an expired cursor gave %d events", name, len(page))
		}
		equal(f, name+": events at the floor", 6, len(f.events(s, 4)))
	})
}

func eventsTrimBeyond(f *fixture) {
	equal(f, "trim of an empty stream", store.Seq(0), got(f.a.TrimEvents(f.Context(), 5))(f))
	f.numbered(f.a, 3)
	equal(f, "trim", store.Seq(3), got(f.a.TrimEvents(f.Context(), 1000))(f))
	equal(f, "last", store.Seq(3), f.last(f.b))
	if page := got(f.b.ReadEvents(f.Context(), 3, 0))(f); len(page) != 0 {
		f.Errorf("after a full trim there are %v", page)
	}
	equal(f, "next", store.Seq(4), f.append(f.b, notice("4")))
	equal(f, "events from the floor", []store.EventBody{notice("4")}, f.bodies(f.a, 3))
	equal(f, "last", store.Seq(4), f.last(f.a))
}

func eventsFloorNeverDown(f *fixture) {
	f.numbered(f.a, 10)
	for _, tc := range []struct{ before, want store.Seq }{{6, 6}, {2, 6}, {0, 6}, {-3, 6}, {6, 6}, {7, 7}} {
		equal(f, fmt.Sprintf("trim %d", tc.before), tc.want, got(f.b.TrimEvents(f.Context(), tc.before))(f))
		equal(f, "floor", tc.want, got(f.a.Floor(f.Context()))(f))
	}
	equal(f, "left", 3, len(f.events(f.a, 7)))
}

func eventsBoundary(f *fixture) {
	const c = store.Seq(5)
	f.numbered(f.a, 10)
	got(f.a.TrimEvents(f.Context(), c))(f)
	f.both(func(name string, s store.Session) {
		_, err := s.ReadEvents(f.Context(), c-1, 0)
		f.expired(name, err, c-1, c)
		for _, after := range []store.Seq{c, c + 1} {
			equal(f, fmt.Sprintf("%s: events after %d", name, after), int(10-after), len(f.events(s, after)))
		}
	})
}

func eventsInvalid(f *fixture) {
	f.append(f.a, notice("1"))
	for name, bodies := range map[string][]store.EventBody{
		"no events":            nil,
		"a missing event":      {notice("n"), nil},
		"a ref event":          {notice("n"), store.RefEvent{Name: "refs/x", To: id("1"), Reason: "r"}},
		"a delta without run":  {notice("n"), store.DeltaEvent{Attempt: 1, Part: store.TextPart}},
		"a delta of no part":   {notice("n"), store.DeltaEvent{RunID: "r", Attempt: 1}},
		"an unknown level":     {notice("n"), store.NoticeEvent{Level: "loud"}},
		"progress without run": {notice("n"), store.ProgressEvent{CallID: "c"}},
	} {
		out, err := f.a.AppendEvents(f.Context(), bodies, nil)
		f.refused(name, err, store.ErrInvalid)
		if out != nil {
			f.Errorf("%s: got outcome %#v beside the error", name, out)
		}
	}
	equal(f, "next", store.Seq(2), f.append(f.a, notice("2")))
	equal(f, "events", []store.EventBody{notice("1"), notice("2")}, f.bodies(f.b, 0))
}

func eventsPerSession(f *fixture) {
	other := f.create(f.storeA, store.CreateOptions{ID: "other"})
	f.numbered(f.a, 3)
	equal(f, "first of the other", store.Seq(1), f.append(other, notice("1")))
	got(f.a.TrimEvents(f.Context(), 3))(f)
	equal(f, "floor of the other", store.Seq(0), got(other.Floor(f.Context()))(f))
	equal(f, "events of the other", 1, len(f.events(other, 0)))
}
