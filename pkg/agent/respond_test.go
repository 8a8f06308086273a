package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// Conformance 145.
func TestResponseStreamsWithItsAttempt(t *testing.T) {
	w := newWorld(t, scripted.Play(scripted.Thinking("hm"), scripted.Text("Hel"), scripted.Text("lo")))
	opts := w.opts
	opts.System = func(object.Config) string { return "be brief" }
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	run := w.wantPhase("done")

	want := map[store.DeltaPart]string{store.ThinkingPart: "hm", store.TextPart: "Hello"}
	got := make(map[store.DeltaPart]string)
	for _, e := range w.events() {
		if d, ok := e.(store.DeltaEvent); ok {
			if d.RunID != run.ID || d.Attempt != 1 {
				t.Errorf("delta of run %q attempt %d, want %q attempt 1", d.RunID, d.Attempt, run.ID)
			}
			got[d.Part] += d.Delta
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	req := w.player.Requests()[0]
	if req.System != "be brief" || req.SessionID != sessionID || req.Attempt != 1 {
		t.Errorf("request has system %q, session %q, attempt %d", req.System, req.SessionID, req.Attempt)
	}
	if diff := cmp.Diff([]message.Message{message.NewUser("hi", w.clock.millis())}, req.Messages); diff != "" {
		t.Error(diff)
	}
	if a := w.lastAnswer(); a.Timestamp != w.clock.millis() || a.StopReason != message.StopEnd {
		t.Errorf("answer is %+v", a)
	}
}

func TestToolTurn(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "look", `{"q":1}`), scripted.End(message.StopToolUse), scripted.Text("Found."),
	), p.tool("look", tool.ReplaySafe, says("it is there")))
	w.send("steer", "find it")
	w.steps()
	w.wantPhase("done")
	w.ruleG()
	if got := w.results(); len(got) != 1 || textOf(got[0]) != "it is there" || got[0].IsError || p.runs() != 1 {
		t.Errorf("results %+v after %d runs", got, p.runs())
	}
	if got := len(w.player.Requests()[1].Messages); got != 3 {
		t.Errorf("the second request has %d messages, want 3", got)
	}
	if got := w.effects(); len(got) != 0 {
		t.Errorf("%d effects are left", len(got))
	}
}

// Conformance 146.
func TestRetriesEndInFailure(t *testing.T) {
	broken := scripted.Err(llm.Failure{Kind: llm.FailureOverloaded})
	w := newWorld(t, scripted.Play(broken, broken, broken, broken, broken))
	w.send("steer", "hi")
	for i, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		outcome, ok := w.steps().(kernel.StepRetry)
		if !ok || outcome.At != w.clock.millis()+object.Millis(want.Milliseconds()) {
			t.Fatalf("try %d: outcome %#v at %d, want a retry after %v", i+1, outcome, w.clock.millis(), want)
		}
		if p := w.wantPhase("retry").Phase.(object.Retry); p.Retries != i+1 {
			t.Errorf("try %d: %d retries", i+1, p.Retries)
		}
		w.clock.advance(want)
	}
	w.steps()
	failed := w.wantPhase("failed").Phase.(object.Failed)
	if failed.Class != object.FailedProvider || failed.Error != "scripted failure: overloaded" {
		t.Errorf("failed with %+v", failed)
	}
	if n := len(w.player.Requests()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

func TestRetriesAreCountedAnewAfterAnAnswer(t *testing.T) {
	var p probe
	broken := scripted.Err(llm.Failure{Kind: llm.FailureServer})
	w := newWorld(t, scripted.Play(broken, scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), broken),
		p.tool("t", tool.ReplaySafe, says("ok")))
	w.send("steer", "hi")
	w.steps()
	w.clock.advance(time.Minute)
	w.steps()
	if r := w.wantPhase("retry").Phase.(object.Retry); r.Retries != 1 {
		t.Errorf("%d retries, want 1: the one before the answer does not count", r.Retries)
	}
}

func TestRetryCanBeDisabled(t *testing.T) {
	w := newWorld(t, scripted.Play(scripted.Cut()))
	opts := w.opts
	opts.Retry.Disabled = true
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("failed")
}

func TestB71_RetryAfter(t *testing.T) {
	for _, c := range []struct {
		ms   int64
		want time.Duration
	}{
		{0, 2 * time.Second},
		{-5000, 2 * time.Second},
		{1000, 2 * time.Second},
		{120_000, 2 * time.Minute},
		{999_999_999_000, time.Hour},
		{1e15, time.Hour},
	} {
		w := newWorld(t, scripted.Play(scripted.Err(llm.Failure{Kind: llm.FailureRateLimit, RetryAfterMs: c.ms})))
		w.send("steer", "hi")
		outcome, ok := w.steps().(kernel.StepRetry)
		if got := time.Duration(outcome.At-w.clock.millis()) * time.Millisecond; !ok || got != c.want {
			t.Errorf("retry after %d ms: waits %v, want %v", c.ms, got, c.want)
		}
	}
}

