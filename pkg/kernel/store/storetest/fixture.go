package storetest

import (
	"errors"
	"math"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A fixture is one test's backend. The session s is open through two stores: a and b are handles with connections of
// their own on the same data.
type fixture struct {
	testing.TB
	suite   *suite
	caps    Capabilities
	clock   *Clock
	backend Backend
	storeA  store.Store
	storeB  store.Store
	a, b    store.Session
}

func (s *suite) start(t testing.TB) *fixture {
	t.Helper()
	clock := NewClock()
	f := &fixture{TB: t, suite: s, caps: s.caps, clock: clock, backend: s.open(t, clock)}
	f.storeA, f.storeB = f.openStore(), f.openStore()
	f.a = f.create(f.storeA, store.CreateOptions{ID: "s"})
	f.b = f.openSession(f.storeB, "s")
	return f
}

// newBackend makes another backend, on which nothing has been opened.
func (f *fixture) newBackend() Backend {
	f.Helper()
	return f.suite.open(f, f.clock)
}

// openStore opens another store, which is closed after the test.
func (f *fixture) openStore() store.Store {
	f.Helper()
	s := f.backend.Open(f)
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Errorf("closing the store: %v", err)
		}
	})
	return s
}

// both calls run with each handle. What was written through a must show through b too.
func (f *fixture) both(run func(name string, s store.Session)) {
	f.Helper()
	run("the writing handle", f.a)
	run("the other handle", f.b)
}

// must fails the test on an error.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// got takes a method's results and returns the first, or fails the test: got(s.LastSeq(ctx))(f).
func got[T any](v T, err error) func(*fixture) T {
	return func(f *fixture) T {
		f.Helper()
		f.must(err)
		return v
	}
}

// equal fails the test where got differs from want.
func equal(f *fixture, what string, want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refused fails the test unless err is target.
func (f *fixture) refused(what string, err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Errorf("%s: got error %v, want %v", what, err, target)
	}
}

func (f *fixture) create(s store.Store, opts store.CreateOptions) store.Session {
	f.Helper()
	out := got(s.CreateSession(f.Context(), opts))(f)
	created, ok := out.(store.SessionCreated)
	if !ok {
		f.Fatalf("creating session %q: got %T, want SessionCreated", opts.ID, out)
	}
	return created.Session
}

func (f *fixture) openSession(s store.Store, id store.SessionID) store.Session {
	f.Helper()
	return got(s.OpenSession(f.Context(), id))(f)
}

func (f *fixture) put(s store.Session, objs ...object.Encoded) {
	f.Helper()
	f.must(s.PutObjects(f.Context(), objs))
}

// has reports whether the object is stored.
func (f *fixture) has(s store.Session, oid object.OID) bool {
	f.Helper()
	o, ok, err := s.GetObject(f.Context(), oid)
	f.must(err)
	if ok != (o != nil) {
		f.Errorf("getting %s: ok is %v with object %v", oid.Short(), ok, o)
	}
	return ok
}

// update makes a compare-and-swap; a missing reason is filled in.
func (f *fixture) update(s store.Session, opts store.UpdateOptions, updates ...store.Update) store.UpdateOutcome {
	f.Helper()
	if opts.Reason == "" {
		opts.Reason = "test"
	}
	return got(s.UpdateRefs(f.Context(), updates, opts))(f)
}

// updated is update where nothing stands against it.
func (f *fixture) updated(s store.Session, opts store.UpdateOptions, updates ...store.Update) store.Seq {
	f.Helper()
	out := f.update(s, opts, updates...)
	done, ok := out.(store.Updated)
	if !ok {
		f.Fatalf("updating refs: got %#v, want Updated", out)
	}
	return done.Seq
}

// set moves one ref.
func (f *fixture) set(s store.Session, name ref.Name, from, to object.OID) store.Seq {
	f.Helper()
	return f.updated(s, store.UpdateOptions{}, store.Update{Name: name, From: from, To: to})
}

func (f *fixture) read(s store.Session, name ref.Name) object.OID {
	f.Helper()
	oids := got(s.ReadRefs(f.Context(), name))(f)
	if len(oids) != 1 {
		f.Fatalf("reading one ref gave %d oids", len(oids))
	}
	return oids[0]
}

func (f *fixture) append(s store.Session, bodies ...store.EventBody) store.Seq {
	f.Helper()
	out := got(s.AppendEvents(f.Context(), bodies, nil))(f)
	done, ok := out.(store.Appended)
	if !ok {
		f.Fatalf("appending events: got %#v, want Appended", out)
	}
	return done.Seq
}

func (f *fixture) last(s store.Session) store.Seq {
	f.Helper()
	return got(s.LastSeq(f.Context()))(f)
}

// events reads the whole stream after a cursor, page by page, and checks that it has no gap.
func (f *fixture) events(s store.Session, after store.Seq) []store.Event {
	f.Helper()
	var all []store.Event
	for {
		page := got(s.ReadEvents(f.Context(), after, 0))(f)
		if len(page) == 0 {
			return all
		}
		for _, e := range page {
			if e.Seq != after+1 {
				f.Fatalf("event %d follows %d", e.Seq, after)
			}
			after = e.Seq
			all = append(all, e)
		}
	}
}

// bodies are the bodies of the whole stream after a cursor.
func (f *fixture) bodies(s store.Session, after store.Seq) []store.EventBody {
	f.Helper()
	var bodies []store.EventBody
	for _, e := range f.events(s, after) {
		bodies = append(bodies, e.Body)
	}
	return bodies
}

func (f *fixture) acquire(s store.Session, name ref.Name, ttl store.Duration) store.Lease {
	f.Helper()
	return f.acquired(s, name, ttl).Lease
}

// acquired is acquire with what else the grant says.
func (f *fixture) acquired(s store.Session, name ref.Name, ttl store.Duration) store.Acquired {
	f.Helper()
	out := got(s.AcquireLease(f.Context(), name, ttl))(f)
	acquired, ok := out.(store.Acquired)
	if !ok {
		f.Fatalf("acquiring %s: got %#v, want Acquired", name, out)
	}
	return acquired
}

// lease is the live lease of a name; ok is false when there is none.
func (f *fixture) lease(s store.Session, name ref.Name) (store.Lease, bool) {
	f.Helper()
	l, ok, err := s.ReadLease(f.Context(), name)
	f.must(err)
	return l, ok
}

func (f *fixture) encode(o object.Object) object.Encoded {
	f.Helper()
	return got(object.Encode(o))(f)
}

func (f *fixture) blob(text string) object.Encoded {
	f.Helper()
	return f.encode(object.Blob{Value: got(json.Marshal(text))(f)})
}

// id is an oid for refs that need no object.
func id(s string) object.OID { return object.Hash([]byte(s)) }

func notice(text string) store.EventBody {
	return store.NoticeEvent{Level: store.Info, Owner: "storetest", Message: text}
}

// never is a time after every write, for deletes that judge none.
const never = store.Millis(math.MaxInt64)
