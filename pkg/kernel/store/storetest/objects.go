package storetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func objectTests() []test {
	return []test{
		{"C17 an object reads back as it was written", objectsReadBack},
		{"C17 storing an object twice is the same as once", objectsTwice},
		{"C17 one object has one oid whatever the order of its members", objectsMemberOrder},
		{"C18 an unknown object is absent", objectsUnknown},
		{"C18 deleting returns how many there were", objectsDelete},
		{"deleting spares what was written at or after a time", objectsDeleteBefore},
		{"deleting spares what was put again since the list", objectsDeletePutAgain},
		{"many are read in the order asked for", objectsInOrder},
		{"the list has every object with its write time, by oid", objectsList},
		{"putting an object again refreshes its write time", objectsRefresh},
		{"sessions do not share objects", objectsPerSession},
		{"arguments are not kept", objectsArguments},
	}
}

func objectsReadBack(f *fixture) {
	for _, o := range samples() {
		e := f.encode(o)
		f.put(f.a, e)
		f.both(func(name string, s store.Session) {
			read, ok, err := s.GetObject(f.Context(), e.OID)
			f.must(err)
			if !ok {
				f.Errorf("%s: the %s is not there", name, object.Kind(o))
			}
			equal(f, name+": "+object.Kind(o), o, read)
		})
	}
}

func objectsTwice(f *fixture) {
	e := f.blob("x")
	f.put(f.a, e, e)
	f.put(f.b, e)
	if list := got(f.a.ListObjects(f.Context()))(f); len(list) != 1 {
		f.Errorf("%d objects are stored, want 1", len(list))
	}
}

func objectsMemberOrder(f *fixture) {
	x := f.encode(object.Blob{Value: []byte(`{"a":1,"b":[{"d":2,"c":3}]}`)})
	y := f.encode(object.Blob{Value: []byte(` { "b": [ {"c":3.0, "d":2} ], "a": 1 } `)})
	f.put(f.a, x, y)
	if list := got(f.a.ListObjects(f.Context()))(f); len(list) != 1 {
		f.Errorf("%d objects are stored, want 1", len(list))
	}
	equal(f, "oid", x.OID, y.OID)
}

func objectsUnknown(f *fixture) {
	f.both(func(name string, s store.Session) {
		if f.has(s, id("none")) || f.has(s, object.OID{}) {
			f.Errorf("%s has an object that nobody stored", name)
		}
	})
	// An absent object is not remembered as absent.
	e := f.blob("late")
	if f.has(f.b, e.OID) {
		f.Error("the object is there before it is put")
	}
	f.put(f.a, e)
	if !f.has(f.b, e.OID) {
		f.Error("the object is absent after it was put")
	}
}

func objectsDelete(f *fixture) {
	x, y := f.blob("x"), f.blob("y")
	f.put(f.a, x, y)
	n := got(f.a.DeleteObjects(f.Context(), []object.OID{x.OID, id("none"), x.OID}, never))(f)
	equal(f, "deleted", 1, n)
	equal(f, "deleted again", 0, got(f.a.DeleteObjects(f.Context(), []object.OID{x.OID}, never))(f))
	equal(f, "deleted of none", 0, got(f.a.DeleteObjects(f.Context(), nil, never))(f))
	list := got(f.b.ListObjects(f.Context()))(f)
	if len(list) != 1 || list[0].OID != y.OID {
		f.Errorf("left are %v, want only %s", list, y.OID)
	}
	// A cache may still serve a deleted object. A handle that never saw it does not.
	fresh := f.openSession(f.openStore(), "s")
	if f.has(fresh, x.OID) {
		f.Error("the deleted object is still there")
	}
	f.put(f.a, x)
	if !f.has(f.openSession(f.openStore(), "s"), x.OID) {
		f.Error("the object cannot be put after its deletion")
	}
}

func objectsDeleteBefore(f *fixture) {
	old, edge := f.blob("old"), f.blob("edge")
	f.put(f.a, old)
	f.clock.Advance(time.Millisecond)
	f.put(f.a, edge)
	// The time of the newest write, by whichever clock.
	var at store.Millis
	for _, o := range got(f.b.ListObjects(f.Context()))(f) {
		if o.OID == edge.OID {
			at = o.At
		}
	}
	oids := []object.OID{old.OID, edge.OID}
	equal(f, "deleted before everything", 0, got(f.b.DeleteObjects(f.Context(), oids, 0))(f))
	if !f.caps.ForeignWriteTimes {
		equal(f, "deleted before the newest write", 1, got(f.b.DeleteObjects(f.Context(), oids, at))(f))
	}
	if !f.has(f.openSession(f.openStore(), "s"), edge.OID) {
		f.Error("an object written at the time was deleted as written before it")
	}
	got(f.b.DeleteObjects(f.Context(), oids, at+1))(f)
	if left := got(f.a.ListObjects(f.Context()))(f); len(left) > 0 {
		f.Errorf("left are %v", left)
	}
}

