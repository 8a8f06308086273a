package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Conformance 220: the tree is a forest with the active path and the heads' labels.
func TestConformance220_Tree(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	main := g.branch("main", object.OID{}, "run_1", user("hi"), calls("a"), result("a", "out\nput"), answer("yes"))
	side := g.branch("side", main[0].OID, "", object.SummaryBody{Text: "the other path"}, user(strings.Repeat("é ", 200)))
	g.set(ref.Head("same"), side[1].OID)
	loose := g.commit(object.Commit{Parent: main[0].OID, At: 105}, failure("boom"))
	orphan := g.commit(object.Commit{Parent: object.Hash([]byte("swept")), At: 99}, checkpoint("s"))
	config := g.commit(object.Commit{Parent: orphan.OID}, object.ConfigBody{Model: &object.Model{ID: "m"}, Agent: "coder"})
	g.put(object.Blob{Value: []byte(`1`)}) // no commit

	got, err := view.LoadTree(t.Context(), g, "main")
	if err != nil {
		t.Fatal(err)
	}
	want := view.Tree{Nodes: []view.TreeNode{
		{OID: orphan.OID, Kind: "checkpoint", Text: "s", At: 99},
		{OID: config.OID, Parent: orphan.OID, Kind: "config", Text: "m coder", At: config.Commit.At},
		{OID: main[0].OID, Kind: "message", Role: "user", Text: "hi", At: 100, Run: "run_1", Active: true},
		{OID: loose.OID, Parent: main[0].OID, Kind: "message", Role: "assistant", At: 105},
		{OID: main[1].OID, Parent: main[0].OID, Kind: "message", Role: "assistant", At: 110, Run: "run_1", Active: true},
		{OID: main[2].OID, Parent: main[1].OID, Kind: "message", Role: "toolResult", Text: "out put", At: 120, Run: "run_1", Active: true},
		{OID: main[3].OID, Parent: main[2].OID, Kind: "message", Role: "assistant", Text: "yes", At: 130, Run: "run_1", Active: true, Heads: []string{"main"}},
		{OID: side[0].OID, Parent: main[0].OID, Kind: "summary", Text: "the other path", At: 140},
		{OID: side[1].OID, Parent: side[0].OID, Kind: "message", Role: "user", Text: strings.Repeat("é ", 59) + "é…", At: 150, Heads: []string{"same", "side"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}

	other, err := view.LoadTree(t.Context(), g, "unborn")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range other.Nodes {
		if n.Active {
			t.Errorf("%s is on the path of an unborn head", n.OID)
		}
	}
}

func TestTreeSiblingsOfOneTime(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	for _, text := range []string{"a", "b", "c", "d"} {
		g.commit(object.Commit{At: 7}, user(text))
	}
	got, err := view.LoadTree(t.Context(), g, "main")
	if err != nil || len(got.Nodes) != 4 {
		t.Fatalf("got %d nodes, %v", len(got.Nodes), err)
	}
	for i, n := range got.Nodes[1:] {
		if got.Nodes[i].OID.Compare(n.OID) >= 0 {
			t.Error("siblings of one time are not in the order of their oids")
		}
	}
}

// A head that names nothing is corruption, and says so.
func TestTreeMissingTip(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	missing := object.Hash([]byte("x"))
	g.set(ref.Head("main"), missing)
	_, err := view.LoadTree(t.Context(), g, "main")
	if !errors.Is(err, object.ErrCorrupt) || !strings.Contains(err.Error(), missing.String()) {
		t.Errorf("got %v", err)
	}
}

// Conformance 220: selecting a user message goes back to before it and restores it.
func TestConformance220_NavigationTarget(t *testing.T) {
	t.Parallel()
	commits := chain(t, user("hi"), answer("yes"), user("more"))
	for i, want := range []object.OID{{}, commits[1].OID, commits[1].OID} {
		target, restored := view.NavigationTarget(commits[i])
		if target != want {
			t.Errorf("commit %d: target %s, want %s", i, target, want)
		}
		if (restored != nil) != (i != 1) {
			t.Errorf("commit %d: restored %v", i, restored)
		}
	}
	if _, restored := view.NavigationTarget(commits[2]); message.PlainText(restored.Content) != "more" {
		t.Errorf("restored %v", restored)
	}
}

// Conformance 220: what is abandoned is measured against the selection.
func TestConformance220_Abandoned(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	main := g.branch("main", object.OID{}, "", user("1"), answer("2"), user("3"), answer("4"))
	side := g.branch("side", main[1].OID, "", user("5"))
	tip := main[3].OID
	for name, test := range map[string]struct {
		tip, to object.OID
		want    []object.OID
	}{
		"back":          {tip, main[1].OID, oids(main[2:])},
		"across":        {tip, side[0].OID, oids(main[2:])},
		"forward":       {main[1].OID, tip, nil},
		"nowhere":       {tip, tip, nil},
		"to the root":   {tip, object.OID{}, oids(main)},
		"from unborn":   {object.OID{}, tip, nil},
		"the other way": {side[0].OID, tip, oids(side)},
	} {
		got, err := view.Abandoned(t.Context(), g, test.tip, test.to)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, oids(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
