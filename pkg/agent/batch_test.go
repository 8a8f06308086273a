package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

func ids(results []message.ToolResult) []string {
	var out []string
	for _, r := range results {
		out = append(out, r.ToolCallID)
	}
	return out
}

func TestB14_ResultsAreInCallOrder(t *testing.T) {
	var p probe
	gates := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{})}
	close(gates["c"])
	next := map[string]string{"c": "b", "b": "a"}
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "t", "{}"), scripted.Call("b", "t", "{}"), scripted.Call("c", "t", "{}"),
		scripted.End(message.StopToolUse), scripted.Text("done"),
	), p.tool("t", tool.ReplaySafe, func(_ context.Context, call tool.Call) (tool.Outcome, error) {
		<-gates[call.ID] // c ends first, then b, then a
		if n := next[call.ID]; n != "" {
			close(gates[n])
		}
		return tool.Text(call.ID), nil
	}))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	if diff := cmp.Diff([]string{"a", "b", "c"}, ids(w.results())); diff != "" {
		t.Error(diff)
	}
}

func TestB15_ABlockedCallKeepsItsPlace(t *testing.T) {
	var p probe
	blocked := make(chan struct{})
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "slow", "{}"), scripted.Call("b", "slow", "{}"), scripted.End(message.StopToolUse), scripted.Text("done"),
	), p.tool("slow", tool.ReplaySafe, func(context.Context, tool.Call) (tool.Outcome, error) {
		<-blocked
		return tool.Text("slow"), nil
	}))
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{func(_ context.Context, c tool.Call) (agent.Decision, error) {
		if c.ID == "b" {
			close(blocked)
			return agent.Reject{Reason: "policy"}, nil
		}
		return agent.Continue{}, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	got := w.results()
	if textOf(got[0]) != "slow" || textOf(got[1]) != "This call was not allowed: policy" || !got[1].IsError {
		t.Errorf("results %+v", got)
	}
}

func TestB16_RandomBatchesWithCrashesKeepOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 16))
	for round := range 33 {
		var p probe
		n := 2 + rnd.IntN(7)
		var script []scripted.Step
		var want []string
		for i := range n {
			id := fmt.Sprintf("c%d", i)
			script = append(script, scripted.Call(id, "t", "{}"))
			want = append(want, id)
		}
		script = append(script, scripted.End(message.StopToolUse), scripted.Text("done"))
		w := newWorld(t, scripted.Play(script...), p.tool("t", tool.ReplaySafe, func(_ context.Context, c tool.Call) (tool.Outcome, error) {
			return tool.Text(c.ID), nil
		}))
		w.send("steer", "hi")
		w.until("tools")
		// A process dies somewhere in the batch; another one goes on when the lease has run out.
		session, f := w.process()
		moment := storetest.Before
		if rnd.IntN(2) == 0 {
			moment = storetest.After
		}
		f.Kill(1+rnd.IntN(20), moment)
		_, _ = session.Step(t.Context(), w.step)
		w.clock.advance(time.Minute)
		w.steps()
		w.wantPhase("done")
		w.ruleG()
		if diff := cmp.Diff(want, ids(w.results())); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
		for _, r := range w.results() {
			if textOf(r) != r.ToolCallID {
				t.Fatalf("round %d: call %s has the result of %s", round, r.ToolCallID, textOf(r))
			}
		}
	}
}

func TestB19_EqualIDsAreTwoCalls(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("x", "t", `{"n":1}`), scripted.Call("x", "t", `{"n":2}`), scripted.End(message.StopToolUse), scripted.Text("done"),
	), p.tool("t", tool.ReplaySafe, func(_ context.Context, c tool.Call) (tool.Outcome, error) {
		return tool.Text(string(c.Arguments)), nil
	}))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	got := w.results()
	if len(got) != 2 || textOf(got[0]) != `{"n":1}` || textOf(got[1]) != `{"n":2}` || got[0].ToolCallID == got[1].ToolCallID || p.runs() != 2 {
		t.Errorf("results %+v after %d runs", got, p.runs())
	}
}

