package storetest

import (
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func corruptionTests(caps Capabilities) []test {
	tests := []test{
		{"C45 a batch with an event that is not I-JSON stores nothing", corruptEventRefused},
	}
	if caps.CorruptObject != nil {
		tests = append(tests,
			test{"C44 an incomplete object is refused although its hash matches", corruptShape},
			test{"an object that does not match its hash is refused", corruptHash},
			test{"a forged loop ends", corruptLoop})
	}
	if caps.CorruptEvent != nil {
		tests = append(tests, test{"C46 a malformed stored event is refused", corruptEvent})
	}
	return tests
}

func corruptEventRefused(f *fixture) {
	f.append(f.a, notice("first"))
	obj := f.blob("x")
	for name, bad := range map[string]store.EventBody{
		"a number that no double holds": store.ProgressEvent{RunID: "r", Progress: store.Progress{Details: []byte(`{"a":1e999}`)}},
		"details that are not JSON":     store.ProgressEvent{RunID: "r", Progress: store.Progress{Details: []byte(`{"a":NaN}`)}},
		"a duplicate name":              store.ProgressEvent{RunID: "r", Progress: store.Progress{Details: []byte(`{"a":1,"a":2}`)}},
		"invalid UTF-8":                 store.NoticeEvent{Level: store.Info, Message: "\xff"},
	} {
		batch := []store.EventBody{notice("before"), bad, notice("behind")}
		_, err := f.a.AppendEvents(f.Context(), batch, nil)
		f.refused(name+", appended", err, store.ErrInvalid)
		_, err = f.a.UpdateRefs(f.Context(), []store.Update{{Name: "refs/x", To: obj.OID}}, store.UpdateOptions{
			Reason: "test", Events: batch, Objects: []object.Encoded{obj},
		})
		f.refused(name+", with an update", err, store.ErrInvalid)
	}
	if f.has(f.b, obj.OID) || !f.read(f.b, "refs/x").IsZero() {
		f.Error("a refused update stored its object or its ref")
	}
	equal(f, "next sequence number", store.Seq(2), f.append(f.b, notice("second")))
}

// corrupted plants body as the object oid and expects every way of reading it to say so.
func (f *fixture) corrupted(what string, oid object.OID, body string) {
	f.Helper()
	f.caps.CorruptObject(f, f.backend, "s", oid, []byte(body))
	s := f.openSession(f.openStore(), "s")
	o, ok, err := s.GetObject(f.Context(), oid)
	f.refused(what+", GetObject", err, object.ErrCorrupt)
	if ok || o != nil {
		f.Errorf("%s: GetObject gave %v, %v with its error", what, o, ok)
	}
	_, err = s.GetObjects(f.Context(), []object.OID{id("none"), oid})
	f.refused(what+", GetObjects", err, object.ErrCorrupt)
	_, err = s.Chain(f.Context(), oid, object.OID{}, 10)
	f.refused(what+", Chain", err, object.ErrCorrupt)
}

func corruptShape(f *fixture) {
	for _, body := range []string{
		`{"at":1,"kind":"commit","parent":null}`,
		`{"at":1,"body":{"kind":"summary","text":"s"},"kind":"change"}`,
		`{"attempts":0,"config":{},"head":"main","id":"run_1","kind":"run","startedAt":1}`,
		`{"at":1,"callId":"c","kind":"effect","replay":"safe","runId":"r","state":"intent","tool":"t"}`,
		`{"kind":"stack","parent":"main"}`,
		`{"kind":"blob"}`,
		`{"kind":"blob","more":1,"value":1}`,
		`{"kind":"tree","value":1}`,
		`{"value":1}`,
		`[]`,
		``,
	} {
		f.corrupted(fmt.Sprintf("%q", body), object.Hash([]byte(body)), body)
	}
}

func corruptHash(f *fixture) {
	f.corrupted("another object's bytes", id("x"), string(f.blob("x").Body))
	spaced := strings.Replace(string(f.blob("y").Body), ",", ", ", 1)
	f.corrupted("bytes that are not canonical", object.Hash([]byte(spaced)), spaced)
	cut := f.blob("a longer text").Body
	f.corrupted("bytes cut short", object.Hash(cut), string(cut[:len(cut)-3]))

	// One bad object does not hide the good ones.
	good := f.blob("good")
	f.put(f.a, good)
	if !f.has(f.b, good.OID) {
		f.Error("a good object is not read beside bad ones")
	}
}

func corruptLoop(f *fixture) {
	oid := id("loop")
	loop := f.encode(object.Commit{Parent: oid, Body: object.SummaryBody{Text: "s"}})
	f.caps.CorruptObject(f, f.backend, "s", oid, loop.Body)
	const limit = 50
	chain, err := f.openSession(f.openStore(), "s").Chain(f.Context(), oid, object.OID{}, limit)
	if err == nil && len(chain) <= limit {
		return
	}
	f.refused("a forged loop", err, object.ErrCorrupt)
}

func corruptEvent(f *fixture) {
	for i, payload := range []string{
		`{"kind":"notice","level":"info","owner":"o"}`,
		`{"kind":"ref","from":null,"to":null,"reason":"r"}`,
		`{"kind":"delta","runId":"r","attempt":1,"index":0,"part":"text"}`,
		`{"kind":"progress","runId":"r"}`,
		`{"kind":"other"}`,
		`{"kind":"notice"`,
		`null`,
	} {
		sid := store.SessionID(fmt.Sprintf("events-%d", i))
		s := f.create(f.storeA, store.CreateOptions{ID: sid})
		f.append(s, notice("good"), notice("bad"), notice("good"))
		f.caps.CorruptEvent(f, f.backend, sid, 2, []byte(payload))
		fresh := f.openSession(f.openStore(), sid)
		if page, err := fresh.ReadEvents(f.Context(), 0, 0); err == nil {
			f.Errorf("%s: read as %v", payload, page)
		}
		seen := 0
		var err error
		for _, err = range fresh.WatchEvents(f.Context(), 0) {
			if err != nil || seen == 2 {
				break
			}
			seen++
		}
		if err == nil || seen > 1 {
			f.Errorf("%s: a watch gave %d events and error %v", payload, seen, err)
		}
		if page := got(fresh.ReadEvents(f.Context(), 2, 0))(f); len(page) != 1 {
			f.Errorf("%s: the event behind it gave %v", payload, page)
		}
	}
}
