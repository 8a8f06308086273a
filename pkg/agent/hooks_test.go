package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

type (
	beforeTool = func(ctx context.Context, call tool.Call) (agent.Decision, error)
	afterTool  = func(ctx context.Context, call tool.Call, r message.ToolResult) (message.ToolResult, error)
)

func TestB91_BeforeToolFailsClosed(t *testing.T) {
	for name, hook := range map[string]beforeTool{
		"error": func(context.Context, tool.Call) (agent.Decision, error) {
			return agent.Continue{}, errors.New("no policy")
		},
		"panic":   func(context.Context, tool.Call) (agent.Decision, error) { panic("policy") },
		"nothing": func(context.Context, tool.Call) (agent.Decision, error) { return nil, nil },
		"never decides": func(ctx context.Context, _ tool.Call) (agent.Decision, error) {
			<-ctx.Done()
			return agent.Continue{}, nil
		},
		"deaf": func(context.Context, tool.Call) (agent.Decision, error) { select {} },
		"no object": func(context.Context, tool.Call) (agent.Decision, error) {
			return agent.Modify{Arguments: jsontext.Value(`[1]`)}, nil
		},
		"no I-JSON": func(context.Context, tool.Call) (agent.Decision, error) {
			return agent.Modify{Arguments: jsontext.Value(`{"path":1,"path":2}`)}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p probe
			second := false
			w := newWorld(t, scripted.Play(
				scripted.Call("a", "strict", `{"path":"x"}`), scripted.Call("b", "strict", `{"path":"y"}`), scripted.End(message.StopToolUse),
			), p.strict("strict"))
			opts := w.opts
			opts.HookTimeout = 10 * time.Millisecond
			opts.Hooks.BeforeTool = []beforeTool{hook, func(context.Context, tool.Call) (agent.Decision, error) {
				second = true
				return agent.Continue{}, nil
			}}
			w.use(opts)
			w.send("steer", "hi")
			w.steps()
			failed := w.wantPhase("failed").Phase.(object.Failed)
			w.ruleG()
			if failed.Class != object.FailedTool || !strings.Contains(failed.Error, "before_tool") {
				t.Errorf("failed with %+v", failed)
			}
			got := w.results()
			if len(got) != 2 || !got[0].IsError || !got[1].IsError || p.runs() != 0 || second {
				t.Errorf("results %+v after %d runs, second hook ran: %v", got, p.runs(), second)
			}
		})
	}
}

func TestB91_ARejectEndsTheChain(t *testing.T) {
	var p probe
	second := false
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.tool("t", tool.ReplaySafe, says("ran")))
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{
		func(context.Context, tool.Call) (agent.Decision, error) { return agent.Reject{}, nil },
		func(context.Context, tool.Call) (agent.Decision, error) { second = true; return agent.Continue{}, nil },
	}
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	if got := w.results()[0]; !got.IsError || p.runs() != 0 || second {
		t.Errorf("result %+v after %d runs, second hook ran: %v", got, p.runs(), second)
	}
}

