package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// draw writes a transcript as a few words.
func draw(t view.Transcript) string {
	var out []string
	for _, item := range t.Items {
		switch i := item.(type) {
		case view.Turn:
			var parts []string
			for _, p := range i.Parts {
				parts = append(parts, drawPart(p))
			}
			out = append(out, fmt.Sprintf("turn(%s) %s %d+%dms", strings.Join(parts, " "), i.Outcome, i.StartedAt, i.DurationMS))
		case view.CheckpointMarker:
			out = append(out, fmt.Sprintf("checkpoint(%s %d)", i.Summary, i.TokensBefore))
		case view.SummaryMarker:
			out = append(out, "summary("+i.Text+")")
		case view.ConfigMarker:
			out = append(out, "config("+i.Config.Model.ID+")")
		case view.NoteMarker:
			out = append(out, "note("+i.Type+" "+string(i.Data)+")")
		}
	}
	return strings.Join(out, "\n")
}

func drawPart(p view.TranscriptPart) string {
	switch p := p.(type) {
	case view.UserPart:
		return "user:" + message.PlainText(p.Content)
	case view.AssistantPart:
		return "assistant:" + p.Text
	case view.ThinkingPart:
		return "thinking:" + p.Text
	case view.ToolPart:
		out := p.ID + string(p.Args)
		if p.Result != nil {
			out += "=" + message.PlainText(p.Result.Content)
		}
		return out
	case view.NotePart:
		return "note:" + p.Text
	}
	return "?"
}

