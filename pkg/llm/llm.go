package llm

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Model names a model of a provider.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// ModelInfo is what a provider says about one of its models.
type ModelInfo struct {
	Model
	API            string   `json:"api"`                     // wire protocol, for example "openai-completions"
	Name           string   `json:"name"`                    // for people
	ContextWindow  int      `json:"contextWindow,omitzero"`  // in tokens, 0 when unknown
	MaxOutput      int      `json:"maxOutput,omitzero"`      // in tokens, 0 when unknown
	ThinkingLevels []string `json:"thinkingLevels,omitzero"` // what [Request].ThinkingLevel may be, weakest first
}

// A ToolSpec offers one tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  jsontext.Value // JSON Schema of the arguments object
}

// A Request asks for one response.
type Request struct {
	Model         Model
	System        string
	Messages      []message.Message
	Tools         []ToolSpec
	ThinkingLevel string // one of the model's levels; anything else means the provider's default
	MaxOutput     int    // in tokens, 0 for the provider's default
	SessionID     string
	Attempt       int // which response of the run this is, counted from 1
}

// A Delta is one streamed fragment of a response: [TextDelta], [ThinkingDelta] or [ToolCallDelta]. Index is the position
// of the fragment's part in the content of the message being streamed. Fragments of one part come in order, and those
// of a text or thinking part, joined, are the text that the final message has.
//
//sumtype:decl
type Delta interface{ delta() }

func (TextDelta) delta()     {}
func (ThinkingDelta) delta() {}
func (ToolCallDelta) delta() {}

// A TextDelta adds Text to a text part.
type TextDelta struct {
	Index int
	Text  string
}

// A ThinkingDelta adds Text to a thinking part.
type ThinkingDelta struct {
	Index int
	Text  string
}

// A ToolCallDelta starts or continues a tool call. ID and Name are the call's whole id and name as known so far,
// Arguments is the next fragment of its arguments text. It is for display: only the calls of the final message count.
type ToolCallDelta struct {
	Index     int
	ID        string
	Name      string
	Arguments string
}

// A Provider serves models.
type Provider interface {
	// Name is the provider part of its models, for example "openai".
	Name() string
	// Models lists what it serves, the preferred model first.
	Models() []ModelInfo
	// Stream plays one response to req, calling emit with each fragment, in order and from one goroutine, and returns the
	// whole message. It never fails otherwise: an error is a message with [message.StopError], whose details
	// [FailureOf] reads. When ctx ends or emit returns an error it stops at once and returns what was produced with
	// [message.StopAborted]. A message that is neither complete nor cut at the output limit has no tool calls.
	Stream(ctx context.Context, req Request, emit func(Delta) error) message.Assistant
}
