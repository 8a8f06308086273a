package llm

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/ijson"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// maxArgumentsDepth is how deep the arguments of a tool call may nest.
const maxArgumentsDepth = 1000

type partKind int

const (
	textPart partKind = iota
	thinkingPart
	callPart
)

// A draft is one part of a message while it is being streamed.
type draft struct {
	kind      partKind
	index     int
	id, name  string
	signature string
	buffer    textBuffer
	text      strings.Builder // clean: what the deltas said
	raw       strings.Builder // the arguments as they came
}

func (d *draft) delta(ready string) Delta {
	switch d.kind {
	case textPart:
		return TextDelta{Index: d.index, Text: ready}
	case thinkingPart:
		return ThinkingDelta{Index: d.index, Text: ready}
	case callPart:
		return ToolCallDelta{Index: d.index, ID: d.id, Name: d.name, Arguments: ready}
	}
	panic("unreachable")
}

func (d *draft) part() message.Part {
	switch d.kind {
	case textPart:
		return message.Text{Text: d.text.String()}
	case thinkingPart:
		return message.Thinking{Thinking: d.text.String(), Signature: d.signature}
	case callPart:
		return NewCall(d.id, d.name, d.raw.String())
	}
	panic("unreachable")
}

// NewCall returns the tool call a model made with the arguments text it wrote. No text at all means no arguments. Text
// that is not an I-JSON object at most 1000 levels deep is kept as RawArguments beside {}, so that the call is answered
// with an error and never runs on guessed or rounded values.
func NewCall(id, name, arguments string) message.ToolCall {
	call := message.ToolCall{
		ID:        message.CleanText(id),
		Name:      message.CleanText(name),
		Arguments: jsontext.Value("{}"),
	}
	trimmed := strings.Trim(arguments, " \t\r\n")
	if trimmed == "" {
		return call
	}
	v := jsontext.Value(trimmed)
	if v.Kind() != '{' || ijson.Check(v, maxArgumentsDepth) != nil {
		call.RawArguments = message.CleanText(arguments)
		return call
	}
	call.Arguments = v
	return call
}
