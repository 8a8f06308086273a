package builtin_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

const now message.Millis = 1_775_000_000_000 // 2026-03-31T23:33:20Z

// run checks args against the schema of x, as a runner does, and executes the call.
func run(t *testing.T, x tool.Tool, args string) (tool.Outcome, error) {
	t.Helper()
	set, err := tool.NewSet(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.CheckArguments(x.Name, jsontext.Value(args)); err != nil {
		return tool.Errorf("%v", err), nil
	}
	return x.Execute(t.Context(), tool.Call{
		ID: "c1", Name: x.Name, RunID: "r1", Arguments: jsontext.Value(args), Now: now, Progress: func(tool.Progress) {},
	})
}

func mustRun(t *testing.T, x tool.Tool, args string) tool.Outcome {
	t.Helper()
	out, err := run(t, x, args)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wake(t *testing.T, x tool.Tool, w tool.Wake) tool.Done {
	t.Helper()
	out, err := x.Wake(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return asDone(t, out)
}

func asDone(t *testing.T, out tool.Outcome) tool.Done {
	t.Helper()
	done, ok := out.(tool.Done)
	if !ok {
		t.Fatalf("the outcome is %#v, want Done", out)
	}
	return done
}

func asWait(t *testing.T, out tool.Outcome) tool.Wait {
	t.Helper()
	wait, ok := out.(tool.Wait)
	if !ok {
		t.Fatalf("the outcome is %#v, want Wait", out)
	}
	if err := wait.Validate(); err != nil {
		t.Fatal(err)
	}
	return wait
}

func wantError(t *testing.T, done tool.Done, text string) {
	t.Helper()
	if got := message.PlainText(done.Content); !done.IsError || !strings.Contains(got, text) {
		t.Fatalf("got %q (error %v), want an error with %q", got, done.IsError, text)
	}
}

func wantText(t *testing.T, done tool.Done, text string) {
	t.Helper()
	if got := message.PlainText(done.Content); done.IsError || got != text {
		t.Fatalf("got %q (error %v), want %q", got, done.IsError, text)
	}
}

const colours = `{"title":"Which colour? 🎨","choices":[
  {"id":"r","label":"Red"},{"id":"g","label":"Grün","description":"like grass"},{"id":"b","label":"Blue"}],
  "multiple":true,"other":"Another colour","timeoutSeconds":90.0005}`

func TestAsk_parks(t *testing.T) {
	got := asWait(t, mustRun(t, builtin.Ask(), colours))
	want := tool.Wait{
		Selection: &message.Selection{
			Title:    "Which colour? 🎨",
			Choices:  []message.Choice{{ID: "r", Label: "Red"}, {ID: "g", Label: "Grün", Description: "like grass"}, {ID: "b", Label: "Blue"}},
			Multiple: true,
			Other:    "Another colour",
		},
		Until: now + 90_001,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("wait (-want +got):\n%s", diff)
	}
}

func TestAsk_withoutTimeoutHasNoDeadline(t *testing.T) {
	wait := asWait(t, mustRun(t, builtin.Ask(), `{"title":"Go on?","choices":[{"id":"y","label":"Yes"}]}`))
	if wait.Until != 0 || wait.Selection.Other != "" || wait.Selection.Multiple {
		t.Fatalf("got %+v", wait)
	}
}

// TestB48_AskDeadlines proves that a long timeout is kept exactly and a longer one is refused.
func TestB48_AskDeadlines(t *testing.T) {
	ask := func(seconds string) tool.Outcome {
		return mustRun(t, builtin.Ask(), `{"title":"Q","choices":[{"id":"y","label":"Yes"}],"timeoutSeconds":`+seconds+`}`)
	}
	if got := asWait(t, ask("2592000")).Until; got != now+2_592_000_000 {
		t.Errorf("30 days: until is %d", got)
	}
	if got := asWait(t, ask("34560000")).Until; got != now+34_560_000_000 {
		t.Errorf("400 days: until is %d", got)
	}
	if got := asWait(t, ask("1e-9")).Until; got != now+1 {
		t.Errorf("a nanosecond: until is %d", got)
	}
	wantError(t, asDone(t, ask("34560001")), "arguments.timeoutSeconds: maximum")
	wantError(t, asDone(t, ask("0")), "arguments.timeoutSeconds: exclusiveMinimum")
}

func TestAsk_refusesBadQuestions(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{`{"title":"Q"}`, `missing properties: ["choices"]`},
		{`{"title":"Q","choices":[]}`, "arguments.choices: minItems"},
		{`{"title":" ","choices":[{"id":"a","label":"A"}]}`, "selection.title is blank"},
		{`{"title":"Q","choices":[{"id":"a","label":"A"},{"id":"a","label":"B"}]}`, `selection.choices[1].id "a" is used twice`},
		{`{"title":"Q","choices":[{"id":"a","label":"\t"}]}`, "selection.choices[0].label is blank"},
		{`{"title":"Q","choices":[{"id":"a"}]}`, `arguments.choices[0]: required: missing properties: ["label"]`},
		{`{"title":"Q","choices":[{"id":"a","label":"A"}],"other":" "}`, "selection.other is blank"},
		{`{"title":"Q","choices":[{"id":"a","label":"A"}],"wait":1}`, `unexpected additional properties ["wait"]`},
	} {
		wantError(t, asDone(t, mustRun(t, builtin.Ask(), tc.args)), tc.want)
	}
}

func TestAsk_wakes(t *testing.T) {
	x := builtin.Ask()
	wait := asWait(t, mustRun(t, x, colours))
	with := func(set func(w *tool.Wake)) tool.Done {
		w := tool.Wake{Selection: wait.Selection, Until: wait.Until, ParkedAt: now}
		set(&w)
		return wake(t, x, w)
	}
	reply := func(json string) tool.Done {
		return with(func(w *tool.Wake) { w.Reply = jsontext.Value(json) })
	}

	done := reply(`{"picked":["b","g"],"other":"r 🌈"}`)
	wantText(t, done, "Picked: Grün (g), Blue (b)\nIn their own words: r 🌈")
	if done.Title != "Which colour? 🎨" || string(done.Details) != `{"picked":["b","g"],"other":"r 🌈"}` {
		t.Errorf("title %q, details %s", done.Title, done.Details)
	}
	wantText(t, reply(`{"picked":[],"other":"g"}`), "In their own words: g")
	wantText(t, reply(`{"picked":["r"]}`), "Picked: Red (r)")
	wantText(t, with(func(w *tool.Wake) { w.Expired = true }), "Nobody answered in time.")
	wantError(t, with(func(w *tool.Wake) { w.Aborted = true }), "aborted")

	wantError(t, reply(`{"picked":["x"]}`), `picked[0] "x" is not one of the choices`)
	wantError(t, reply(`{"picked":[]}`), "picks nothing and says nothing")
	wantError(t, reply(`"r"`), "The answer cannot be read")
	wantError(t, reply(`{"pick":["r"]}`), "reply.pick: is not known")
	wantError(t, reply(``), "is cut short")
	wantError(t, with(func(w *tool.Wake) { w.Selection, w.Reply = nil, jsontext.Value(`{"picked":["r"]}`) }), "missing from the wait")
}
