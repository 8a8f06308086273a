package message

import "github.com/go-json-experiment/json/jsontext"

// A Content is a part of a [User] message or a [ToolResult]: [Text] or [Image].
//
//sumtype:decl
type Content interface{ content() }

// A Part is a part of an [Assistant] message: [Text], [Thinking] or [ToolCall].
//
//sumtype:decl
type Part interface{ part() }

func (Text) content()  {}
func (Image) content() {}

func (Text) part()     {}
func (Thinking) part() {}
func (ToolCall) part() {}

// Text is plain or Markdown text.
type Text struct {
	Text string `json:"text"`
	// Signature is the provider's opaque proof for this text. It is only ever sent back to the same provider and model.
	Signature string `json:"signature,omitzero"`
}

// Image is a picture, base64 in Data.
type Image struct {
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
}

// Thinking is a model's reasoning.
type Thinking struct {
	Thinking string `json:"thinking"`
	// Signature and Redacted are opaque to everyone but the provider and model that made them.
	Signature string `json:"signature,omitzero"`
	Redacted  string `json:"redacted,omitzero"`
}

// A ToolCall asks for one tool execution. ID is the provider's name for the call; it is data, and never part of a ref
// name unescaped.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is a JSON object.
	Arguments jsontext.Value `json:"arguments"`
	// RawArguments is the provider's own text when it is not an I-JSON object (cut short, duplicate names, a number that
	// no double holds). Arguments is then {} and the call is answered with an error instead of being run.
	RawArguments string `json:"rawArguments,omitzero"`
}
