package storetest

import (
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func refTests() []test {
	return []test{
		{"C19 a ref is made from absence, and a stale from is a conflict", refsCreate},
		{"C20 a ref is deleted by a zero to", refsDelete},
		{"many are read in the order asked for", refsInOrder},
		{"C24 the list is cut by prefix and ordered by name", refsList},
		{"C10 C24 a head's prefix does not take in main-2 with main", refsPrefixOfHead},
		{"C24 a prefix is bytes, not a pattern", refsPrefixIsBytes},
		{"names may be as long as the limit and hold any letters", refsNames},
		{"sessions do not share refs", refsPerSession},
	}
}

func refsCreate(f *fixture) {
	f.set(f.a, "refs/heads/main", object.OID{}, id("1"))
	f.both(func(name string, s store.Session) {
		equal(f, name, id("1"), f.read(s, "refs/heads/main"))
		for _, from := range []object.OID{{}, id("2")} {
			out := f.update(s, store.UpdateOptions{}, store.Update{Name: "refs/heads/main", From: from, To: id("3")})
			want := store.UpdateOutcome(store.UpdateConflict{Name: "refs/heads/main", Actual: id("1")})
			equal(f, name+": outcome from "+from.Short(), want, out)
		}
	})
	equal(f, "after the conflicts", id("1"), f.read(f.a, "refs/heads/main"))
	equal(f, "last sequence number", store.Seq(1), f.last(f.a))
	out := f.update(f.a, store.UpdateOptions{}, store.Update{Name: "refs/heads/other", From: id("1"), To: id("2")})
	want := store.UpdateOutcome(store.UpdateConflict{Name: "refs/heads/other"})
	equal(f, "an absent ref expected to be there", want, out)
	f.set(f.b, "refs/heads/main", id("1"), id("2"))
	equal(f, "after a move through the other handle", id("2"), f.read(f.a, "refs/heads/main"))
}

func refsDelete(f *fixture) {
	f.set(f.a, "refs/x", object.OID{}, id("1"))
	f.set(f.a, "refs/x", id("1"), object.OID{})
	f.both(func(name string, s store.Session) {
		if oid := f.read(s, "refs/x"); !oid.IsZero() {
			f.Errorf("%s: the deleted ref reads %s", name, oid)
		}
		if list := got(s.ListRefs(f.Context(), ""))(f); len(list) != 0 {
			f.Errorf("%s: the deleted ref is listed: %v", name, list)
		}
	})
	f.set(f.b, "refs/x", object.OID{}, id("1"))
	equal(f, "made again", id("1"), f.read(f.a, "refs/x"))
}

func refsInOrder(f *fixture) {
	f.set(f.a, "refs/x", object.OID{}, id("x"))
	f.set(f.a, "refs/y", object.OID{}, id("y"))
	f.both(func(name string, s store.Session) {
		names := []ref.Name{"refs/y", "refs/none", "refs/x", "refs/y"}
		oids := got(s.ReadRefs(f.Context(), names...))(f)
		equal(f, name, []object.OID{id("y"), {}, id("x"), id("y")}, oids)
		equal(f, name+": the argument", []ref.Name{"refs/y", "refs/none", "refs/x", "refs/y"}, names)
		if oids := got(s.ReadRefs(f.Context()))(f); len(oids) != 0 {
			f.Errorf("%s: no names gave %v", name, oids)
		}
	})
}

// fill makes refs of the given names, each to its own oid, and returns them as given.
func (f *fixture) fill(names ...ref.Name) []store.Ref {
	f.Helper()
	refs := make([]store.Ref, len(names))
	updates := make([]store.Update, len(names))
	for i, n := range names {
		refs[i] = store.Ref{Name: n, OID: id(string(n))}
		updates[i] = store.Update{Name: n, To: refs[i].OID}
	}
	f.updated(f.a, store.UpdateOptions{}, updates...)
	return refs
}

// listed lists through both handles.
func (f *fixture) listed(prefix string, want []store.Ref) {
	f.Helper()
	f.both(func(name string, s store.Session) {
		equal(f, name+": prefix "+prefix, want, got(s.ListRefs(f.Context(), prefix))(f))
	})
}

func refsList(f *fixture) {
	f.listed("", nil)
	// In byte order, which is not the order of any locale.
	refs := f.fill("refs/facts/B", "refs/facts/_", "refs/facts/a", "refs/heads/Z", "refs/heads/a", "refs/heads/a/b",
		"refs/heads/ab", "refs/heads/é", "refs/heads/\uffee", "refs/heads/\U0001F600")
	f.listed("", refs)
	f.listed("refs/", refs)
	f.listed(ref.Heads, refs[3:])
	f.listed("refs/heads/a", refs[4:7])
	f.listed("refs/heads/a/", refs[5:6])
	f.listed("refs/none/", nil)
	f.listed("refs/heads/\U0001F600", refs[9:])
}

func refsPrefixOfHead(f *fixture) {
	refs := f.fill(ref.QueueBase("main", "prompt"), ref.QueueTip("main", "prompt"), ref.QueueTip("main-2", "prompt"),
		ref.QueueTip("main2", "prompt"))
	f.listed(ref.HeadQueues("main"), refs[:2])
	f.listed(ref.HeadQueues("main-2"), refs[2:3])
}

func refsPrefixIsBytes(f *fixture) {
	refs := f.fill("refs/keys/A%2Fb", "refs/keys/A_b", "refs/keys/Axb", "refs/keys/a_b", "refs/keys/axb")
	f.listed("refs/keys/A_", refs[1:2])
	f.listed("refs/keys/A%", refs[:1])
	f.listed("refs/keys/a", refs[3:])
	f.listed("REFS/", nil)
	f.listed("refs/keys/*", nil)
}

func refsNames(f *fixture) {
	long := ref.Name("refs/facts/" + strings.Repeat("x", ref.MaxLength-len("refs/facts/")))
	f.must(long.Check())
	refs := f.fill(long[:len(long)-1], long, "refs/it's;--\"q\"", "refs/\u2028/\U0010FFFF")
	for _, r := range refs {
		f.both(func(name string, s store.Session) {
			equal(f, name+": "+string(r.Name), r.OID, f.read(s, r.Name))
		})
	}
	equal(f, "listed", 4, len(got(f.b.ListRefs(f.Context(), ""))(f)))
	f.set(f.b, long, id(string(long)), object.OID{})
	equal(f, "the name one byte shorter", refs[0].OID, f.read(f.a, refs[0].Name))
}

func refsPerSession(f *fixture) {
	other := f.create(f.storeA, store.CreateOptions{ID: "s2"})
	f.set(f.a, "refs/x", object.OID{}, id("1"))
	if oid := f.read(other, "refs/x"); !oid.IsZero() {
		f.Errorf("a ref of one session reads %s in another", oid)
	}
	equal(f, "first sequence number of the other", store.Seq(1), f.set(other, "refs/x", object.OID{}, id("2")))
	equal(f, "ref of the first", id("1"), f.read(f.b, "refs/x"))
}