// Conformance 217: a turn is a user message with its parts and its tools paired with their results.
func TestConformance217_Turns(t *testing.T) {
	t.Parallel()
	aborted := object.MessageBody{Message: assistant(message.StopAborted, message.Text{Text: "hal"}, call("a"))}
	for name, test := range map[string]struct {
		bodies []object.Body
		want   string
	}{
		"nothing":         {nil, ""},
		"open":            {[]object.Body{user("hi")}, "turn(user:hi) open 100+0ms"},
		"answered":        {[]object.Body{user("hi"), answer("yes")}, "turn(user:hi assistant:yes) done 100+10ms"},
		"calls open":      {[]object.Body{user("hi"), calls("a", "b")}, `turn(user:hi tool:a{"n":1} tool:b{"n":1}) open 100+10ms`},
		"cut, with calls": {[]object.Body{user("hi"), object.MessageBody{Message: assistant(message.StopLength, call("a"))}}, `turn(user:hi tool:a{"n":1}) open 100+10ms`},
		"calls paired": {
			[]object.Body{user("hi"), calls("a", "b"), result("b", "2"), result("a", "1"), answer("ok")},
			`turn(user:hi tool:a{"n":1}=1 tool:b{"n":1}=2 assistant:ok) done 100+40ms`,
		},
		"ids repeated in a response": {
			[]object.Body{user("hi"), calls("a", "a", "a"), result("a", "1"), result("a", "2")},
			`turn(user:hi tool:a{"n":1}=1 tool:a{"n":1}=2 tool:a{"n":1}) open 100+30ms`,
		},
		"ids repeated between responses": {
			[]object.Body{user("hi"), calls("a"), calls("a"), result("a", "2"), result("a", "1"), result("a", "0")},
			`turn(user:hi tool:a{"n":1}=1 tool:a{"n":1}=2 tool:a=0) open 100+50ms`,
		},
		"result in a later turn": {
			[]object.Body{user("hi"), calls("a"), user("go on"), result("a", "1"), answer("ok")},
			"turn(user:hi tool:a{\"n\":1}=1) open 100+30ms\nturn(user:go on assistant:ok) done 120+20ms",
		},
		"result without a call": {[]object.Body{result("a", "1")}, "turn(tool:a=1) open 100+0ms"},
		"no user message":       {[]object.Body{answer("hello"), user("hi")}, "turn(assistant:hello) done 100+0ms\nturn(user:hi) open 110+0ms"},
		"steer opens a turn": {
			[]object.Body{user("hi"), calls("a"), result("a", "1"), user("no"), answer("ok")},
			"turn(user:hi tool:a{\"n\":1}=1) open 100+20ms\nturn(user:no assistant:ok) done 130+10ms",
		},
		"blank output": {
			[]object.Body{user("hi"), object.MessageBody{Message: assistant(message.StopEnd, message.Text{Text: " \n"}, message.Thinking{Thinking: "\t"}, message.Text{Text: "x"})}},
			"turn(user:hi assistant:x) done 100+10ms",
		},
		"thinking":          {[]object.Body{user("hi"), object.MessageBody{Message: assistant(message.StopEnd, message.Thinking{Thinking: "hm"})}}, "turn(user:hi thinking:hm) done 100+10ms"},
		"only blank output": {[]object.Body{answer(" ")}, ""},
		"failed":            {[]object.Body{user("hi"), failure("boom")}, "turn(user:hi note:boom) failed 100+10ms"},
		"failed, retried":   {[]object.Body{user("hi"), failure("boom"), answer("ok")}, "turn(user:hi note:boom assistant:ok) done 100+20ms"},
		"aborted":           {[]object.Body{user("hi"), aborted, result("a", "1")}, `turn(user:hi assistant:hal tool:a{"n":1}=1) aborted 100+20ms`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, draw(view.TranscriptOf(chain(t, test.bodies...)))); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// Part ids are made of what never changes, and a user part carries what its sender knows it by.
func TestTranscriptIDs(t *testing.T) {
	t.Parallel()
	m := assistant(message.StopError, message.Text{Text: " "}, message.Text{Text: "x"}, message.Thinking{Thinking: "y"}, call("c/1"))
	m.ErrorMessage = "boom"
	author := &object.Actor{UserID: "u"}
	u := object.Commit{Body: user("hi"), At: 5, Change: object.Hash([]byte("change")), Key: "k", Author: author}
	a := object.Commit{Parent: encode(t, u).OID, Body: object.MessageBody{Message: m}, At: 3}
	first, second := encode(t, u).OID, encode(t, a).OID
	got := view.TranscriptOf([]view.Commit{{OID: first, Commit: u}, {OID: second, Commit: a}})
	want := []view.TranscriptItem{view.Turn{
		ID: first, Outcome: view.TurnFailed, StartedAt: 5, DurationMS: 0, // the clock went back
		Parts: []view.TranscriptPart{
			view.UserPart{ID: "user:" + first.String(), Content: []message.Content{message.Text{Text: "hi"}}, At: 5, Change: u.Change, Key: "k", Author: author},
			view.AssistantPart{ID: "assistant:" + second.String() + ":1", Text: "x"},
			view.ThinkingPart{ID: "thinking:" + second.String() + ":2", Text: "y"},
			view.ToolPart{ID: "tool:c/1", CallID: "c/1", Tool: "read", Args: jsontext.Value(`{"n":1}`)},
			view.NotePart{ID: "note:" + second.String(), Text: "boom"},
		},
	}}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

// Conformance 218: markers sit between turns, and a turn goes on behind those that come while it is answered.
func TestConformance218_Markers(t *testing.T) {
	t.Parallel()
	got := draw(view.TranscriptOf(chain(t,
		model("m1"), user("hi"), calls("a"), result("a", "1"), checkpoint("so far"), answer("ok"),
		object.NoteBody{Type: "nobody/knows", Data: jsontext.Value(`[1]`)}, object.SummaryBody{Text: "the other path"}, user("more"),
	)))
	want := `config(m1)
turn(user:hi tool:a{"n":1}=1 assistant:ok) done 110+40ms
checkpoint(so far 7)
note(nobody/knows [1])
summary(the other path)
turn(user:more) open 180+0ms`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

// Conformance 218: a fork is refused, and the tip again changes nothing.
func TestConformance218_Append(t *testing.T) {
	t.Parallel()
	commits := chain(t, user("hi"), answer("yes"), user("more"))
	two := view.TranscriptOf(commits[:2])
	if got, ok := two.Append(commits[1]); !ok || draw(got) != draw(two) || got.Tip != two.Tip {
		t.Errorf("the tip again: %v, %s", ok, draw(got))
	}
	fork := view.Commit{Commit: object.Commit{Parent: commits[0].OID, Body: answer("no"), At: 110}}
	fork.OID = encode(t, fork.Commit).OID
	for name, c := range map[string]view.Commit{"fork": fork, "an older commit": commits[0]} {
		if got, ok := two.Append(c); ok || draw(got) != draw(two) {
			t.Errorf("%s was taken: %s", name, draw(got))
		}
	}
	if got, ok := view.TranscriptOf(commits[:1]).Append(commits[2]); ok {
		t.Errorf("a gap was taken: %s", draw(got))
	}
	if got, ok := (view.Transcript{}).Append(commits[0]); !ok || got.Tip != commits[0].OID {
		t.Errorf("the first commit: %v", ok)
	}
}

// Conformance 218: the incremental fold equals the full one, and leaves what it started from alone.
func TestConformance218_IncrementalEqualsFull(t *testing.T) {
	t.Parallel()
	id := rapid.SampledFrom([]string{"a", "b"})
	text := rapid.SampledFrom([]string{"x", " ", "y"})
	body := rapid.OneOf(
		rapid.Map(text, user), rapid.Map(text, answer), rapid.Map(text, failure),
		rapid.Map(rapid.SliceOfN(id, 1, 3), func(ids []string) object.Body { return calls(ids...) }),
		rapid.Map(id, func(id string) object.Body { return result(id, "r") }),
		rapid.Just[object.Body](model("m")), rapid.Just(checkpoint("s")),
	)
	rapid.Check(t, func(rt *rapid.T) {
		commits := chain(rt, rapid.SliceOfN(body, 0, 24).Draw(rt, "bodies")...)
		grown := []view.Transcript{{}}
		for i, c := range commits {
			next, ok := grown[i].Append(c)
			if !ok {
				rt.Fatal("refused ", i)
			}
			// A second reader of the same transcript goes another way.
			other := c
			other.Commit.Body = result("a", "other")
			grown[i].Append(other)
			grown = append(grown, next)
		}
		for i, got := range grown {
			want := view.TranscriptOf(commits[:i])
			if diff := cmp.Diff(want.Items, got.Items); diff != "" || want.Tip != got.Tip {
				rt.Fatalf("after %d commits (-full +incremental):\n%s", i, diff)
			}
			for _, item := range got.Items {
				if turn, ok := item.(view.Turn); ok && len(turn.Parts) == 0 {
					rt.Fatal("a blank row")
				}
			}
		}
	})
}
