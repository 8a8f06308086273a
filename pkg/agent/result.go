package agent

import (
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// The limits of one tool result, in bytes. What goes beyond is left out, and the text says so.
const (
	MaxResultText    = 1 << 20
	MaxResultImages  = 8 << 20 // of base64
	MaxResultDetails = 1 << 20
	maxTitle         = 1 << 10
	maxErrorText     = 8 << 10
)

// What calls are answered with that did not come to a result of their own.
const (
	textCutShort    = "This call was not run: the message was cut off at the output limit, so none of its calls can be trusted. Make it again, shorter."
	textNotStarted  = "This call was not run: the run was interrupted before it started."
	textTimeUp      = "This call was stopped: it took longer than this host has for one step. What it did until then may have happened."
	textAbortedWait = "The call was aborted while waiting."
)

// errorResult is an error that says text. The batch adds whose result it is.
func errorResult(text string) message.ToolResult {
	text = message.CleanText(text)
	if short := cut(text, maxErrorText); short != text {
		text = short + "…"
	}
	return message.ToolResult{Content: []message.Content{message.Text{Text: text}}, IsError: true}
}

// doneResult shares nothing with the tool that could still change.
func doneResult(d tool.Done) message.ToolResult {
	r := message.ToolResult{Content: d.Content, Details: d.Details.Clone(), Title: d.Title, IsError: d.IsError}
	if d.Usage != nil {
		usage := *d.Usage
		r.Usage = &usage
	}
	return r
}

// limited returns r with clean text and within the limits. It copies what it changes.
func limited(r message.ToolResult) message.ToolResult {
	content := make([]message.Content, 0, len(r.Content))
	var texts, images, cutText, lostImages int
	for _, c := range r.Content {
		switch c := c.(type) {
		case message.Text:
			text := message.CleanText(c.Text)
			kept := cut(text, MaxResultText-texts)
			texts += len(kept)
			cutText += len(text) - len(kept)
			if kept != "" {
				content = append(content, message.Text{Text: kept, Signature: message.CleanText(c.Signature)})
			}
		case message.Image:
			if c.MIMEType == "" || images+len(c.Data) > MaxResultImages {
				lostImages++
				continue
			}
			images += len(c.Data)
			content = append(content, c)
		case nil:
		}
	}
	if cutText > 0 {
		content = append(content, message.Text{
			Text: fmt.Sprintf("[%d more bytes of text were left out: a result holds at most %d]", cutText, MaxResultText),
		})
	}
	if lostImages > 0 {
		content = append(content, message.Text{
			Text: fmt.Sprintf("[%d images were left out: they have no type, or go beyond %d bytes]", lostImages, MaxResultImages),
		})
	}
	if n := len(r.Details); n > MaxResultDetails {
		r.Details = nil
		content = append(content, message.Text{
			Text: fmt.Sprintf("[%d bytes of details were left out: a result holds at most %d]", n, MaxResultDetails),
		})
	}
	r.Content, r.Title = content, cut(message.CleanText(r.Title), maxTitle)
	return r
}

// recordable reports why r cannot be committed. It asks about the commit, which nests deeper than the effect, so that a result that
// is settled can always be published.
func recordable(r message.ToolResult) error {
	_, err := object.Encode(object.Commit{Body: object.MessageBody{Message: r}})
	return err
}