// Conformance 149.
func TestChangedArgumentsReachTheToolAndTheHookAfter(t *testing.T) {
	var p probe
	var after []string
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "strict", `{"path":"1"}`), scripted.Call("b", "strict", `{"path":"bad"}`), scripted.End(message.StopToolUse),
		scripted.Text("ok"),
	), p.strict("strict"))
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{
		func(_ context.Context, c tool.Call) (agent.Decision, error) {
			if c.ID == "b" {
				return agent.Modify{Arguments: jsontext.Value(`{"path":1}`)}, nil
			}
			return agent.Modify{Arguments: jsontext.Value(`{"path":"2"}`)}, nil
		},
		func(_ context.Context, c tool.Call) (agent.Decision, error) {
			if string(c.Arguments) == `{"path":"2"}` {
				return agent.Modify{Arguments: jsontext.Value(`{"path":"3"}`)}, nil
			}
			return agent.Continue{}, nil
		},
	}
	opts.Hooks.AfterTool = []afterTool{func(_ context.Context, c tool.Call, r message.ToolResult) (message.ToolResult, error) {
		after = append(after, string(c.Arguments))
		return r, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("done")
	if p.runs() != 1 || string(p.seen()[0].Arguments) != `{"path":"3"}` {
		t.Fatalf("the tool saw %+v", p.seen())
	}
	if diff := cmp.Diff([]string{`{"path":"3"}`}, after); diff != "" {
		t.Error(diff)
	}
	if got := w.results()[1]; !got.IsError || !strings.Contains(textOf(got), "arguments.path") {
		t.Errorf("result %+v, want the new arguments refused", got)
	}
}

// Conformance 148.
func TestAfterToolPatchesAreStoredOnce(t *testing.T) {
	var p, q probe
	ran := 0
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "t", "{}"), scripted.Call("b", "ask", "{}"), scripted.End(message.StopToolUse), scripted.Text("done"),
	), p.tool("t", tool.ReplaySafe, says("raw")), q.waking(q.tool("ask", tool.ReplayNever, waits(tool.Wait{})),
		func(context.Context, tool.Wake) (tool.Outcome, error) { return tool.Text("answered"), nil }))
	opts := w.opts
	opts.Hooks.AfterTool = []afterTool{func(_ context.Context, c tool.Call, r message.ToolResult) (message.ToolResult, error) {
		if c.Name != "t" {
			return r, nil
		}
		ran++
		r.Content = []message.Content{message.Text{Text: "patched"}}
		r.Details, r.IsError, r.Usage = jsontext.Value(`{"x":1}`), true, &message.Usage{Output: 9}
		r.ToolCallID, r.ToolName = "other", "other"
		return r, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("waiting")
	w.reply("b", `1`)
	w.steps()
	w.wantPhase("done")
	want := message.ToolResult{
		ToolCallID: "a", ToolName: "t", Content: []message.Content{message.Text{Text: "patched"}}, Details: jsontext.Value(`{"x":1}`),
		IsError: true, Usage: &message.Usage{Output: 9}, Timestamp: w.clock.millis(),
	}
	if diff := cmp.Diff(want, w.results()[0]); diff != "" || ran != 1 || p.runs() != 1 {
		t.Errorf("after %d hooks and %d runs: %s", ran, p.runs(), diff)
	}
}

// Conformance 150.
func TestAFailedAfterToolHidesTheOutput(t *testing.T) {
	for name, hook := range map[string]afterTool{
		"error": func(context.Context, tool.Call, message.ToolResult) (message.ToolResult, error) {
			return message.ToolResult{}, errors.New("scan failed")
		},
		"panic": func(context.Context, tool.Call, message.ToolResult) (message.ToolResult, error) { panic("scan failed") },
		"late":  func(context.Context, tool.Call, message.ToolResult) (message.ToolResult, error) { select {} },
	} {
		t.Run(name, func(t *testing.T) {
			var p probe
			w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
				p.tool("t", tool.ReplaySafe, says("secret")))
			opts := w.opts
			opts.HookTimeout = 10 * time.Millisecond
			opts.Hooks.AfterTool = []afterTool{hook}
			w.use(opts)
			w.send("steer", "hi")
			w.steps()
			w.wantPhase("done")
			if got := w.results()[0]; !got.IsError || strings.Contains(textOf(got), "secret") || !strings.Contains(textOf(got), "withheld") {
				t.Errorf("result %+v", got)
			}
		})
	}
}

// The hook fails when the batch is taken up again, with one call answered and one waiting.
func TestAFailedHookEndsTheWaitsOfItsSiblings(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "ask", "{}"), scripted.Call("b", "ask", "{}"), scripted.Call("c", "ask", "{}"), scripted.End(message.StopToolUse),
	), p.waking(p.tool("ask", tool.ReplayNever, waits(tool.Wait{})), func(context.Context, tool.Wake) (tool.Outcome, error) {
		return tool.Text("answered"), nil
	}))
	asked := 0
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{func(_ context.Context, c tool.Call) (agent.Decision, error) {
		if c.ID != "b" {
			return agent.Continue{}, nil
		}
		if asked++; asked > 1 {
			return nil, errors.New("no policy")
		}
		return agent.Reject{Reason: "not now"}, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("waiting")
	w.reply("a", `"yes"`)
	w.steps()
	w.wantPhase("failed")
	w.ruleG()
	if got := w.results(); len(got) != 3 || textOf(got[0]) != "answered" || textOf(got[2]) != "The call was aborted while waiting." || len(w.effects()) != 0 {
		t.Errorf("results %+v with %d effects left", got, len(w.effects()))
	}
}

func TestAFailedHookStartsNothing(t *testing.T) {
	var p probe
	w := newWorld(t, scripted.Play(
		scripted.Call("a", "t", "{}"), scripted.Call("b", "t", "{}"), scripted.Call("c", "t", "{}"), scripted.End(message.StopToolUse),
	), p.tool("t", tool.ReplayNever, says("ran")))
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{func(_ context.Context, c tool.Call) (agent.Decision, error) {
		if c.ID == "b" {
			return nil, errors.New("no policy")
		}
		return agent.Continue{}, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.steps()
	w.wantPhase("failed")
	w.ruleG()
	if got := w.results(); len(got) != 3 || p.runs() != 0 {
		t.Errorf("results %+v after %d runs", got, p.runs())
	}
}

// What has run is not asked about again.
func TestRecoveryAsksNoHook(t *testing.T) {
	var p probe
	asked := 0
	w := newWorld(t, scripted.Play(scripted.Call("a", "t", "{}"), scripted.End(message.StopToolUse), scripted.Text("ok")),
		p.tool("t", tool.ReplaySafe, says("ran")))
	opts := w.opts
	opts.Hooks.BeforeTool = []beforeTool{func(context.Context, tool.Call) (agent.Decision, error) {
		if asked++; asked > 1 {
			return nil, errors.New("asked twice")
		}
		return agent.Modify{Arguments: jsontext.Value(`{"n":2}`)}, nil
	}}
	w.use(opts)
	w.send("steer", "hi")
	w.until("tools")
	w.dieAt(publish, storetest.Before)
	w.steps()
	w.wantPhase("done")
	if calls := p.seen(); len(calls) != 2 || string(calls[1].Arguments) != `{"n":2}` {
		t.Errorf("the tool saw %+v, want the approved arguments twice", calls)
	}
}
