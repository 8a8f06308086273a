package message

import (
	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/union"
)

//nolint:gochecknoglobals // immutable codec tables
var (
	messages = union.New("role", roleOf,
		union.Role[Message, User]("user"),
		union.Role[Message, Assistant]("assistant"),
		union.Role[Message, ToolResult]("toolResult"),
	)
	contents = union.New("type", contentType,
		union.Type[Content, Text]("text"),
		union.Type[Content, Image]("image"),
	)
	parts = union.New("type", partType,
		union.Type[Part, Text]("text"),
		union.Type[Part, Thinking]("thinking"),
		union.Type[Part, ToolCall]("toolCall"),
	)
	marshalers   = json.JoinMarshalers(messages.Marshalers(), contents.Marshalers(), parts.Marshalers())
	unmarshalers = json.JoinUnmarshalers(messages.Unmarshalers(), contents.Unmarshalers(), parts.Unmarshalers())
)

// Marshalers returns the encoders of this package's unions, for packages whose types hold messages.
func Marshalers() *json.Marshalers { return marshalers }

// Unmarshalers returns the decoders of this package's unions, for packages whose types hold messages.
func Unmarshalers() *json.Unmarshalers { return unmarshalers }

// Marshal returns the JSON of v, a value that may hold messages and parts.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, json.WithMarshalers(marshalers))
}

// Unmarshal reads data into v, a pointer to a value that may hold messages and parts. Names are case-sensitive;
// duplicate names, invalid UTF-8 and unknown unions are errors.
func Unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, json.WithUnmarshalers(unmarshalers))
}

func roleOf(m Message) string {
	switch m.(type) {
	case User:
		return "user"
	case Assistant:
		return "assistant"
	case ToolResult:
		return "toolResult"
	}
	panic("unreachable")
}

func contentType(c Content) string {
	switch c.(type) {
	case Text:
		return "text"
	case Image:
		return "image"
	}
	panic("unreachable")
}

func partType(p Part) string {
	switch p.(type) {
	case Text:
		return "text"
	case Thinking:
		return "thinking"
	case ToolCall:
		return "toolCall"
	}
	panic("unreachable")
}
