package view

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// ContextStatus says how full the model's context is. All counts are tokens.
type ContextStatus struct {
	EstimatedTokens int // UsageTokens and TrailingTokens
	UsageTokens     int // the part a provider measured; 0 until one did since the newest checkpoint
	TrailingTokens  int // the part estimated after it
	ContextWindow   int // 0: unknown
	// LastTurnTokens is what the responses to the newest user message have used in all, failed ones included.
	LastTurnTokens int
	// Percent of the window, rounded; nil without a window.
	Percent *int
}

// ContextStatusOf measures c against a model's window, 0 when it is unknown. The measure is the newest usable response's own count;
// what a checkpoint retained was measured with more before it, and does not count.
func ContextStatusOf(c Context, window int) ContextStatus {
	s := ContextStatus{ContextWindow: max(window, 0), LastTurnTokens: lastTurn(c.Commits)}
	trailing := Messages(c.Commits)
	if i, tokens := measured(c.Commits); i >= 0 {
		s.UsageTokens = tokens
		trailing = Messages(c.Commits[i:])[1:] // the first is the measured response
	}
	for _, m := range trailing {
		s.TrailingTokens += EstimateTokens(m)
	}
	s.EstimatedTokens = s.UsageTokens + s.TrailingTokens
	if window > 0 {
		p := int(math.Round(100 * float64(s.EstimatedTokens) / float64(window)))
		s.Percent = &p
	}
	return s
}

// measured returns the index of the newest usable response that says how long its context was, -1 when none does. A checkpoint comes
// first in a context, so that every response is newer.
func measured(commits []Commit) (i, tokens int) {
	for i, c := range slices.Backward(commits) {
		b, _ := c.Commit.Body.(object.MessageBody)
		if m, ok := b.Message.(message.Assistant); ok && usable(m) {
			if n := contextTokens(m.Usage); n > 0 {
				return i, n
			}
		}
	}
	return -1, 0
}

// contextTokens returns what a response's whole context has, the response included.
func contextTokens(u message.Usage) int {
	if u.TotalTokens > 0 {
		return u.TotalTokens
	}
	return u.Input + u.Output + u.CacheRead + u.CacheWrite
}

func lastTurn(commits []Commit) int {
	tokens := 0
	for _, c := range slices.Backward(commits) {
		b, ok := c.Commit.Body.(object.MessageBody)
		if !ok {
			continue
		}
		switch m := b.Message.(type) {
		case message.User:
			return tokens
		case message.Assistant:
			tokens += contextTokens(m.Usage)
		case message.ToolResult:
		}
	}
	return tokens
}

// Four characters are taken for a token, and an image for as many characters.
const (
	charsPerToken = 4
	imageChars    = 4800
)

// EstimateTokens guesses how many tokens m has: a quarter of the characters that a model is sent, rounded up.
func EstimateTokens(m message.Message) int {
	chars := 0
	switch m := m.(type) {
	case message.User:
		chars = contentChars(m.Content)
	case message.Assistant:
		for _, p := range m.Content {
			switch p := p.(type) {
			case message.Text:
				chars += utf8.RuneCountInString(p.Text)
			case message.Thinking:
				chars += utf8.RuneCountInString(p.Thinking)
			case message.ToolCall:
				chars += utf8.RuneCountInString(p.Name) + utf8.RuneCount(p.Arguments)
			}
		}
	case message.ToolResult:
		chars = contentChars(m.Content)
	}
	return (chars + charsPerToken - 1) / charsPerToken
}

func contentChars(parts []message.Content) int {
	chars := 0
	for _, p := range parts {
		switch p := p.(type) {
		case message.Text:
			chars += utf8.RuneCountInString(p.Text)
		case message.Image:
			chars += imageChars
		}
	}
	return chars
}