func TestB20_StrangeIDs(t *testing.T) {
	strange := []string{"a/b", "../x", "a\nb", "", strings.Repeat("x", 300), strings.Repeat("x", 299) + "y", "🙂", "a\x00b", "%2e%2e"}
	play := func() ([]string, []message.ToolResult) {
		var p probe
		var script []scripted.Step
		for _, id := range strange {
			script = append(script, scripted.Call(id, "t", "{}"))
		}
		script = append(script, scripted.End(message.StopToolUse), scripted.Text("done"))
		w := newWorld(t, scripted.Play(script...), p.tool("t", tool.ReplaySafe, says("ok")))
		w.send("steer", "hi")
		w.steps()
		w.wantPhase("done")
		w.ruleG()
		return ids(w.results()), w.results()
	}
	first, results := play()
	seen := map[string]bool{}
	for i, id := range first {
		if id == "" || len(id) > 200 || strings.ContainsAny(id, "\n\x00") || seen[id] {
			t.Errorf("id %q for %q is empty, long, unprintable or used twice", id, strange[i])
		}
		seen[id] = true
		if results[i].IsError {
			t.Errorf("call %q failed: %s", id, textOf(results[i]))
		}
	}
	if len(first) != len(strange) || first[0] != "a/b" || first[6] != "🙂" {
		t.Errorf("ids %q: those that are fine must stay", first)
	}
	if second, _ := play(); !cmp.Equal(first, second) {
		t.Error("the same response is renamed in two ways")
	}
}

func TestB21_A130CallsAllRun(t *testing.T) {
	w, p := manyCalls(t, 130)
	if p.runs() != 130 || w.results()[129].IsError {
		t.Errorf("%d calls were run, want all 130", p.runs())
	}
}

func TestB21_CallsBeyondTheLimitAreAnswered(t *testing.T) {
	w, p := manyCalls(t, agent.DefaultMaxCalls+2)
	if p.runs() != agent.DefaultMaxCalls || !w.results()[agent.DefaultMaxCalls].IsError {
		t.Errorf("%d calls were run, want %d", p.runs(), agent.DefaultMaxCalls)
	}
}

// manyCalls plays a response of n calls and its answer.
func manyCalls(t *testing.T, n int) (*world, *probe) {
	t.Helper()
	p := new(probe)
	var script []scripted.Step
	for i := range n {
		script = append(script, scripted.Call(fmt.Sprintf("c%d", i), "t", "{}"))
	}
	script = append(script, scripted.End(message.StopToolUse), scripted.Text("done"))
	w := newWorld(t, scripted.Play(script...), p.tool("t", tool.ReplaySafe, says("ok")))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	return w, p
}

// strict has a required parameter.
func (p *probe) strict(name string) tool.Tool {
	t := p.tool(name, tool.ReplaySafe, says("ran"))
	t.Parameters = jsontext.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	return t
}

func TestB13_ACallWithoutArgumentBytes(t *testing.T) {
	var p, q probe
	w := newWorld(t, scripted.Play(
		scripted.RawCall("a", "strict", ""), scripted.RawCall("b", "free", ""), scripted.End(message.StopToolUse), scripted.Text("I see"),
	), p.strict("strict"), q.tool("free", tool.ReplaySafe, says("ran")))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	got := w.results()
	if !got[0].IsError || !strings.Contains(textOf(got[0]), "path") || p.runs() != 0 || got[1].IsError || q.runs() != 1 {
		t.Errorf("results %+v", got)
	}
}

func TestCallsThatCannotRunOpenNoEffect(t *testing.T) {
	for name, c := range map[string]struct {
		step scripted.Step
		want string
	}{
		"unknown tool":   {scripted.Call("a", "nope", "{}"), `"nope" is not known; the tools are: strict`},
		"wrong type":     {scripted.Call("a", "strict", `{"path":1}`), "arguments.path"},
		"not JSON":       {scripted.RawCall("a", "strict", `{"path":`), "not a JSON object"},
		"beyond doubles": {scripted.RawCall("a", "strict", `{"path":9007199254740993}`), "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			var p probe
			w := newWorld(t, scripted.Play(c.step, scripted.End(message.StopToolUse), scripted.Text("I see")), p.strict("strict"))
			w.send("steer", "hi")
			w.steps()
			w.wantPhase("done")
			w.ruleG()
			got := w.results()[0]
			if !got.IsError || !strings.Contains(textOf(got), c.want) || p.runs() != 0 {
				t.Errorf("result %+v after %d runs, want an error with %q", got, p.runs(), c.want)
			}
			for _, e := range w.events() {
				if effectMoved(e) {
					t.Error("an effect ref was written")
				}
			}
		})
	}
}

