package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// intro is what the first answer of every conversation starts with.
const intro = "I am a scripted demonstration model, not an AI: I answer by rules, without a key or a network. " +
	"Say help to see what I can show.\n\n"

// maxShown is how many characters of a text are repeated back.
const maxShown = 300

// A plan is one response, decided before any of it is streamed.
type plan struct {
	thinking, text string
	calls          []call
	failure        llm.Failure // its kind is empty when the response succeeds
	failureText    string
}

type call struct{ id, name, arguments string }

// planFor decides the response from nothing but the request.
func planFor(req llm.Request) plan {
	said, results := latest(req.Messages)
	var p plan
	switch {
	case len(results) > 0:
		p = summary(results)
	case len(said) > 0:
		p = command(req, said)
	default:
		p = plan{text: "There is no message to answer yet."}
	}
	for i := range p.calls {
		p.calls[i].id = fmt.Sprintf("call_%d_%d", len(req.Messages), i+1)
	}
	answered := slices.ContainsFunc(req.Messages, func(m message.Message) bool {
		_, ok := m.(message.Assistant)
		return ok
	})
	if !answered && p.failure.Kind == "" {
		p.text = intro + p.text
	}
	return p
}

// latest returns what waits for an answer: the texts of the user messages at the end, or else the tool results there.
func latest(messages []message.Message) (said []string, results []message.ToolResult) {
	for _, m := range slices.Backward(messages) {
		switch m := m.(type) {
		case message.User:
			if len(results) > 0 {
				return nil, results
			}
			said = slices.Insert(said, 0, strings.TrimSpace(message.PlainText(m.Content)))
		case message.ToolResult:
			if len(said) > 0 {
				return said, nil
			}
			results = slices.Insert(results, 0, m)
		case message.Assistant:
			return said, results
		}
	}
	return said, results
}

// summary reports tool results.
func summary(results []message.ToolResult) plan {
	var b strings.Builder
	b.WriteString("Here is what came back:\n")
	for _, r := range results {
		verb := "says"
		if r.IsError {
			verb = "failed"
		}
		text := shown(message.PlainText(r.Content))
		if text == "" {
			text = "(no output)"
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", r.ToolName, verb, text)
	}
	return plan{
		thinking: fmt.Sprintf("The script has %d tool result(s) to sum up.", len(results)),
		text:     b.String(),
	}
}

// echo answers plain text by repeating it, so that a reader sees which messages were read together.
func echo(said []string) plan {
	var b strings.Builder
	if len(said) == 1 {
		fmt.Fprintf(&b, "You said: %s", shown(said[0]))
	} else {
		fmt.Fprintf(&b, "You sent %d messages:", len(said))
		for i, text := range said {
			fmt.Fprintf(&b, "\n%d. %s", i+1, shown(text))
		}
	}
	return plan{thinking: "No command here, so the script repeats what it read.", text: b.String()}
}

// shown returns text on one line, shortened.
func shown(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	runes := []rune(text)
	if len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}