func objectsDeletePutAgain(f *fixture) {
	if f.caps.ForeignWriteTimes {
		return // nobody can say that the second write is a later one
	}
	e := f.blob("x")
	f.put(f.a, e)
	looked := got(f.b.ListObjects(f.Context()))(f)[0].At
	f.clock.Advance(time.Hour)
	f.put(f.a, e)
	equal(f, "deleted", 0, got(f.b.DeleteObjects(f.Context(), []object.OID{e.OID}, looked+1))(f))
	if !f.has(f.openSession(f.openStore(), "s"), e.OID) {
		f.Error("an object was deleted although it was put again")
	}
}

func objectsInOrder(f *fixture) {
	x, y := f.blob("x"), f.blob("y")
	f.put(f.a, x, y)
	f.both(func(name string, s store.Session) {
		objs := got(s.GetObjects(f.Context(), []object.OID{y.OID, id("none"), x.OID, y.OID, {}}))(f)
		equal(f, name, []object.Object{y.Object, nil, x.Object, y.Object, nil}, objs)
		if objs := got(s.GetObjects(f.Context(), nil))(f); len(objs) != 0 {
			f.Errorf("%s: no oids gave %v", name, objs)
		}
	})
}

func objectsList(f *fixture) {
	if list := got(f.a.ListObjects(f.Context()))(f); len(list) != 0 {
		f.Errorf("an empty session lists %v", list)
	}
	var want []store.Stored
	for _, o := range samples() {
		f.clock.Advance(time.Second)
		e := f.encode(o)
		f.put(f.a, e)
		want = append(want, store.Stored{OID: e.OID, At: f.clock.Millis()})
	}
	slices.SortFunc(want, func(x, y store.Stored) int { return x.OID.Compare(y.OID) })
	f.both(func(name string, s store.Session) {
		list := got(s.ListObjects(f.Context()))(f)
		if f.caps.ForeignWriteTimes && len(list) == len(want) {
			for i := range list {
				list[i].At = want[i].At
			}
		}
		equal(f, name, want, list)
	})
}

func objectsRefresh(f *fixture) {
	e := f.blob("x")
	f.put(f.a, e)
	before := got(f.a.ListObjects(f.Context()))(f)
	f.clock.Advance(time.Hour)
	f.put(f.b, e)
	after := got(f.a.ListObjects(f.Context()))(f)
	if len(before) != 1 || len(after) != 1 {
		f.Fatalf("one object is listed as %v, then %v", before, after)
	}
	if f.caps.ForeignWriteTimes {
		if after[0].At < before[0].At {
			f.Errorf("the write time went from %d down to %d", before[0].At, after[0].At)
		}
		return
	}
	equal(f, "write time", f.clock.Millis(), after[0].At)
}

func objectsPerSession(f *fixture) {
	e := f.blob("x")
	other := f.create(f.storeA, store.CreateOptions{ID: "other"})
	f.put(f.a, e)
	if f.has(other, e.OID) {
		f.Error("an object of one session shows in another")
	}
	f.put(other, e)
	equal(f, "deleted in the other session", 1, got(other.DeleteObjects(f.Context(), []object.OID{e.OID}, never))(f))
	if !f.has(f.openSession(f.openStore(), "s"), e.OID) {
		f.Error("deleting an object in one session took it from another")
	}
}

func objectsArguments(f *fixture) {
	x, y := f.blob("x"), f.blob("y")
	objs := []object.Encoded{x, y}
	f.must(f.a.PutObjects(f.Context(), objs))
	body := bytes.Clone(x.Body)
	clear(objs)
	oids := []object.OID{x.OID, y.OID}
	read := got(f.a.GetObjects(f.Context(), oids))(f)
	equal(f, "oids after the call", []object.OID{x.OID, y.OID}, oids)
	clear(read)
	clear(oids)
	equal(f, "body after the call", body, x.Body)
	equal(f, "objects", []object.Object{x.Object, y.Object}, got(f.a.GetObjects(f.Context(), []object.OID{x.OID, y.OID}))(f))
}