// Conformance 152.
func TestB75_ALengthStopFailsTheWholeBatch(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("whole", "strict", `{"path":"y"}`), scripted.RawCall("a", "strict", `{"path":"x"`), scripted.End(message.StopLength),
		scripted.Text("shorter"),
	), p.strict("strict"))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	for _, r := range w.results() {
		if !r.IsError || !strings.Contains(textOf(r), "cut off") {
			t.Errorf("result %+v", r)
		}
	}
	for _, e := range w.events() {
		if effectMoved(e) {
			t.Error("an effect ref was written")
		}
	}
	if p.runs() != 0 || len(w.results()) != 2 {
		t.Errorf("%d runs and %d results", p.runs(), len(w.results()))
	}
}

func TestB65_ArgumentsReachTheToolUnrounded(t *testing.T) {
	for args, want := range map[string]string{
		`{"n":9007199254740992}`: `{"n":9007199254740992}`,
		`{"n":-0}`:               `{"n":0}`, // the canonical form
		`{"n":1E+2}`:             `{"n":100}`,
		`{"n":0.1}`:              `{"n":0.1}`,
		`{"n":9007199254740993}`: "",
		`{"n":1e400}`:            "",
		`{"n":1234567890123456789012345678901234567890}`: "",
	} {
		var p probe
		w := newWorld(t, scripted.Play(scripted.RawCall("a", "t", args), scripted.End(message.StopToolUse), scripted.Text("done")),
			p.tool("t", tool.ReplaySafe, says("ok")))
		w.send("steer", "hi")
		w.steps()
		w.wantPhase("done")
		if want == "" {
			if p.runs() != 0 || !w.results()[0].IsError {
				t.Errorf("%s was run", args)
			}
			continue
		}
		if got := string(p.seen()[0].Arguments); got != want && got != args {
			t.Errorf("%s reached the tool as %s", args, got)
		}
	}
}

func TestB63_BadTextOfAToolIsRepaired(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("done")),
		p.tool("t", tool.ReplaySafe, func(_ context.Context, call tool.Call) (tool.Outcome, error) {
			call.Progress(tool.Progress{Text: "\xed\xa0\xbd", Title: "\xff", Details: jsontext.Value(`{"a":1,"a":2}`)})
			long := strings.Repeat("🙂", agent.MaxResultText/4) + "🙂"
			return tool.Done{Content: []message.Content{message.Text{Text: "\xed\xa0\x80x"}, message.Text{Text: long}}, Title: "\xff"}, nil
		}))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	got := w.results()[0]
	first, _ := got.Content[0].(message.Text)
	second, _ := got.Content[1].(message.Text)
	note, _ := got.Content[2].(message.Text)
	if first.Text != "\uFFFDx" && first.Text != "\uFFFD\uFFFD\uFFFDx" {
		t.Errorf("text %q", first.Text)
	}
	if strings.Trim(second.Text, "🙂") != "" || len(first.Text)+len(second.Text) > agent.MaxResultText {
		t.Errorf("the long text has %d bytes, or is cut inside a character", len(second.Text))
	}
	if !strings.Contains(note.Text, "left out") || got.IsError {
		t.Errorf("note %q, error %v", note.Text, got.IsError)
	}
	for _, e := range w.events() {
		if b, ok := e.(store.ProgressEvent); ok && (strings.Contains(b.Progress.Text, "\xed") || b.Progress.Details != nil) {
			t.Errorf("progress %+v", b.Progress)
		}
	}
}

