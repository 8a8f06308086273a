package openai

import (
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// What stands for content that is not there, because servers refuse empty blocks and calls without a result.
const (
	noOutput  = "(no output)"
	onlyImage = "(the output is an image, in the next user message)"
	noResult  = "(no result: the outcome of this call is unknown)"
)

type wireMessage struct {
	Role             string     `json:"role"`
	Content          any        `json:"content,omitzero"`           // a string or []wirePart
	Reasoning        string     `json:"reasoning,omitzero"`         // see reasoningOf
	ReasoningContent string     `json:"reasoning_content,omitzero"` //nolint:tagliatelle // the server's name
	ToolCalls        []wireCall `json:"tool_calls,omitempty"`       //nolint:tagliatelle // the server's name
	ToolCallID       string     `json:"tool_call_id,omitzero"`      //nolint:tagliatelle // the server's name
}

type wirePart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"` //nolint:tagliatelle // the server's name
}

type imageURL struct {
	URL string `json:"url"`
}

type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledByName `json:"function"`
}

type calledByName struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// convert returns req's system prompt and history as messages that a server accepts, whatever the history is.
func (c *Client) convert(req llm.Request) []wireMessage {
	wire := []wireMessage{}
	if strings.TrimSpace(req.System) != "" {
		wire = append(wire, wireMessage{Role: roleSystem, Content: req.System})
	}
	ids := callIDs{used: map[string]bool{}}
	turn := turnStart(req.Messages)
	for i, m := range req.Messages {
		switch m := m.(type) {
		case message.User:
			if parts := wireParts(m.Content); len(parts) > 0 {
				wire = append(wire, wireMessage{Role: roleUser, Content: simplest(parts)})
			}
		case message.Assistant:
			w := wireMessage{Role: roleAssistant}
			if text := answerText(m); text != "" {
				w.Content = text
			}
			calls := m.Calls()
			results, images := answers(calls, resultsAfter(req.Messages[i+1:]), &ids)
			for k, call := range calls {
				w.ToolCalls = append(w.ToolCalls, wireCall{
					ID: results[k].ToolCallID, Type: "function",
					Function: calledByName{Name: calledName(call.Name), Arguments: argumentsText(call)},
				})
			}
			if w.Content == nil && len(w.ToolCalls) == 0 {
				continue
			}
			if i > turn && m.API == API && m.Provider == c.name && m.Model == req.Model.ID {
				w.Reasoning, w.ReasoningContent = reasoningOf(m)
			}
			wire = append(append(wire, w), results...)
			if len(images) > 0 {
				wire = append(wire, wireMessage{Role: roleUser, Content: images})
			}
		case message.ToolResult:
			// Sent right after its call. One without a call is nobody's answer.
		}
	}
	return wire
}

// turnStart returns the position of the last user message, or -1.
func turnStart(messages []message.Message) int {
	last := -1
	for i, m := range messages {
		if _, ok := m.(message.User); ok {
			last = i
		}
	}
	return last
}

// resultsAfter returns the tool results up to the next assistant message.
func resultsAfter(messages []message.Message) []message.ToolResult {
	var results []message.ToolResult
	for _, m := range messages {
		switch m := m.(type) {
		case message.Assistant:
			return results
		case message.ToolResult:
			results = append(results, m)
		case message.User:
		}
	}
	return results
}

// answers returns exactly one tool message for each call, in call order, and the pictures of all of them as the parts of
// a user message, for a tool message holds only text. The n-th result of an id answers the n-th call of that id.
func answers(calls []message.ToolCall, results []message.ToolResult, ids *callIDs) (wire []wireMessage, images []wirePart) {
	taken := make([]bool, len(results))
	for _, call := range calls {
		answer := wireMessage{Role: roleTool, ToolCallID: ids.next(call.ID), Content: noResult}
		for i, r := range results {
			if taken[i] || r.ToolCallID != call.ID {
				continue
			}
			taken[i] = true
			text, pictures := resultParts(r)
			answer.Content = text
			if len(pictures) > 0 {
				images = append(images, wirePart{Type: "text", Text: "Output of tool call " + answer.ToolCallID + ":"})
				images = append(images, pictures...)
			}
			break
		}
		wire = append(wire, answer)
	}
	return wire, images
}

func resultParts(r message.ToolResult) (string, []wirePart) {
	var pictures []wirePart
	for _, c := range r.Content {
		if image, ok := c.(message.Image); ok {
			pictures = append(pictures, picture(image))
		}
	}
	text := message.PlainText(r.Content)
	switch {
	case strings.TrimSpace(text) != "":
		return text, pictures
	case len(pictures) > 0:
		return onlyImage, pictures
	}
	return noOutput, nil
}

func wireParts(contents []message.Content) []wirePart {
	var parts []wirePart
	for _, c := range contents {
		switch c := c.(type) {
		case message.Text:
			if strings.TrimSpace(c.Text) != "" {
				parts = append(parts, wirePart{Type: "text", Text: c.Text})
			}
		case message.Image:
			parts = append(parts, picture(c))
		}
	}
	return parts
}

func picture(i message.Image) wirePart {
	return wirePart{Type: "image_url", ImageURL: &imageURL{URL: "data:" + i.MIMEType + ";base64," + i.Data}}
}

// simplest returns one text as a plain string, which every server understands.
func simplest(parts []wirePart) any {
	if len(parts) == 1 && parts[0].ImageURL == nil {
		return parts[0].Text
	}
	return parts
}

// answerText returns the texts of a, without blank ones.
func answerText(a message.Assistant) string {
	var texts []string
	for _, p := range a.Content {
		if t, ok := p.(message.Text); ok && strings.TrimSpace(t.Text) != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// reasoningOf returns a's thinking for the fields it came in, which its signatures name. Only the model that wrote it may
// see it again, and only within the turn: some servers demand it between the calls of a turn, and none needs it later.
func reasoningOf(a message.Assistant) (reasoning, reasoningContent string) {
	for _, p := range a.Content {
		t, ok := p.(message.Thinking)
		if !ok {
			continue
		}
		switch t.Signature {
		case fieldReasoning:
			reasoning += t.Thinking
		case fieldReasoningContent:
			reasoningContent += t.Thinking
		}
	}
	return reasoning, reasoningContent
}

func argumentsText(call message.ToolCall) string {
	if call.Arguments.Kind() != '{' {
		return "{}"
	}
	return string(call.Arguments)
}

// calledName cleans a tool name that a model made up.
func calledName(name string) string {
	if name == "" {
		return "unnamed"
	}
	return safeName(name)
}