func TestB72_ErrorInsideAStream(t *testing.T) {
	w := newWorld(t, scripted.Play(
		scripted.Text("abc"), scripted.Err(llm.Failure{Kind: llm.FailureOverloaded}),
		scripted.Text("def"), scripted.Cut(),
		scripted.Text("whole"),
	))
	w.send("steer", "hi")
	for range 2 {
		w.steps()
		if a := w.lastAnswer(); a.StopReason != message.StopError || a.ErrorMessage == "" {
			t.Fatalf("answer %+v, want a complete error message", a)
		}
		w.clock.advance(time.Minute)
	}
	w.steps()
	if run := w.wantPhase("done"); run.Attempts != 3 {
		t.Errorf("%d attempts, want 3", run.Attempts)
	}
	texts := map[int]string{}
	for _, e := range w.events() {
		if d, ok := e.(store.DeltaEvent); ok {
			texts[d.Attempt] += d.Delta
		}
	}
	if diff := cmp.Diff(map[int]string{1: "abc", 2: "def", 3: "whole"}, texts); diff != "" {
		t.Error(diff)
	}
	if n := len(w.player.Requests()[2].Messages); n != 1 {
		t.Errorf("the last request has %d messages, want only the question", n)
	}
}

func TestB73_QuotaIsNotRetried(t *testing.T) {
	w := newWorld(t, scripted.Play(scripted.Err(llm.Failure{Kind: llm.FailureQuota, Status: 429})))
	w.send("steer", "hi")
	w.send("queue", "later")
	w.until("failed")
	lanes, err := view.LoadLanes(t.Context(), w.Session, "main")
	if err != nil {
		t.Fatal(err)
	}
	pending := 0
	for _, l := range lanes {
		pending += len(l.Changes)
	}
	if pending != 1 || len(w.player.Requests()) != 1 {
		t.Errorf("%d pending and %d requests, want 1 and 1", pending, len(w.player.Requests()))
	}
}

func TestB74_RefusalIsVisibleAndFinal(t *testing.T) {
	for name, steps := range map[string][]scripted.Step{
		"empty":                    {scripted.End(message.StopEnd)},
		"reasoning, then nothing":  {scripted.Thinking("no"), scripted.End(message.StopEnd)},
		"refusal":                  {scripted.Thinking("no"), scripted.Err(llm.Failure{Kind: llm.FailureRefusal})},
		"white space":              {scripted.Text(" \n"), scripted.End(message.StopEnd)},
		"nothing within the limit": {scripted.Thinking("no"), scripted.End(message.StopLength)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scripted.Play(steps...))
			w.send("steer", "hi")
			w.steps()
			failed := w.wantPhase("failed").Phase.(object.Failed)
			if failed.Error == "" || failed.Class != object.FailedProvider {
				t.Errorf("failed with %+v", failed)
			}
			if n := len(w.player.Requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestB66_NoEmptyBlockReachesAModel(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Text(" "), scripted.Call("a", "silent", "{}"), scripted.End(message.StopToolUse),
		scripted.End(message.StopEnd), // says nothing: a failure
		scripted.Text("ok"),
	), p.tool("silent", tool.ReplaySafe, func(context.Context, tool.Call) (tool.Outcome, error) {
		return tool.Done{Content: []message.Content{message.Text{}, nil}}, nil
	}))
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("failed")
	w.ruleG()
	if got := w.results()[0]; got.IsError || len(got.Content) != 0 {
		t.Errorf("result %+v, want an empty one", got)
	}
	w.send("steer", "again")
	w.steps()
	w.wantPhase("done")
	for _, m := range w.player.Requests()[2].Messages {
		if a, ok := m.(message.Assistant); ok && len(a.Content) == 0 {
			t.Error("an empty assistant message was sent")
		}
	}
}

func TestB77_ForeignReasoningIsNotSent(t *testing.T) {
	model := func(id string) llm.ModelInfo {
		return llm.ModelInfo{Model: llm.Model{Provider: "p", ID: id}, API: "x", Name: id}
	}
	w := newWorld(t, scripted.Play(
		scripted.Thinking("A thinks"), scripted.Text("one"), scripted.End(message.StopEnd),
		scripted.Thinking("B thinks"), scripted.Text("two"), scripted.End(message.StopEnd),
		scripted.Text("three"), scripted.End(message.StopEnd),
	).As(model("a"), model("b")))
	for _, id := range []string{"a", "b", "a"} {
		body := object.ConfigBody{Model: &object.Model{Provider: "p", ID: id}}
		if _, err := w.Submit(t.Context(), kernel.SubmitOptions{Head: "main", Lane: "steer", Body: body}); err != nil {
			t.Fatal(err)
		}
		w.send("steer", "next")
		w.steps()
		w.wantPhase("done")
	}
	var got [][]string
	for _, r := range w.player.Requests() {
		var thoughts []string
		for _, m := range r.Messages {
			if a, ok := m.(message.Assistant); ok {
				for _, p := range a.Content {
					if th, ok := p.(message.Thinking); ok {
						thoughts = append(thoughts, th.Thinking)
					}
				}
			}
		}
		got = append(got, thoughts)
	}
	if diff := cmp.Diff([][]string{nil, nil, {"A thinks"}}, got); diff != "" {
		t.Errorf("reasoning sent per request: %s", diff)
	}
}
