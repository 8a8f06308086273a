package view_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func loadEntry(t *testing.T, g *graph) view.SessionEntry {
	t.Helper()
	e, err := view.LoadSessionEntry(t.Context(), g, "main", 50)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Conformance 183: a row folds facts, config, preview, last activity and parent.
func TestConformance183_SessionEntry(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	main := g.branch("main", object.OID{}, "run_1", model("m"), user("hi\n  there"), calls("a"), result("a", "output"))
	g.branch("alt", main[1].OID, "", answer("elsewhere"))
	g.set(ref.Stack("alt"), g.put(object.Stack{Parent: "main"}))
	g.set(ref.Stack("unborn"), g.put(object.Stack{Parent: "main"}))
	g.fact("name", `"A name"`)
	g.fact("pinned", `true`)
	g.fact("archived", `true`)
	g.fact("parent", `{"callId":"c","depth":1,"runId":"r","sessionId":"p"}`)
	want := view.SessionEntry{
		Name: "A name", Preview: "hi there", CreatedAt: 50, LastActivity: 140, Pinned: true, Archived: true,
		Heads: []string{"main", "alt", "unborn"}, Config: object.Config{Model: &object.Model{Provider: "p", ID: "m"}},
		Parent: jsontext.Value(`{"callId":"c","depth":1,"runId":"r","sessionId":"p"}`),
	}
	if diff := cmp.Diff(want, loadEntry(t, g)); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestSessionEntryOfNewSession(t *testing.T) {
	t.Parallel()
	want := view.SessionEntry{CreatedAt: 50, LastActivity: 50, Heads: []string{"main"}}
	if diff := cmp.Diff(want, loadEntry(t, newGraph(t))); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

// A fact of another form than its own does not take the session off the list.
func TestSessionEntryOddFacts(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	g.fact("name", `7`)
	g.fact("pinned", `"yes"`)
	g.fact("archived", `false`)
	if got := loadEntry(t, g); got.Name != "" || got.Pinned || got.Archived {
		t.Errorf("got %+v", got)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300)
	for name, test := range map[string]struct {
		bodies []object.Body
		want   string
	}{
		"newest":                  {[]object.Body{user("hi"), answer("yes")}, "yes"},
		"not blank":               {[]object.Body{user("hi"), answer(" \n")}, "hi"},
		"not a failure":           {[]object.Body{user("hi"), failure("boom")}, "hi"},
		"not tool output":         {[]object.Body{user("hi"), calls("a"), result("a", "1"), model("m")}, "hi"},
		"cut":                     {[]object.Body{user(long)}, strings.Repeat("ä", 119) + "…"},
		"as long as it may be":    {[]object.Body{user(long[:2*120])}, long[:2*120]},
		"tail of a checkpoint":    {[]object.Body{user("hi"), checkpoint("s", message.NewUser("kept", 1), resultOf("a", "1"))}, "kept"},
		"before a checkpoint":     {[]object.Body{user("hi"), checkpoint("s")}, "hi"},
		"nothing but config":      {[]object.Body{model("m")}, ""},
		"too far from checkpoint": {append(append([]object.Body{user("hi")}, repeat(model("m"), 20)...), checkpoint("s")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			g.branch("main", object.OID{}, "", test.bodies...)
			if got := loadEntry(t, g).Preview; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func repeat(b object.Body, n int) []object.Body {
	out := make([]object.Body, n)
	for i := range out {
		out[i] = b
	}
	return out
}
