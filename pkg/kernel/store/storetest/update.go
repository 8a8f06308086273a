package storetest

import (
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func updateTests() []test {
	return []test{
		{"C21 a failing expectation changes nothing", updateAllOrNothing},
		{"C21 the first mismatch in list order is named", updateFirstMismatch},
		{"C22 assertions are checked, write nothing and make no event", updateAssertions},
		{"C23 a failed assertion blocks the writes beside it", updateFailedAssertion},
		{"C25 ref events come in update order, with reason and actor, then the supplied events", updateEvents},
		{"objects ride on an update", updateObjects},
		{"an invalid shape is refused before anything else and leaves nothing", updateInvalid},
		{"the lease is checked before the refs, and the shape before the lease", updateOrderOfChecks},
		{"the oids need not be stored", updateUnknownObjects},
		{"arguments are not kept", updateArguments},
	}
}

// unchanged runs f and expects the session to be as before.
func (f *fixture) unchanged(what string, run func()) {
	f.Helper()
	type state struct {
		Refs    []store.Ref
		Last    store.Seq
		Objects []store.Stored
	}
	look := func() state {
		return state{got(f.b.ListRefs(f.Context(), ""))(f), f.last(f.b), got(f.b.ListObjects(f.Context()))(f)}
	}
	before := look()
	run()
	equal(f, what+" changed the session", before, look())
}

func updateAllOrNothing(f *fixture) {
	f.fill("refs/a", "refs/b")
	f.unchanged("a conflict", func() {
		out := f.update(f.a, store.UpdateOptions{Objects: []object.Encoded{f.blob("x")}, Events: []store.EventBody{notice("n")}},
			store.Update{Name: "refs/a", From: id("refs/a"), To: id("2")},
			store.Update{Name: "refs/b", From: id("wrong"), To: id("2")},
			store.Update{Name: "refs/c", To: id("2")})
		equal(f, "outcome", store.UpdateOutcome(store.UpdateConflict{Name: "refs/b", Actual: id("refs/b")}), out)
	})
	seq := f.updated(f.a, store.UpdateOptions{},
		store.Update{Name: "refs/a", From: id("refs/a"), To: id("2")},
		store.Update{Name: "refs/b", From: id("refs/b")},
		store.Update{Name: "refs/c", To: id("2")})
	equal(f, "sequence number", store.Seq(5), seq)
	f.listed("", []store.Ref{{Name: "refs/a", OID: id("2")}, {Name: "refs/c", OID: id("2")}})
}

func updateFirstMismatch(f *fixture) {
	f.fill("refs/a", "refs/b", "refs/c")
	out := f.update(f.a, store.UpdateOptions{},
		store.Update{Name: "refs/c", From: id("refs/c"), To: id("2")},
		store.Absent("refs/b"),
		store.Assert("refs/a", id("wrong")))
	equal(f, "outcome", store.UpdateOutcome(store.UpdateConflict{Name: "refs/b", Actual: id("refs/b")}), out)
}

func updateAssertions(f *fixture) {
	equal(f, "nothing ever written", store.Seq(0), f.updated(f.a, store.UpdateOptions{}, store.Absent("refs/none")))
	f.fill("refs/a", "refs/b")
	f.unchanged("an assertion", func() {
		seq := f.updated(f.a, store.UpdateOptions{}, store.Assert("refs/a", id("refs/a")), store.Absent("refs/none"))
		equal(f, "sequence number", store.Seq(2), seq)
	})
	f.updated(f.a, store.UpdateOptions{}, store.Assert("refs/a", id("refs/a")),
		store.Update{Name: "refs/b", From: id("refs/b"), To: id("2")}, store.Absent("refs/none"))
	want := []store.EventBody{store.RefEvent{Name: "refs/b", From: id("refs/b"), To: id("2"), Reason: "test"}}
	equal(f, "events of a mixed update", want, f.bodies(f.b, 2))

	seq := f.updated(f.a, store.UpdateOptions{Events: []store.EventBody{notice("n")}, Objects: []object.Encoded{f.blob("x")}},
		store.Assert("refs/a", id("refs/a")))
	equal(f, "sequence number of an asserted event", store.Seq(4), seq)
	if !f.has(f.b, f.blob("x").OID) {
		f.Error("the object beside an assertion is not stored")
	}
}

func updateFailedAssertion(f *fixture) {
	f.fill("refs/a", "refs/b")
	for _, assertion := range []store.Update{store.Assert("refs/a", id("wrong")), store.Absent("refs/a")} {
		f.unchanged("a failed assertion", func() {
			out := f.update(f.a, store.UpdateOptions{},
				store.Update{Name: "refs/b", From: id("refs/b"), To: id("2")}, assertion)
			equal(f, "outcome", store.UpdateOutcome(store.UpdateConflict{Name: "refs/a", Actual: id("refs/a")}), out)
		})
	}
}

func updateEvents(f *fixture) {
	f.clock.Advance(1234 * time.Millisecond)
	actor := &object.Actor{ClientID: "c", UserID: "u", Device: "d"}
	extra := []store.EventBody{
		store.DeltaEvent{RunID: "r", Attempt: 1, Part: store.TextPart, Delta: " two\nlines "},
		store.ProgressEvent{RunID: "r", CallID: "c", Progress: store.Progress{Text: "t", Details: []byte(`{"n":1}`)}},
		notice("n"),
	}
	seq := f.updated(f.a, store.UpdateOptions{Reason: "land", Actor: actor, Events: extra},
		store.Update{Name: "refs/z", To: id("1")},
		store.Absent("refs/none"),
		store.Update{Name: "refs/a", To: id("2")})
	equal(f, "sequence number", store.Seq(5), seq)
	want := append([]store.EventBody{
		store.RefEvent{Name: "refs/z", To: id("1"), Reason: "land", Actor: actor},
		store.RefEvent{Name: "refs/a", To: id("2"), Reason: "land", Actor: actor},
	}, extra...)
	f.both(func(name string, s store.Session) {
		equal(f, name, want, f.bodies(s, 0))
		for _, e := range f.events(s, 0) {
			equal(f, name+": time", f.clock.Millis(), e.At)
		}
	})
	f.updated(f.b, store.UpdateOptions{Reason: "drop"}, store.Update{Name: "refs/z", From: id("1")})
	equal(f, "deletion", []store.EventBody{store.RefEvent{Name: "refs/z", From: id("1"), Reason: "drop"}}, f.bodies(f.a, 5))
}

func updateObjects(f *fixture) {
	x, y := f.blob("x"), f.blob("y")
	f.put(f.a, x)
	f.updated(f.a, store.UpdateOptions{Objects: []object.Encoded{x, y, y}}, store.Update{Name: "refs/y", To: y.OID})
	f.both(func(name string, s store.Session) {
		objs := got(s.GetObjects(f.Context(), []object.OID{x.OID, y.OID}))(f)
		equal(f, name, []object.Object{x.Object, y.Object}, objs)
	})
	equal(f, "stored", 2, len(got(f.a.ListObjects(f.Context()))(f)))
}

func updateInvalid(f *fixture) {
	f.fill("refs/a")
	good := store.Update{Name: "refs/b", To: id("2")}
	lease := f.acquire(f.a, "refs/a", time.Minute)
	for _, tc := range []struct {
		name    string
		updates []store.Update
		opts    store.UpdateOptions
	}{
		{"no updates", nil, store.UpdateOptions{Reason: "r"}},
		{"no reason", []store.Update{good}, store.UpdateOptions{}},
		{"an empty name", []store.Update{good, {To: id("2")}}, store.UpdateOptions{Reason: "r"}},
		{"a bad name", []store.Update{good, {Name: "refs/../x", To: id("2")}}, store.UpdateOptions{Reason: "r"}},
		{"a bad assertion", []store.Update{good, store.Absent("refs/x.lock")}, store.UpdateOptions{Reason: "r"}},
		{"a name too long", []store.Update{good, {Name: ref.Name(strings.Repeat("x", ref.MaxLength+1))}}, store.UpdateOptions{Reason: "r"}},
		{"a repeated name", []store.Update{good, good}, store.UpdateOptions{Reason: "r"}},
		{"a repeated assertion", []store.Update{good, store.Absent("refs/b")}, store.UpdateOptions{Reason: "r"}},
		{"renew without a lease", []store.Update{good}, store.UpdateOptions{Reason: "r", Renew: time.Second}},
		{"release without a lease", []store.Update{good}, store.UpdateOptions{Reason: "r", Release: true}},
		{"renew below a millisecond", []store.Update{good}, store.UpdateOptions{Reason: "r", Lease: &lease, Renew: time.Microsecond}},
		{"a ref event", []store.Update{good}, store.UpdateOptions{Reason: "r", Events: []store.EventBody{
			notice("n"), store.RefEvent{Name: "refs/b", To: id("3"), Reason: "r"},
		}}},
		{"no event", []store.Update{good}, store.UpdateOptions{Reason: "r", Events: []store.EventBody{nil}}},
	} {
		f.unchanged(tc.name, func() {
			tc.opts.Objects = []object.Encoded{f.blob("invalid")}
			out, err := f.a.UpdateRefs(f.Context(), tc.updates, tc.opts)
			f.refused(tc.name, err, store.ErrInvalid)
			if out != nil {
				f.Errorf("%s: got outcome %#v beside the error", tc.name, out)
			}
		})
	}
	if l, ok := f.lease(f.b, "refs/a"); !ok || l != lease {
		f.Errorf("the lease is %v, %v after the refusals", l, ok)
	}
}

func updateOrderOfChecks(f *fixture) {
	f.fill("refs/a")
	stranger := &store.Lease{Name: "refs/a", Owner: "stranger", Fence: 1}
	stale := store.Update{Name: "refs/a", From: id("wrong"), To: id("2")}
	_, err := f.a.UpdateRefs(f.Context(), []store.Update{stale, stale}, store.UpdateOptions{Reason: "r", Lease: stranger})
	f.refused("a bad shape with a stranger's lease", err, store.ErrInvalid)
	out := f.update(f.a, store.UpdateOptions{Lease: stranger}, stale)
	equal(f, "a conflict with a stranger's lease", store.UpdateOutcome(store.Fenced{}), out)
	lease := f.acquire(f.a, "refs/a", time.Minute)
	out = f.update(f.a, store.UpdateOptions{Lease: &lease}, stale)
	equal(f, "a conflict with the lease", store.UpdateOutcome(store.UpdateConflict{Name: "refs/a", Actual: id("refs/a")}), out)
}

func updateUnknownObjects(f *fixture) {
	f.set(f.a, "refs/x", object.OID{}, id("never stored"))
	equal(f, "ref", id("never stored"), f.read(f.b, "refs/x"))
}

func updateArguments(f *fixture) {
	details := []byte(`{"n":1}`)
	actor := &object.Actor{ClientID: "c"}
	updates := []store.Update{{Name: "refs/x", To: id("1")}}
	events := []store.EventBody{store.ProgressEvent{RunID: "r", Progress: store.Progress{Text: "t", Details: details}}}
	opts := store.UpdateOptions{Reason: "r", Actor: actor, Events: events}
	f.updated(f.a, opts, updates...)
	equal(f, "updates after the call", []store.Update{{Name: "refs/x", To: id("1")}}, updates)
	clear(details)
	clear(updates)
	clear(events)
	actor.ClientID = "changed"
	want := []store.EventBody{
		store.RefEvent{Name: "refs/x", To: id("1"), Reason: "r", Actor: &object.Actor{ClientID: "c"}},
		store.ProgressEvent{RunID: "r", Progress: store.Progress{Text: "t", Details: []byte(`{"n":1}`)}},
	}
	page := got(f.a.ReadEvents(f.Context(), 0, 0))(f)
	clear(page)
	f.both(func(name string, s store.Session) { equal(f, name, want, f.bodies(s, 0)) })
	list := got(f.a.ListRefs(f.Context(), ""))(f)
	clear(list)
	equal(f, "refs", []store.Ref{{Name: "refs/x", OID: id("1")}}, got(f.a.ListRefs(f.Context(), ""))(f))
}
