package scene

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Script is a turn without a model. What it says depends on the context alone, so that it can be asked again by any process:
//
//   - "use a b:1 b:2" calls the tool a with the call id "a" and the tool b with the ids "1" and "2";
//   - any other user message X is answered "re: X";
//   - tool results are answered with "done: " and their texts.
//
// The zero value knows no tools. It is safe for concurrent use once its fields are set, and counts what it does.
type Script struct {
	// Toolbox holds the tools by name. A call of another one is answered with an error.
	Toolbox map[string]Tool
	// Say replaces the rules above for one response when it returns an outcome. n counts the responses asked for, from 1.
	Say func(ctx context.Context, in kernel.TurnInput, n int) (kernel.RespondOutcome, error)

	mu    sync.Mutex
	asked int
	runs  map[string]int
}

// A Tool is a scripted tool.
type Tool struct {
	Replay object.ReplayPolicy // default: never
	Run    func(ctx context.Context, call message.ToolCall) Answer
	// Wake is called when a parked call is answered, expired or aborted. Without it a signal is answered with its text, and the others with an
	// error.
	Wake func(ctx context.Context, call message.ToolCall, w Wake) Answer
}

// An Answer is what a tool call came to: a result, or a wait.
type Answer struct {
	Text      string
	IsError   bool
	Park      bool
	Selection *message.Selection
	Until     object.Millis
}

// A Wake says why a parked call goes on.
type Wake struct {
	Signal           jsontext.Value
	Expired, Aborted bool
}

// Asked returns how many responses were asked for.
func (s *Script) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Runs returns how often a call was executed.
func (s *Script) Runs(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[call]
}

// Respond implements [kernel.Turn].
func (s *Script) Respond(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
	s.mu.Lock()
	s.asked++
	n := s.asked
	s.mu.Unlock()
	if s.Say != nil {
		if o, err := s.Say(ctx, in, n); o != nil || err != nil {
			return o, err
		}
	}
	m := Reply(view.Messages(in.Context.Commits), in.Now)
	if err := Stream(ctx, in, m); err != nil {
		return kernel.ResponseAborted{Message: cut(m)}, nil //nolint:nilerr // what the call has is its outcome
	}
	if len(m.Calls()) > 0 {
		return kernel.CallTools{Message: m}, nil
	}
	return kernel.Complete{Message: m}, nil
}

func cut(m message.Assistant) message.Assistant {
	m.Content, m.StopReason = nil, message.StopAborted
	return m
}

// Reply is what the rules of a [Script] answer to messages.
func Reply(messages []message.Message, at object.Millis) message.Assistant {
	var results []string
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i].(type) {
		case message.ToolResult:
			results = append([]string{message.PlainText(m.Content)}, results...)
			continue
		case message.User:
			if len(results) == 0 {
				return replyTo(message.PlainText(m.Content), at)
			}
		case message.Assistant:
		}
		break
	}
	return Says("done: "+strings.Join(results, ", "), at)
}

func replyTo(text string, at object.Millis) message.Assistant {
	names, ok := strings.CutPrefix(text, "use ")
	if !ok {
		return Says("re: "+text, at)
	}
	var calls []message.ToolCall
	for _, word := range strings.Fields(names) {
		name, id, ok := strings.Cut(word, ":")
		if !ok {
			id = name
		}
		calls = append(calls, message.ToolCall{ID: id, Name: name, Arguments: jsontext.Value(`{}`)})
	}
	return Asks(at, calls...)
}

// Says returns an assistant message of one text.
func Says(text string, at object.Millis) message.Assistant {
	return message.Assistant{
		Content: []message.Part{message.Text{Text: text}}, API: "script", Provider: "script", Model: "script",
		StopReason: message.StopEnd, Timestamp: at,
	}
}

// Asks returns an assistant message with tool calls.
func Asks(at object.Millis, calls ...message.ToolCall) message.Assistant {
	m := Says("I will look.", at)
	m.StopReason = message.StopToolUse
	for _, c := range calls {
		m.Content = append(m.Content, c)
	}
	return m
}

// Stream emits the texts of m as deltas, in two pieces each.
func Stream(ctx context.Context, in kernel.TurnInput, m message.Assistant) error {
	for i, p := range m.Content {
		text, ok := p.(message.Text)
		if !ok {
			continue
		}
		half := len(text.Text) / 2
		for _, piece := range []string{text.Text[:half], text.Text[half:]} {
			err := in.Emit(ctx, store.DeltaEvent{RunID: in.Run.ID, Attempt: in.Attempt, Index: i, Part: store.TextPart, Delta: piece})
			if err != nil {
				return fmt.Errorf("stream: %w", err)
			}
		}
	}
	return nil
}
