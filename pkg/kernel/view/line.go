package view

import (
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// lineLength is the longest preview, in code points.
const lineLength = 120

// oneLine returns s on one line, cut short.
func oneLine(s string) string {
	// A long text costs no more than its beginning. No code point has more than four bytes; the rest is for space that goes away.
	const enough = 16 * lineLength
	if s = strings.TrimSpace(s); len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "")
	}
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > lineLength {
		runes = append(runes[:lineLength-1], '…')
	}
	return string(runes)
}

// messageLine returns the text of m on one line, cut short; "" when it has none.
func messageLine(m message.Message) string {
	switch m := m.(type) {
	case message.User:
		return oneLine(message.PlainText(m.Content))
	case message.Assistant:
		var texts []string
		for _, p := range m.Content {
			if t, ok := p.(message.Text); ok {
				texts = append(texts, t.Text)
			}
		}
		return oneLine(strings.Join(texts, "\n"))
	case message.ToolResult:
		return oneLine(message.PlainText(m.Content))
	}
	return ""
}
