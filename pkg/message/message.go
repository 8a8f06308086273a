package message

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Millis is a point in time as milliseconds since the Unix epoch. Durable values use it because a [time.Time] carries a
// zone and a monotonic reading, which have no place in hashed bytes.
type Millis int64

// MillisOf returns t as Millis.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns m in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// A Message is one entry of a conversation: [User], [Assistant] or [ToolResult].
//
//sumtype:decl
type Message interface{ message() }

func (User) message()       {}
func (Assistant) message()  {}
func (ToolResult) message() {}

// A User message is what a participant said.
type User struct {
	// Content is never empty. A plain text is one [Text] part, so that one content has one encoding.
	Content   []Content `json:"content"`
	Timestamp Millis    `json:"timestamp"`
}

// An Assistant message is one whole response of a model, also when it failed or was cut short.
type Assistant struct {
	Content       []Part       `json:"content"`
	API           string       `json:"api"`      // wire protocol, for example "openai-completions"
	Provider      string       `json:"provider"` // who served it
	Model         string       `json:"model"`    // the model that was asked for
	Usage         Usage        `json:"usage"`
	StopReason    StopReason   `json:"stopReason"`
	ErrorMessage  string       `json:"errorMessage,omitzero"`
	ResponseModel string       `json:"responseModel,omitzero"` // the model that answered, when the provider names it
	ResponseID    string       `json:"responseId,omitzero"`
	Diagnostics   []Diagnostic `json:"diagnostics,omitzero"`
	RawStopReason string       `json:"rawStopReason,omitzero"` // the provider's own word
	Timestamp     Millis       `json:"timestamp"`
}

// Calls returns the tool calls of a in order.
func (a Assistant) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range a.Content {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// A ToolResult answers one tool call.
type ToolResult struct {
	ToolCallID string         `json:"toolCallId"`
	ToolName   string         `json:"toolName"`
	Content    []Content      `json:"content"`
	Details    jsontext.Value `json:"details,omitzero"` // for clients, never sent to a model
	Title      string         `json:"title,omitzero"`
	Usage      *Usage         `json:"usage,omitzero"` // what the tool itself spent on models
	IsError    bool           `json:"isError"`
	Timestamp  Millis         `json:"timestamp"`
}

// A Diagnostic is one machine-readable remark about a response, such as a provider's requested retry delay.
type Diagnostic struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details jsontext.Value `json:"details,omitzero"`
}

// A StopReason says why a response ended.
type StopReason string

// The stop reasons.
const (
	StopPending  StopReason = "pending"
	StopEnd      StopReason = "stop"
	StopLength   StopReason = "length" // cut at the output limit: its tool calls cannot be trusted (invariant 15)
	StopToolUse  StopReason = "toolUse"
	StopError    StopReason = "error"
	StopAborted  StopReason = "aborted"
	StopDeferred StopReason = "deferred"
)

// Valid reports whether s is one of the listed reasons.
func (s StopReason) Valid() bool {
	switch s {
	case StopPending, StopEnd, StopLength, StopToolUse, StopError, StopAborted, StopDeferred:
		return true
	}
	return false
}
