package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
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
	got := map[store.DeltaPart]string{}
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
