package main

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func assistant(run string, stop message.StopReason, text string) api.CommitEvent {
	return api.CommitEvent{Head: "main", Item: api.CommitItem{Commit: object.Commit{Run: run, Body: object.MessageBody{
		Message: message.Assistant{StopReason: stop, ErrorMessage: "overloaded", Content: []message.Part{message.Text{Text: text}}},
	}}}}
}

func shown(t *testing.T, head string, bodies ...api.EventBody) string {
	t.Helper()
	var b strings.Builder
	l := newLive(&b, style{}, head)
	for i, body := range bodies {
		if err := l.show(api.Event{Seq: int64(i + 1), Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	l.end()
	return b.String()
}

func TestLive(t *testing.T) {
	t.Parallel()
	run := func(phase object.Phase) api.RunEvent {
		return api.RunEvent{Head: "main", Run: api.RunInfo{RunID: "r", Head: "main", Phase: phase}}
	}
	for _, tt := range []struct {
		name string
		in   []api.EventBody
		want string
	}{
		{"a streamed answer is shown once", []api.EventBody{
			run(object.Respond{}),
			api.ReasoningDeltaEvent{RunID: "r", Attempt: 1, Delta: "hm"},
			api.TextDeltaEvent{RunID: "r", Attempt: 1, Index: 1, Delta: "Hel"},
			api.TextDeltaEvent{RunID: "r", Attempt: 1, Index: 1, Delta: "lo"},
			assistant("r", message.StopEnd, "Hello"), run(object.Done{}),
		}, "~ hm\nHello\n"},
		{"an answer whose stream was missed is shown whole", []api.EventBody{assistant("r", message.StopEnd, "Hello")}, "Hello\n"},
		{"each attempt begins on a line of its own", []api.EventBody{
			api.TextDeltaEvent{RunID: "r", Attempt: 1, Delta: "He"},
			assistant("r", message.StopError, "He"),
			api.TextDeltaEvent{RunID: "r", Attempt: 2, Delta: "Hello"},
			assistant("r", message.StopEnd, "Hello"),
		}, "He\n✗ overloaded\nHello\n"},
		{"progress does not tear a line", []api.EventBody{
			api.TextDeltaEvent{RunID: "r", Attempt: 1, Delta: "I work"},
			api.ToolProgressEvent{RunID: "r", CallID: "c", Progress: api.Progress{Text: "1 of 2"}},
		}, "I work\n  · 1 of 2\n"},
		{"a failed run says why", []api.EventBody{run(object.Failed{Class: object.FailedProvider, Error: "no key"})}, "✗ the run failed (provider): no key\n"},
		{"an unknown event is passed over", []api.EventBody{api.UnknownEvent{Kind: "later", Raw: jsontext.Value(`{}`)}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := shown(t, "main", tt.in...); got != tt.want {
				t.Errorf("shown:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestLive_otherHeadsAreHidden(t *testing.T) {
	t.Parallel()
	got := shown(t, "side",
		api.RunEvent{Head: "main", Run: api.RunInfo{RunID: "r", Head: "main", Phase: object.Respond{}}},
		api.TextDeltaEvent{RunID: "r", Attempt: 1, Delta: "secret"},
		api.EffectEvent{RunID: "r", CallID: "c", State: api.EffectIntent, Tool: "note", Args: jsontext.Value(`{}`)},
		assistant("r", message.StopEnd, "secret"),
		api.QueuedEvent{Head: "main", Item: api.PendingItem{Content: []message.Content{message.Text{Text: "secret"}}}},
	)
	if got != "" {
		t.Errorf("another head's events are shown:\n%s", got)
	}
}

func TestFollower(t *testing.T) {
	t.Parallel()
	change := object.Hash([]byte("x"))
	landed := api.LandedEvent{Head: "main", Change: change}
	done := api.RunEvent{Head: "main", Run: api.RunInfo{Phase: object.Done{}}}
	for _, tt := range []struct {
		name string
		in   []api.EventBody
		want ending
	}{
		{"an answer to what came before does not count", []api.EventBody{assistant("r", message.StopEnd, "x"), done}, underWay},
		{"its own answer does", []api.EventBody{landed, assistant("r", message.StopEnd, "x")}, answered},
		{"a failed attempt is followed by another", []api.EventBody{landed, assistant("r", message.StopError, "x")}, underWay},
		{"a call is followed by its result", []api.EventBody{landed, assistant("r", message.StopToolUse, "x")}, underWay},
		{"another head's answer does not count", []api.EventBody{landed, api.CommitEvent{Head: "side", Item: assistant("r", message.StopEnd, "x").Item}}, underWay},
		{"an aborted run ends it", []api.EventBody{landed, api.RunEvent{Head: "main", Run: api.RunInfo{Phase: object.Aborted{}}}}, aborted},
		{"a failed run ends it", []api.EventBody{landed, api.RunEvent{Head: "main", Run: api.RunInfo{Phase: object.Failed{}}}}, failed},
		{"a cancelled message never lands", []api.EventBody{api.QueueCancelledEvent{Change: change}}, withdrawn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &follower{change: change, head: "main"}
			got := underWay
			for _, b := range tt.in {
				if got == underWay {
					got = f.see(b)
				}
			}
			if got != tt.want {
				t.Errorf("ending = %d, want %d", got, tt.want)
			}
		})
	}
}
