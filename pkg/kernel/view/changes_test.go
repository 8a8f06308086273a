package view_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

func TestChangesOf(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	one := g.branch("main", object.OID{}, "run_1", user("hi"), answer("yes"))
	manual := g.branch("main", one[1].OID, "", checkpoint("s"))
	two := g.branch("main", manual[0].OID, "run_2", user("more"), calls("a"), result("a", "1"))
	summary := g.branch("main", two[2].OID, "", object.SummaryBody{Text: "s"})
	for run, want := range map[string][]object.OID{
		"run_1": oids(one), "run_2": oids(two), "run_3": nil, "": nil,
	} {
		got, err := view.ChangesOf(t.Context(), g, summary[0].OID, run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, oids(got)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", run, diff)
		}
	}
	if got, err := view.ChangesOf(t.Context(), g, object.OID{}, "run_1"); err != nil || len(got) != 0 {
		t.Errorf("unborn: %v, %v", got, err)
	}
}

// ChangesOf reads no further than it must: what is older than the run may be gone.
func TestChangesOfStopsEarly(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	old := g.commit(object.Commit{Parent: object.Hash([]byte("swept")), Run: "run_1"}, user("hi"))
	two := g.branch("main", old.OID, "run_2", user("more"))
	got, err := view.ChangesOf(t.Context(), g, two[0].OID, "run_2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(oids(two), oids(got)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func patched(t *testing.T, isError bool, details any) object.Body {
	t.Helper()
	value, err := json.Marshal(details)
	if err != nil {
		t.Fatal(err)
	}
	m := resultOf("a", "done")
	m.IsError, m.Details = isError, value
	return object.MessageBody{Message: m}
}

type patchDetails struct {
	Patch any    `json:"patch"`
	Path  string `json:"path,omitzero"`
}

// Conformance 219: file changes sum the patches per file and ignore failed calls.
func TestConformance219_FileChanges(t *testing.T) {
	t.Parallel()
	const one = "--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n"
	const two = "diff --git a/y.go b/y.go\nnew file mode 100644\n--- /dev/null\n+++ b/y.go\n@@ -0,0 +1 @@\n+a\n" +
		"diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1 +1,0 @@\n-a\n"
	commits := chain(t,
		user("hi"), patched(t, false, patchDetails{Patch: one}), patched(t, false, patchDetails{Patch: two}),
		patched(t, true, patchDetails{Patch: one}), patched(t, false, patchDetails{Patch: 7}), patched(t, false, "no object"),
		patched(t, false, patchDetails{}), result("b", one), answer(one),
	)
	got := view.FileChanges(commits)
	want := []view.FileChange{
		{Path: "x.go", Added: 2, Removed: 2, LastCommit: commits[2].OID},
		{Path: "y.go", Added: 1, Removed: 0, LastCommit: commits[2].OID},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got, want := view.DiffStatOf(got), (view.DiffStat{Files: 2, Added: 3, Removed: 2}); got != want {
		t.Errorf("stat %+v, want %+v", got, want)
	}
	if got := view.FileChanges(nil); got != nil {
		t.Errorf("nothing: %v", got)
	}
}

func TestPatches(t *testing.T) {
	t.Parallel()
	type change struct {
		Path           string
		Added, Removed int
	}
	for name, test := range map[string]struct {
		patch, path string
		want        []change
	}{
		"empty":              {"", "x", nil},
		"not a diff":         {"hello\n+world\n-x\n", "x", nil},
		"lines like headers": {"--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n--- a\n--- b\n+++ c\n d\n", "", []change{{"x", 1, 2}}},
		"two hunks":          {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9,3 @@ func f() {\n a\n\n+b\n", "", []change{{"x", 2, 1}}},
		"removed file":       {"--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n", "", []change{{"x", 0, 2}}},
		"renamed only":       {"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "", []change{{"y", 0, 0}}},
		"without prefix":     {"--- dir/x\t2026-01-02\n+++ dir/x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", "", []change{{"dir/x", 1, 1}}},
		"windows line ends":  {"--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "", []change{{"x", 1, 1}}},
		"quoted name":        {"--- \"a/\\303\\244\"\n+++ \"b/\\303\\244\"\n@@ -1 +1 @@\n-a\n+b\n", "", []change{{"ä", 1, 1}}},
		"only hunks":         {"@@ -1 +1 @@\n-a\n+b\n", "x", []change{{"x", 1, 1}}},
		"only hunks of none": {"@@ -1 +1 @@\n-a\n+b\n", "", nil},
		"cut short":          {"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "", []change{{"x", 0, 1}, {"y", 1, 1}}},
		"damaged counts":     {"--- a/x\n+++ b/x\n@@ -1,z +1,-4 @@\n-a\n@@ -\n", "", []change{{"x", 0, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []change
			for _, c := range view.FileChanges(chain(t, patched(t, false, patchDetails{test.patch, test.path}))) {
				got = append(got, change{c.Path, c.Added, c.Removed})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// No patch makes the reader fail or count below zero.
func FuzzPatch(f *testing.F) {
	f.Add("--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n")
	f.Add("@@ -1,99999999999999999999 +1 @@\n")
	f.Fuzz(func(t *testing.T, patch string) {
		details, err := json.Marshal(patchDetails{Patch: patch, Path: "p"})
		if err != nil {
			t.Skip("no JSON holds it")
		}
		m := resultOf("a", "x")
		m.Details = details
		for _, c := range view.FileChanges([]view.Commit{{Commit: object.Commit{Body: object.MessageBody{Message: m}}}}) {
			if c.Path == "" || c.Added < 0 || c.Removed < 0 {
				t.Errorf("%+v", c)
			}
		}
	})
}
