package storetest

import (
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func chainTests() []test {
	return []test{
		{"C47 commits come newest first by parent", func(f *fixture) { f.chainOf(f.commits(300)) }},
		{"C47 changes come newest first by previous", func(f *fixture) { f.chainOf(f.changes(300)) }},
		{"C47 a zero limit, a zero start and an unknown start give none", chainNone},
		{"C48 a missing parent ends the chain", chainMissing},
		{"C49 an object without a parent is a chain of one", chainOfOne},
		{"a grown chain is read anew from its new tip", chainGrown},
	}
}

// chainOf stores a chain, oldest first, and walks parts of it.
func (f *fixture) chainOf(objs []object.Encoded) {
	f.Helper()
	f.put(f.a, objs...)
	want := make([]store.Entry, len(objs))
	for i, e := range objs {
		want[i] = store.Entry{OID: e.OID, Object: e.Object}
	}
	slices.Reverse(want)
	n := len(want)
	for _, tc := range []struct {
		name       string
		from, stop object.OID
		limit      int
		want       []store.Entry
	}{
		{"all", want[0].OID, object.OID{}, n, want},
		{"more than there are", want[0].OID, object.OID{}, 10 * n, want},
		{"one", want[0].OID, object.OID{}, 1, want[:1]},
		{"a few", want[0].OID, object.OID{}, 7, want[:7]},
		{"from the middle", want[100].OID, object.OID{}, 5, want[100:105]},
		{"to a stop", want[0].OID, want[150].OID, n, want[:150]},
		{"to a stop beyond the limit", want[0].OID, want[150].OID, 149, want[:149]},
		{"to a stop right behind", want[10].OID, want[11].OID, n, want[10:11]},
		{"to a stop that is not on the way", want[10].OID, want[9].OID, n, want[10:]},
		{"to an unknown stop", want[10].OID, id("none"), n, want[10:]},
		{"to the start", want[10].OID, want[10].OID, n, nil},
	} {
		f.both(func(handle string, s store.Session) {
			chain := got(s.Chain(f.Context(), tc.from, tc.stop, tc.limit))(f)
			equal(f, fmt.Sprintf("%s, by %s", tc.name, handle), tc.want, chain)
		})
	}
}

func chainNone(f *fixture) {
	e := f.commits(1)[0]
	f.put(f.a, e)
	for _, tc := range []struct {
		name  string
		from  object.OID
		limit int
	}{
		{"zero limit", e.OID, 0},
		{"zero start", object.OID{}, 10},
		{"unknown start", id("none"), 10},
	} {
		if chain := got(f.a.Chain(f.Context(), tc.from, object.OID{}, tc.limit))(f); len(chain) != 0 {
			f.Errorf("%s: got %v", tc.name, chain)
		}
	}
}

func chainMissing(f *fixture) {
	objs := f.commits(6)
	f.put(f.a, slices.Concat(objs[:2], objs[3:])...)
	f.both(func(name string, s store.Session) {
		chain := got(s.Chain(f.Context(), objs[5].OID, object.OID{}, 10))(f)
		want := []store.Entry{
			{OID: objs[5].OID, Object: objs[5].Object},
			{OID: objs[4].OID, Object: objs[4].Object},
			{OID: objs[3].OID, Object: objs[3].Object},
		}
		equal(f, name, want, chain)
	})
}

func chainOfOne(f *fixture) {
	for _, o := range samples() {
		e := f.encode(o)
		f.put(f.a, e)
		chain := got(f.b.Chain(f.Context(), e.OID, object.OID{}, 10))(f)
		equal(f, object.Kind(o), []store.Entry{{OID: e.OID, Object: o}}, chain)
	}
}

func chainGrown(f *fixture) {
	objs := f.commits(20)
	for i, e := range objs {
		f.put(f.a, e)
		chain := got(f.b.Chain(f.Context(), e.OID, object.OID{}, 100))(f)
		if len(chain) != i+1 || chain[0].OID != e.OID {
			f.Fatalf("after %d commits the chain has %d", i+1, len(chain))
		}
	}
}
