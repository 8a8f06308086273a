package agent

import (
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// DefaultMaxImageBytes is how much base64 of images a request carries.
const DefaultMaxImageBytes = 20 << 20

// request returns what the model is asked, made of nothing but the branch and the run.
func (t *Turn) request(in kernel.TurnInput, info llm.ModelInfo) llm.Request {
	req := llm.Request{
		Model:         info.Model,
		Messages:      limitImages(ownReasoning(view.Messages(in.Context.Commits), info), t.opts.MaxImageBytes),
		ThinkingLevel: in.Run.Config.ThinkingLevel,
		SessionID:     string(in.Session.ID()),
		Attempt:       in.Attempt,
	}
	if t.opts.System != nil {
		req.System = message.CleanText(t.opts.System(in.Run.Config))
	}
	for _, tool := range t.opts.Tools.All() {
		req.Tools = append(req.Tools, llm.ToolSpec{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters})
	}
	return req
}

// ownReasoning drops the reasoning and signatures that another model made: they are proofs that only their maker accepts. A message
// of nothing else is dropped whole.
func ownReasoning(messages []message.Message, info llm.ModelInfo) []message.Message {
	out := make([]message.Message, 0, len(messages))
	for _, m := range messages {
		a, ok := m.(message.Assistant)
		if !ok || (a.API == info.API && a.Provider == info.Provider && a.Model == info.ID) {
			out = append(out, m)
			continue
		}
		var parts []message.Part
		for _, p := range a.Content {
			switch p := p.(type) {
			case message.Text:
				parts = append(parts, message.Text{Text: p.Text})
			case message.ToolCall:
				parts = append(parts, p)
			case message.Thinking:
			}
		}
		if a.Content = parts; len(parts) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// limitImages replaces the oldest images by a remark until the rest fit in limit bytes. It copies what it changes.
func limitImages(messages []message.Message, limit int) []message.Message {
	left := limit
	for i, m := range slices.Backward(messages) {
		switch m := m.(type) {
		case message.User:
			m.Content, left = keepImages(m.Content, left)
			messages[i] = m
		case message.ToolResult:
			m.Content, left = keepImages(m.Content, left)
			messages[i] = m
		case message.Assistant:
		}
	}
	return messages
}

func keepImages(parts []message.Content, left int) ([]message.Content, int) {
	copied := false
	for i, c := range slices.Backward(parts) {
		image, ok := c.(message.Image)
		if !ok {
			continue
		}
		if len(image.Data) <= left {
			left -= len(image.Data)
			continue
		}
		left = 0 // older images go as well: a gap would mislead more than an end
		if !copied {
			parts, copied = slices.Clone(parts), true
		}
		parts[i] = message.Text{Text: fmt.Sprintf("[an image (%s) was left out to keep the request small]", image.MIMEType)}
	}
	return parts, left
}
