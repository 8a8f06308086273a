package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// maxCallID is the longest id of a tool call, in bytes.
const maxCallID = 200

// normalize returns m as it can be recorded, whatever the provider did: clean text, no empty parts, calls only where they may run
// and each with an id of its own. A message that cannot be recorded even so, or that says nothing, is a failure.
func normalize(m, head message.Assistant) message.Assistant {
	if m.API == "" {
		m.API = head.API
	}
	if m.Provider == "" {
		m.Provider = head.Provider
	}
	if m.Model == "" {
		m.Model = head.Model
	}
	m.Content = cleanParts(m.Content)
	m.ErrorMessage, m.ResponseModel = message.CleanText(m.ErrorMessage), message.CleanText(m.ResponseModel)
	m.ResponseID, m.RawStopReason = message.CleanText(m.ResponseID), message.CleanText(m.RawStopReason)
	switch m.StopReason {
	case message.StopError:
		if m.ErrorMessage == "" {
			m = llm.ErrorMessage(m, llm.Failure{Kind: llm.FailureUnknown}, "the provider failed without saying why")
		}
		m.Content = withoutCalls(m.Content)
	case message.StopAborted:
		m = llm.AbortedMessage(m)
	case message.StopEnd, message.StopToolUse, message.StopLength:
		m.Content = uniqueIDs(m.Content)
		if why := silent(m); why != "" {
			m = llm.ErrorMessage(m, llm.Failure{Kind: llm.FailureUnknown}, why)
		}
	case message.StopPending, message.StopDeferred:
		m = llm.ErrorMessage(m, llm.Failure{Kind: llm.FailureMalformed}, "the provider returned an unfinished response")
	default:
		m = llm.ErrorMessage(m, llm.Failure{Kind: llm.FailureMalformed},
			fmt.Sprintf("the provider gave the unknown stop reason %q", m.StopReason))
	}
	if _, err := object.Encode(object.Commit{Body: object.MessageBody{Message: m}}); err != nil {
		head.Content = textOnly(m.Content)
		return llm.ErrorMessage(head, llm.Failure{Kind: llm.FailureMalformed}, "the response cannot be recorded: "+err.Error())
	}
	return m
}

// silent says why m shows nothing to anyone, or "".
func silent(m message.Assistant) string {
	for _, p := range m.Content {
		switch p := p.(type) {
		case message.Text:
			if strings.TrimSpace(p.Text) != "" {
				return ""
			}
		case message.ToolCall:
			return ""
		case message.Thinking:
		}
	}
	if m.StopReason == message.StopLength {
		return "the model reached its output limit before it said anything"
	}
	return "the model returned nothing"
}

func cleanParts(parts []message.Part) []message.Part {
	kept := make([]message.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case message.Text:
			if p.Text = message.CleanText(p.Text); p.Text != "" {
				kept = append(kept, p)
			}
		case message.Thinking:
			p.Thinking = message.CleanText(p.Thinking)
			if p.Thinking != "" || p.Signature != "" || p.Redacted != "" {
				kept = append(kept, p)
			}
		case message.ToolCall:
			p.Name, p.RawArguments = message.CleanText(p.Name), message.CleanText(p.RawArguments)
			kept = append(kept, checkedArguments(p))
		}
	}
	return kept
}

// checkedArguments keeps arguments that are no I-JSON object as raw text, so that the call is answered with an error.
func checkedArguments(c message.ToolCall) message.ToolCall {
	if c.RawArguments != "" {
		c.Arguments = []byte("{}")
		return c
	}
	return llm.NewCall(c.ID, c.Name, string(c.Arguments))
}

func withoutCalls(parts []message.Part) []message.Part {
	kept := make([]message.Part, 0, len(parts))
	for _, p := range parts {
		if _, isCall := p.(message.ToolCall); !isCall {
			kept = append(kept, p)
		}
	}
	return kept
}

func textOnly(parts []message.Part) []message.Part {
	kept := []message.Part{}
	for _, p := range parts {
		if t, ok := p.(message.Text); ok {
			kept = append(kept, message.Text{Text: t.Text})
		}
	}
	return kept
}

// uniqueIDs gives every call an id that is not empty, short, printable and its own within the message. An id that is all that stays;
// the others are renamed, the same way every time.
func uniqueIDs(parts []message.Part) []message.Part {
	used := make(map[string]bool)
	kept := make(map[int]bool)
	for i, p := range parts {
		if c, ok := p.(message.ToolCall); ok && c.ID != "" && c.ID == tidyID(c.ID) && !used[c.ID] {
			used[c.ID], kept[i] = true, true
		}
	}
	n := 0
	for i, p := range parts {
		c, ok := p.(message.ToolCall)
		if !ok {
			continue
		}
		n++
		if kept[i] {
			continue
		}
		base := tidyID(c.ID)
		if base == "" {
			base = fmt.Sprintf("call_%d", n)
		}
		c.ID = base
		for k := 2; used[c.ID]; k++ {
			c.ID = fmt.Sprintf("%s-%d", base, k)
		}
		used[c.ID] = true
		parts[i] = c
	}
	return parts
}

// tidyID returns id with control characters replaced and, when it is long, its end replaced by a hash of the whole.
func tidyID(id string) string {
	tidy := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, message.CleanText(id))
	// Room for the number that tells equal ids apart.
	const room, hashed = 8, 16
	if len(tidy) <= maxCallID-room {
		return tidy
	}
	sum := sha256.Sum256([]byte(id))
	return cut(tidy, maxCallID-room-hashed-1) + "-" + hex.EncodeToString(sum[:])[:hashed]
}
