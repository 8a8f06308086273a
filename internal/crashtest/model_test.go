package crashtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A model answers by what the request says alone, so that any process can go on:
//
//   - "use a b" calls the tools a and b, after a stream that is longer than one append;
//   - tool results are answered with "done: " and their texts;
//   - any other text X is answered with "re: X".
//
// Every fragment carries a mark that no other response of any process has, and so do call ids. What was said twice under one key shows.
type model struct{}

var _ llm.Provider = model{}

// pairs is how many thinking and text parts a call is preceded by. They cannot be merged, and 64 events fill an append.
const pairs = 33

var marks = regexp.MustCompile(`«[^»]*»`)

// unmarked returns s as every response says it.
func unmarked(s string) string { return marks.ReplaceAllString(s, "") }

func (model) Name() string { return "crash" }

func (model) Models() []llm.ModelInfo {
	return []llm.ModelInfo{{Model: llm.Model{Provider: "crash", ID: "test"}, API: "none", Name: "crash test"}}
}

func (model) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	nonce := rand.Text()[:10]
	mark := "«" + nonce + "»"
	b := llm.NewBuilder(ctx, emit)
	b.Message = message.Assistant{API: "none", Provider: "crash", Model: "test", Timestamp: message.MillisOf(time.Now())}
	asked, text, results := conversation(req.Messages)
	tools, use := strings.CutPrefix(text, "use ")
	switch {
	case len(results) > 0:
		_ = b.Text("done: " + strings.Join(results, "; ") + mark)
	case use:
		for range pairs {
			_ = b.Thinking("hm"+mark, "")
			_ = b.Text("." + mark)
		}
		for i, name := range strings.Fields(tools) {
			_ = b.Call(i, fmt.Sprintf("%s_%d_%s", name, asked, nonce), name, arguments(name, asked))
		}
	default:
		_ = b.Text("re: " + text + mark)
	}
	return b.Finish(message.StopEnd, "stop")
}

func arguments(name string, asked int) string {
	if name == "ask" {
		return `{"title":"Shall I?","choices":[{"id":"yes","label":"Yes"},{"id":"no","label":"No"}]}`
	}
	return fmt.Sprintf(`{"n":%d}`, asked)
}

// conversation returns how many user messages there are, the text of the last, and the tool results that follow everything.
func conversation(messages []message.Message) (asked int, text string, results []string) {
	for _, m := range messages {
		switch m := m.(type) {
		case message.User:
			asked++
			text, results = message.PlainText(m.Content), nil
		case message.Assistant:
			results = nil
		case message.ToolResult:
			results = append(results, message.PlainText(m.Content))
		}
	}
	return asked, text, results
}
