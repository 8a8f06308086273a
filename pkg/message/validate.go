package message

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// NewUser returns a user message of one text.
func NewUser(text string, at Millis) User {
	return User{Content: []Content{Text{Text: text}}, Timestamp: at}
}

// Validate reports the first rule that m breaks. Paths are relative to the message.
func Validate(m Message) error {
	switch m := m.(type) {
	case User:
		return m.validate()
	case Assistant:
		return m.validate()
	case ToolResult:
		return m.validate()
	}
	return errors.New("message is missing")
}

func (u User) validate() error {
	if len(u.Content) == 0 {
		return errors.New("content is empty")
	}
	return validateContents(u.Content)
}

func (t ToolResult) validate() error {
	if t.ToolName == "" {
		return errors.New("toolName is empty")
	}
	return validateContents(t.Content)
}

func (a Assistant) validate() error {
	if !a.StopReason.Valid() {
		return fmt.Errorf("stopReason %q is not known", a.StopReason)
	}
	for i, p := range a.Content {
		switch p := p.(type) {
		case Text, Thinking:
		case ToolCall:
			if p.Name == "" {
				return fmt.Errorf("content[%d].name is empty", i)
			}
			if p.Arguments.Kind() != '{' {
				return fmt.Errorf("content[%d].arguments is not an object", i)
			}
		case nil:
			return fmt.Errorf("content[%d] is missing", i)
		}
	}
	return nil
}

func validateContents(parts []Content) error {
	for i, c := range parts {
		switch c := c.(type) {
		case Text:
		case Image:
			if c.MIMEType == "" {
				return fmt.Errorf("content[%d].mimeType is empty", i)
			}
		case nil:
			return fmt.Errorf("content[%d] is missing", i)
		}
	}
	return nil
}

// Blank reports whether parts say nothing: no image and only white space.
func Blank(parts []Content) bool {
	for _, c := range parts {
		switch c := c.(type) {
		case Text:
			if !blank(c.Text) {
				return false
			}
		case Image:
			return false
		}
	}
	return true
}

// PlainText returns the texts of parts, joined by newlines.
func PlainText(parts []Content) string {
	var texts []string
	for _, c := range parts {
		if t, ok := c.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// CleanText returns s with every invalid UTF-8 sequence, an encoded surrogate included, replaced by U+FFFD. It is applied
// where participants' and providers' text enters, so that a bad byte costs a character and never the message.
func CleanText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
