package view_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// bodies makes histories that no kernel would write: results without calls, calls without results, repeated ids, blank texts.
func bodies() *rapid.Generator[[]object.Body] {
	id := rapid.SampledFrom([]string{"a", "b"})
	text := rapid.SampledFrom([]string{"x", " ", ""})
	stop := rapid.SampledFrom([]message.StopReason{
		message.StopPending, message.StopEnd, message.StopLength, message.StopToolUse, message.StopError, message.StopAborted, message.StopDeferred,
	})
	assistants := rapid.Custom(func(t *rapid.T) message.Message {
		m := assistant(stop.Draw(t, "stop"))
		m.Usage.TotalTokens = rapid.IntRange(0, 2).Draw(t, "tokens")
		for _, s := range rapid.SliceOfN(text, 0, 2).Draw(t, "texts") {
			m.Content = append(m.Content, message.Text{Text: s})
		}
		for _, s := range rapid.SliceOfN(id, 0, 3).Draw(t, "calls") {
			m.Content = append(m.Content, call(s))
		}
		return m
	})
	messages := rapid.OneOf(
		rapid.Map(text, func(s string) message.Message { return message.NewUser(s, 1) }),
		rapid.Map(id, func(s string) message.Message { return resultOf(s, "r") }), assistants,
	)
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Map(messages, func(m message.Message) object.Body { return object.MessageBody{Message: m} }),
		rapid.Custom(func(t *rapid.T) object.Body {
			return object.CheckpointBody{Summary: text.Draw(t, "summary"), RetainedTail: rapid.SliceOfN(messages, 0, 3).Draw(t, "tail")}
		}),
		rapid.Map(text, func(s string) object.Body { return object.SummaryBody{Text: s} }),
	), 0, 24)
}

// Rule G: whatever the history, what a model is sent is a valid request.
func TestRuleG(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var commits []view.Commit
		for _, b := range bodies().Draw(rt, "bodies") {
			commits = append(commits, view.Commit{Commit: object.Commit{Body: b}})
		}
		if err := view.CheckRequest(view.Messages(commits)); err != nil {
			rt.Fatal(err)
		}
		view.ContextStatusOf(view.Context{Commits: commits}, 100)
	})
}

// A check that finds nothing wrong with a wrong request would prove nothing.
func TestCheckRequestFinds(t *testing.T) {
	t.Parallel()
	ask := assistant(message.StopToolUse, call("a"), call("b"))
	say := message.NewUser("x", 1)
	for name, ms := range map[string][]message.Message{
		"no result":      {say, ask},
		"one result":     {say, ask, resultOf("a", "1"), say},
		"wrong order":    {say, ask, resultOf("b", "1"), resultOf("a", "1")},
		"no call":        {say, resultOf("a", "1")},
		"one too many":   {say, ask, resultOf("a", "1"), resultOf("b", "1"), resultOf("b", "1")},
		"empty message":  {message.NewUser(" ", 1)},
		"empty response": {say, assistant(message.StopEnd)},
	} {
		if view.CheckRequest(ms) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
	if err := view.CheckRequest([]message.Message{say, ask, resultOf("a", "1"), resultOf("b", "1"), say}); err != nil {
		t.Error(err)
	}
}