func TestB64_NULIsContent(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(scripted.RawCall("a", "t", `{"s":"a\u0000b"}`), scripted.End(message.StopToolUse), scripted.Text("x\x00y")),
		p.tool("t", tool.ReplaySafe, says("a\x00b")))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	if got := textOf(w.results()[0]); got != "a\x00b" {
		t.Errorf("result %q", got)
	}
	if got := w.lastAnswer().Content[0]; got != (message.Text{Text: "x\x00y"}) {
		t.Errorf("answer %q", got)
	}
}

// Conformance 147.
func TestProgressIsStreamedAndTheEffectEndsInItsResult(t *testing.T) {
	var p, q probe
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.Call("b", "ask", "{}"), scripted.End(message.StopToolUse)),
		p.tool("t", tool.ReplaySafe, func(_ context.Context, call tool.Call) (tool.Outcome, error) {
			call.Progress(tool.Progress{Text: "working", Title: "T", Details: jsontext.Value(`{"n":1}`)})
			return tool.Done{
				Content: []message.Content{message.Text{Text: "ok"}}, Details: jsontext.Value(`{"d":1}`), Title: "Did it",
				Usage: &message.Usage{Input: 3},
			}, nil
		}), q.tool("ask", tool.ReplayNever, waits(tool.Wait{})))
	w.send("steer", "hi")
	w.steps()
	run := w.wantPhase("waiting")
	var said []store.ProgressEvent
	for _, e := range w.events() {
		if b, ok := e.(store.ProgressEvent); ok {
			said = append(said, b)
		}
	}
	want := []store.ProgressEvent{{RunID: run.ID, CallID: "a", Progress: store.Progress{
		Text: "working", Title: "T", Details: jsontext.Value(`{"n":1}`),
	}}}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	settled, ok := w.effect("a").Effect.(object.Result)
	wantResult := message.ToolResult{
		ToolCallID: "a", ToolName: "t", Content: []message.Content{message.Text{Text: "ok"}}, Details: jsontext.Value(`{"d":1}`),
		Title: "Did it", Usage: &message.Usage{Input: 3}, Timestamp: w.clock.millis(),
	}
	if diff := cmp.Diff(wantResult, settled.Result); !ok || diff != "" {
		t.Error(diff)
	}
}

// Conformance 152.
func TestWhatAToolDoesWrongIsAnErrorResult(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for name, c := range map[string]struct {
		f    execute
		want string
	}{
		"error": {func(_ context.Context, c tool.Call) (tool.Outcome, error) {
			c.Progress(tool.Progress{Text: "got far"})
			return nil, errors.New("broke")
		}, "The tool failed: broke\nThe last it said was: got far"},
		"panic":      {func(context.Context, tool.Call) (tool.Outcome, error) { panic("oh no") }, "The tool panicked: oh no"},
		"no outcome": {func(context.Context, tool.Call) (tool.Outcome, error) { return nil, nil }, "The tool returned no outcome."},
		"bad details": {func(context.Context, tool.Call) (tool.Outcome, error) {
			return tool.Done{Details: jsontext.Value(`{"a":1,"a":2}`)}, nil
		}, "cannot be recorded"},
		"deep details": {func(context.Context, tool.Call) (tool.Outcome, error) {
			return tool.Done{Details: jsontext.Value(deep)}, nil
		}, "cannot be recorded"},
		"bad selection": {waits(tool.Wait{Selection: &message.Selection{Title: "?"}}), "selection.choices"},
		"bad deadline":  {waits(tool.Wait{Until: -1}), "negative"},
		"unreadable selection": {waits(tool.Wait{Selection: &message.Selection{
			Title: "\xff", Choices: []message.Choice{{ID: "a", Label: "A"}},
		}}), "cannot be recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			var p probe
			w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("I see")),
				p.tool("t", tool.ReplayNever, c.f))
			w.send("steer", "hi")
			w.steps()
			w.wantPhase("done")
			w.ruleG()
			if got := w.results()[0]; !got.IsError || !strings.Contains(textOf(got), c.want) || p.runs() != 1 {
				t.Errorf("result %+v after %d runs, want an error with %q", got, p.runs(), c.want)
			}
		})
	}
}
