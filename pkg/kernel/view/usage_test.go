package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func spent(n int) message.Usage {
	return message.Usage{Input: n, Output: 2 * n, TotalTokens: 3 * n, Cost: message.Cost{Total: float64(n)}}
}

func response(provider, model string, stop message.StopReason, n int) object.Body {
	m := assistant(stop, message.Text{Text: "x"})
	m.Provider, m.Model, m.Usage = provider, model, spent(n)
	return object.MessageBody{Message: m}
}

// Conformance 221: usage sums per model, tools and compaction; failures count.
func TestConformance221_Usage(t *testing.T) {
	t.Parallel()
	tool := resultOf("a", "1")
	two, four, eight := spent(2), spent(4), spent(8)
	tool.Usage = &two
	retained := assistant(message.StopEnd, message.Text{Text: "x"})
	retained.Usage = spent(1000)
	commits := chain(t,
		user("hi"), response("q", "m", message.StopEnd, 1), response("p", "n", message.StopError, 16), response("p", "m", message.StopAborted, 32),
		response("q", "m", message.StopToolUse, 64), object.MessageBody{Message: tool}, result("b", "no usage"),
		object.CheckpointBody{Summary: "s", RetainedTail: []message.Message{retained}, Usage: &four}, object.SummaryBody{Text: "s", Usage: &eight},
		model("m"),
	)
	want := view.UsageSummary{
		Total: spent(1 + 2 + 4 + 8 + 16 + 32 + 64), Tools: two, Compaction: spent(12),
		Models: []view.ModelUsage{
			{Provider: "p", Model: "m", Responses: 1, Usage: spent(32)},
			{Provider: "p", Model: "n", Responses: 1, Usage: spent(16)},
			{Provider: "q", Model: "m", Responses: 2, Usage: spent(65)},
		},
	}
	if diff := cmp.Diff(want, view.UsageOf(commits)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// Conformance 221: merging adds rows, so that a branch may be summed in pieces.
func TestConformance221_Merge(t *testing.T) {
	t.Parallel()
	commits := chain(t, response("q", "m", message.StopEnd, 1), response("p", "m", message.StopEnd, 2), response("q", "m", message.StopEnd, 4))
	whole := view.UsageOf(commits)
	for i := range len(commits) + 1 {
		a, b := view.UsageOf(commits[:i]), view.UsageOf(commits[i:])
		if diff := cmp.Diff(whole, a.Merge(b)); diff != "" {
			t.Errorf("cut at %d (-whole +merged):\n%s", i, diff)
		}
		if diff := cmp.Diff(view.UsageOf(commits[:i]), a); diff != "" {
			t.Errorf("merging changed its operand:\n%s", diff)
		}
	}
}

// Conformance 221: context percent is rounded, and absent without a window.
func TestConformance221_ContextStatus(t *testing.T) {
	t.Parallel()
	percent := func(n int) *int { return &n }
	failed := assistant(message.StopError, message.Text{Text: "xxxxxxxx"})
	failed.Usage.TotalTokens = 9000
	bare := assistant(message.StopEnd, message.Text{Text: "x"})
	bare.Usage = message.Usage{Input: 1, Output: 2, CacheRead: 4, CacheWrite: 8}
	old := assistant(message.StopEnd, message.Text{Text: "12345"})
	old.Usage.TotalTokens = 5000
	for name, test := range map[string]struct {
		bodies []object.Body
		window int
		want   view.ContextStatus
	}{
		"empty":        {nil, 0, view.ContextStatus{}},
		"empty window": {nil, 10, view.ContextStatus{ContextWindow: 10, Percent: percent(0)}},
		"not measured": {[]object.Body{user("12345")}, 0, view.ContextStatus{EstimatedTokens: 2, TrailingTokens: 2}},
		"measured": {[]object.Body{user("hi"), measuredAnswer("yes", 995)}, 1000, view.ContextStatus{
			EstimatedTokens: 995, UsageTokens: 995, ContextWindow: 1000, LastTurnTokens: 995, Percent: percent(100),
		}},
		"and more": {[]object.Body{user("hi"), measuredAnswer("yes", 494), user("1234")}, 1000, view.ContextStatus{
			EstimatedTokens: 495, UsageTokens: 494, TrailingTokens: 1, ContextWindow: 1000, Percent: percent(50),
		}},
		"rounded down":  {[]object.Body{measuredAnswer("yes", 494)}, 1000, view.ContextStatus{EstimatedTokens: 494, UsageTokens: 494, ContextWindow: 1000, LastTurnTokens: 494, Percent: percent(49)}},
		"without total": {[]object.Body{object.MessageBody{Message: bare}}, 0, view.ContextStatus{EstimatedTokens: 15, UsageTokens: 15, LastTurnTokens: 15}},
		"failure is no measure": {[]object.Body{user("hi"), measuredAnswer("yes", 100), object.MessageBody{Message: failed}}, 0, view.ContextStatus{
			EstimatedTokens: 100, UsageTokens: 100, LastTurnTokens: 9100,
		}},
		"nothing measured after a checkpoint": {
			[]object.Body{user("hi"), measuredAnswer("yes", 5000), checkpoint("1234", old)},
			0,
			// The summary with its 37 characters of introduction, and the tail.
			view.ContextStatus{EstimatedTokens: 13, TrailingTokens: 13},
		},
		"measured again": {[]object.Body{measuredAnswer("a", 5000), checkpoint("1234"), user("hi"), measuredAnswer("b", 50)}, 0, view.ContextStatus{
			EstimatedTokens: 50, UsageTokens: 50, LastTurnTokens: 50,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commits := chain(t, test.bodies...)
			for i, c := range commits {
				if _, ok := c.Commit.Body.(object.CheckpointBody); ok {
					commits = commits[i:]
					break
				}
			}
			got := view.ContextStatusOf(view.Context{Commits: commits}, test.window)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		m    message.Message
		want int
	}{
		"empty":   {message.User{}, 0},
		"rounded": {message.NewUser("12345", 1), 2},
		// Characters, not bytes.
		"multi-byte": {message.NewUser("éééé", 1), 1},
		"image":      {message.User{Content: []message.Content{message.Image{Data: "aa"}, message.Text{Text: "1"}}}, 1201},
		"assistant":  {assistant(message.StopEnd, message.Text{Text: "1"}, message.Thinking{Thinking: "2"}, call("not counted")), 4}, // 1+1+read+{"n":1}
		"result":     {resultOf("a", "12345678"), 2},
	} {
		if got := view.EstimateTokens(test.m); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
