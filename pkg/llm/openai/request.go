package openai

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/llm"
)

type wireRequest struct {
	Model               string        `json:"model"`
	Messages            []wireMessage `json:"messages"`
	Tools               []wireTool    `json:"tools,omitempty"`
	ReasoningEffort     string        `json:"reasoning_effort,omitzero"`      //nolint:tagliatelle // the server's name
	MaxTokens           int           `json:"max_tokens,omitzero"`            //nolint:tagliatelle // the server's name
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"` //nolint:tagliatelle // the server's name
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"` //nolint:tagliatelle // the server's name
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"` //nolint:tagliatelle // the server's name
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters"`
}

// encode returns the request body. Its bytes depend on nothing but req.
func (c *Client) encode(req llm.Request) ([]byte, error) {
	w := wireRequest{
		Model:         req.Model.ID,
		Messages:      c.convert(req),
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
	}
	if req.Model.ID == "" {
		return nil, errors.New("the request names no model")
	}
	if !slices.ContainsFunc(w.Messages, func(m wireMessage) bool { return m.Role != roleSystem }) {
		return nil, errors.New("the request has no message to answer")
	}
	for _, t := range req.Tools {
		if t.Name == "" || t.Name != safeName(t.Name) {
			return nil, fmt.Errorf("tool name %q must be 1 to 64 letters, digits, _ or -", t.Name)
		}
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = jsontext.Value(`{"type":"object","properties":{}}`)
		}
		w.Tools = append(w.Tools, wireTool{"function", wireFunction{t.Name, t.Description, parameters}})
	}
	// OpenAI's reasoning models refuse the older name, and most copies know no other.
	if c.official {
		w.MaxCompletionTokens = req.MaxOutput
	} else {
		w.MaxTokens = req.MaxOutput
	}
	for _, info := range c.models {
		if info.ID == req.Model.ID && slices.Contains(info.ThinkingLevels, req.ThinkingLevel) {
			w.ReasoningEffort = req.ThinkingLevel
		}
	}
	// A history may hold bytes that are not UTF-8; they cost a character, not the request.
	body, err := json.Marshal(w, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return body, nil
}
