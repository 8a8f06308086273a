package storetest

import (
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func sizeTests() []test {
	return []test{
		{"an object may have a megabyte", sizeObject},
		{"a megabyte rides on an update", sizeRidingObject},
		{"300 objects are put, read and deleted at once", sizeManyObjects},
		{"an update may move 300 refs", sizeManyRefs},
		{"an update with 300 refs is all or nothing", sizeManyRefsConflict},
		{"300 refs come with a creation", sizeManyFirstRefs},
		{"an append may have 600 events", sizeManyEvents},
		{"an event may have 100 kilobytes", sizeEvent},
		{"a large session is deleted whole", sizeDelete},
	}
}

func (f *fixture) megabyte(seed string) object.Encoded {
	f.Helper()
	return f.blob(strings.Repeat(seed+" \u00e9\n", 1<<20/(len(seed)+4)+1))
}

func sizeObject(f *fixture) {
	e := f.megabyte("one")
	f.put(f.a, e)
	f.both(func(name string, s store.Session) {
		o, ok, err := s.GetObject(f.Context(), e.OID)
		f.must(err)
		if !ok || f.encode(o).OID != e.OID { // not by a diff, which nobody would read
			f.Errorf("%s: the object came back changed", name)
		}
	})
}

func sizeRidingObject(f *fixture) {
	objs := []object.Encoded{f.megabyte("two"), f.megabyte("three"), f.blob("small")}
	f.updated(f.a, store.UpdateOptions{Objects: objs}, store.Update{Name: "refs/x", To: objs[0].OID})
	for _, e := range objs {
		if !f.has(f.b, e.OID) {
			f.Errorf("an object of %d bytes is missing", len(e.Body))
		}
	}
}

func sizeManyObjects(f *fixture) {
	objs := make([]object.Encoded, 300)
	oids := make([]object.OID, len(objs))
	for i := range objs {
		objs[i] = f.blob(fmt.Sprint(i, strings.Repeat(" padding", 500)))
		oids[i] = objs[i].OID
	}
	f.put(f.a, objs...)
	for i, o := range got(f.b.GetObjects(f.Context(), oids))(f) {
		if o == nil || f.encode(o).OID != oids[i] {
			f.Errorf("object %d came back as another", i)
		}
	}
	equal(f, "listed", len(objs), len(got(f.b.ListObjects(f.Context()))(f)))
	equal(f, "deleted", len(objs), got(f.a.DeleteObjects(f.Context(), oids, never))(f))
	equal(f, "left", 0, len(got(f.b.ListObjects(f.Context()))(f)))
}

func manyRefs() (names []ref.Name, updates []store.Update) {
	for i := range 300 {
		names = append(names, ref.Name(fmt.Sprintf("refs/heads/%03d", i)))
		updates = append(updates, store.Update{Name: names[i], To: id(string(names[i]))})
	}
	return names, updates
}

func sizeManyRefs(f *fixture) {
	names, updates := manyRefs()
	seq := f.updated(f.a, store.UpdateOptions{Events: []store.EventBody{notice("end")}}, updates...)
	equal(f, "sequence number", store.Seq(len(names)+1), seq)
	oids := got(f.b.ReadRefs(f.Context(), names...))(f)
	list := got(f.b.ListRefs(f.Context(), ref.Heads))(f)
	events := f.events(f.b, 0)
	if len(oids) != len(names) || len(list) != len(names) || len(events) != len(names)+1 {
		f.Fatalf("%d refs read as %d, listed as %d, logged as %d events", len(names), len(oids), len(list), len(events))
	}
	for i, u := range updates {
		equal(f, "read", u.To, oids[i])
		equal(f, "listed", store.Ref{Name: u.Name, OID: u.To}, list[i])
		equal(f, "event", store.EventBody(store.RefEvent{Name: u.Name, To: u.To, Reason: "test"}), events[i].Body)
	}
	for i := range updates {
		updates[i] = store.Update{Name: names[i], From: updates[i].To}
	}
	f.updated(f.b, store.UpdateOptions{}, updates...)
	f.listed("", nil)
}

func sizeManyRefsConflict(f *fixture) {
	_, updates := manyRefs()
	f.fill(updates[len(updates)-1].Name)
	f.unchanged("a conflict at the end of a long update", func() {
		out := f.update(f.a, store.UpdateOptions{}, updates...)
		last := updates[len(updates)-1]
		equal(f, "outcome", store.UpdateOutcome(store.UpdateConflict{Name: last.Name, Actual: last.To}), out)
	})
}

func sizeManyFirstRefs(f *fixture) {
	_, updates := manyRefs()
	f.create(f.storeA, store.CreateOptions{ID: "large", Reason: "r", Refs: updates})
	s := f.openSession(f.storeB, "large")
	equal(f, "refs", len(updates), len(got(s.ListRefs(f.Context(), ""))(f)))
	equal(f, "events", len(updates), len(f.events(s, 0)))
}

func sizeManyEvents(f *fixture) {
	const n = 600
	f.numbered(f.a, n)
	for i, e := range f.events(f.b, 0) {
		equal(f, "event", notice(fmt.Sprint(i+1)), e.Body)
	}
	equal(f, "last", store.Seq(n), f.last(f.b))
	equal(f, "trim", store.Seq(n-1), got(f.a.TrimEvents(f.Context(), n-1))(f))
	equal(f, "left", 1, len(f.events(f.b, n-1)))
}

func sizeEvent(f *fixture) {
	want := []store.EventBody{
		notice(strings.Repeat("0123456789", 10_000)),
		store.DeltaEvent{RunID: "r", Attempt: 1, Part: store.TextPart, Delta: strings.Repeat("\u00e9", 50_000)},
	}
	f.append(f.a, want...)
	equal(f, "events", want, f.bodies(f.b, 0))
}

func sizeDelete(f *fixture) {
	names, updates := manyRefs()
	f.updated(f.a, store.UpdateOptions{Objects: f.commits(300)}, updates...)
	f.numbered(f.a, 300)
	for _, n := range names[:30] {
		f.acquire(f.a, n, ttl)
	}
	f.must(f.storeB.DeleteSession(f.Context(), "s"))
	s := f.create(f.storeA, store.CreateOptions{ID: "s"})
	f.acquire(s, names[0], ttl)
	equal(f, "refs", 0, len(got(s.ListRefs(f.Context(), ""))(f)))
	equal(f, "objects", 0, len(got(s.ListObjects(f.Context()))(f)))
	equal(f, "events", 0, len(f.events(s, 0)))
}
