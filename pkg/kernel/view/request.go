package view

import (
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// CheckRequest reports where messages break Rule G: every call of an assistant message is followed by exactly one result, in call
// order, before the next other message; no result lacks its call; no message is empty. [Messages] never breaks it.
func CheckRequest(messages []message.Message) error {
	var open []message.ToolCall
	for i, m := range messages {
		if result, ok := m.(message.ToolResult); ok {
			switch {
			case len(open) == 0:
				return fmt.Errorf("messages[%d]: result of %q without an open call", i, result.ToolCallID)
			case open[0].ID != result.ToolCallID:
				return fmt.Errorf("messages[%d]: result of %q where the call %q is next", i, result.ToolCallID, open[0].ID)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: the call %q has no result yet", i, open[0].ID)
		}
		switch m := m.(type) {
		case message.User:
			if message.Blank(m.Content) {
				return fmt.Errorf("messages[%d]: the user message is empty", i)
			}
		case message.Assistant:
			if len(m.Content) == 0 {
				return fmt.Errorf("messages[%d]: the assistant message is empty", i)
			}
			open = m.Calls()
		case message.ToolResult:
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the call %q has no result", open[0].ID)
	}
	return nil
}
