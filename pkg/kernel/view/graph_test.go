package view_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Conformance 101: a branch is oldest first with its limit honoured, a walk newest first, and a null tip is empty.
func TestConformance101_Branch(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	var bodies []object.Body
	for range 150 { // more than a page
		bodies = append(bodies, user("x"))
	}
	main := oids(g.branch("main", object.OID{}, "", bodies...))
	tip := main[len(main)-1]
	for limit, want := range map[int][]object.OID{0: main, -1: main, 1: main[149:], 100: main[50:], 1000: main} {
		got, err := view.Branch(t.Context(), g, tip, limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, oids(got)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	at := len(main)
	for c, err := range view.Walk(t.Context(), g, tip, main[2]) {
		if at--; err != nil || c.OID != main[at] {
			t.Fatalf("walk at %d: %s, %v", at, c.OID, err)
		}
	}
	if at != 3 {
		t.Errorf("the walk ended at %d", at)
	}
	if got, err := view.Branch(t.Context(), g, object.OID{}, 0); err != nil || got != nil {
		t.Errorf("null tip: %v, %v", got, err)
	}
}

// Conformance 102: context starts at the newest checkpoint inclusive, or is the whole branch. A cached context of an ancestor
// makes no difference.
func TestConformance102_Context(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	full := object.CheckpointBody{Summary: "s", RetainedTail: []message.Message{}, Config: &object.Config{Model: model("two").Model, Agent: "coder"}}
	main := g.branch("main", object.OID{}, "", model("one"), user("1"), checkpoint("s"), user("2"), model("two"),
		object.MessageBody{Message: message.NewUser("3", 1), Agent: "coder"}, full, answer("4"), object.ConfigBody{ThinkingLevel: "high"})
	from := []int{0, 0, 2, 2, 2, 2, 6, 6, 6}
	contexts := make([]view.Context, len(main))
	for i, c := range main {
		got, err := view.LoadContext(t.Context(), g, c.OID, view.Context{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(oids(main[from[i]:i+1]), oids(got.Commits)); diff != "" {
			t.Errorf("context of %d (-want +got):\n%s", i, diff)
		}
		contexts[i] = got
	}
	for i := range main {
		for j, cached := range contexts {
			got, err := view.LoadContext(t.Context(), g, main[i].OID, cached)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(contexts[i], got); diff != "" {
				t.Errorf("context of %d from that of %d (-want +got):\n%s", i, j, diff)
			}
		}
	}
}

// Conformance 103: ancestry follows the parent only; self is an ancestor; null is an ancestor of everything.
func TestConformance103_Ancestry(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	side := g.branch("side", object.OID{}, "", user("s"))
	one := g.branch("main", object.OID{}, "", user("1"))
	two := g.commit(object.Commit{Parent: one[0].OID, Imports: oids(side)}, user("2"))
	for name, test := range map[string]struct {
		old, tip object.OID
		want     bool
	}{
		"parent":       {one[0].OID, two.OID, true},
		"self":         {two.OID, two.OID, true},
		"null":         {object.OID{}, two.OID, true},
		"null of null": {object.OID{}, object.OID{}, true},
		"import":       {side[0].OID, two.OID, false},
		"child":        {two.OID, one[0].OID, false},
		"of null":      {two.OID, object.OID{}, false},
	} {
		if got, err := view.IsAncestor(t.Context(), g, test.old, test.tip); err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Conformance 104: a tip that is missing or no commit is an error that names it.
func TestConformance104_BadTip(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	for name, tip := range map[string]object.OID{
		"missing":  object.Hash([]byte("x")),
		"a blob":   g.put(object.Blob{Value: jsontext.Value(`1`)}),
		"a change": g.put(object.Change{Body: user("x"), At: 1}),
	} {
		_, errBranch := view.Branch(t.Context(), g, tip, 0)
		_, errContext := view.LoadContext(t.Context(), g, tip, view.Context{})
		_, errAncestor := view.IsAncestor(t.Context(), g, object.Hash([]byte("y")), tip)
		for _, err := range []error{errBranch, errContext, errAncestor} {
			if !errors.Is(err, object.ErrCorrupt) || !strings.Contains(err.Error(), tip.String()) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func drawMessages(ms []message.Message) string {
	var out []string
	for _, m := range ms {
		switch m := m.(type) {
		case message.User:
			out = append(out, "user:"+message.PlainText(m.Content))
		case message.Assistant:
			text := "assistant:"
			for _, p := range m.Content {
				switch p := p.(type) {
				case message.Text:
					text += p.Text
				case message.ToolCall:
					text += "!" + p.ID
				case message.Thinking:
				}
			}
			out = append(out, text)
		case message.ToolResult:
			text := message.PlainText(m.Content)
			if text == view.Interrupted && m.IsError {
				text = "interrupted"
			}
			out = append(out, m.ToolCallID+"="+text)
		}
	}
	return strings.Join(out, " ")
}

// Conformance 105 and 106: what of a context a model is sent.
func TestConformance105_Messages(t *testing.T) {
	t.Parallel()
	aborted := object.MessageBody{Message: assistant(message.StopAborted, message.Text{Text: "hal"}, call("a"))}
	note := object.NoteBody{Type: "n", Data: jsontext.Value(`1`)}
	for name, test := range map[string]struct {
		bodies []object.Body
		want   string
	}{
		"failed and aborted":     {[]object.Body{user("1"), failure("x"), aborted, result("a", "1"), answer("2")}, "user:1 assistant:2"},
		"config and notes":       {[]object.Body{model("m"), user("1"), note}, "user:1"},
		"orphan result":          {[]object.Body{user("1"), result("a", "1")}, "user:1"},
		"unanswered call":        {[]object.Body{user("1"), calls("a", "b"), result("b", "2"), user("3")}, "user:1 assistant:!a!b a=interrupted b=2 user:3"},
		"call order":             {[]object.Body{calls("a", "b"), result("b", "2"), result("a", "1")}, "assistant:!a!b a=1 b=2"},
		"late result":            {[]object.Body{calls("a"), user("2"), result("a", "1")}, "assistant:!a a=1 user:2"},
		"checkpoint":             {[]object.Body{checkpoint("s", message.NewUser("t", 1)), user("2")}, "user:Summary of the conversation so far:\n\ns user:t user:2"},
		"checkpoint, no summary": {[]object.Body{checkpoint("", message.NewUser("t", 1))}, "user:t"},
		"summary":                {[]object.Body{object.SummaryBody{Text: "s"}}, "user:s"},
		"empty summary":          {[]object.Body{object.SummaryBody{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var commits []view.Commit // not encoded: older writers left what none accepts now
			for _, b := range test.bodies {
				commits = append(commits, view.Commit{Commit: object.Commit{Body: b}})
			}
			if diff := cmp.Diff(test.want, drawMessages(view.Messages(commits))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// Conformance 108: branch configuration is the latest value of each member, across checkpoints with and without their own fold.
func TestConformance108_ConfigFold(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	main := g.branch("main", object.OID{}, "", model("one"), object.ConfigBody{ThinkingLevel: "low"}, checkpoint("s"), model("two"),
		object.MessageBody{Message: message.NewUser("x", 1), Agent: "coder"}, checkpoint("s"), object.ConfigBody{ThinkingLevel: "high"})
	got, err := view.LoadContext(t.Context(), g, main[6].OID, view.Context{})
	if err != nil {
		t.Fatal(err)
	}
	want := object.Config{Model: &object.Model{Provider: "p", ID: "two"}, ThinkingLevel: "high", Agent: "coder"}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}
