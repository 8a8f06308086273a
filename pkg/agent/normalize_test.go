package agent

import (
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

var head = message.Assistant{API: "api", Provider: "p", Model: "m"}

// Whatever a provider returns can be recorded, and what went wrong has no calls.
func TestAnyResponseCanBeRecorded(t *testing.T) {
	call := message.ToolCall{ID: "a", Name: "t", Arguments: jsontext.Value(`{}`)}
	text := message.Text{Text: "x"}
	for name, c := range map[string]struct {
		m    message.Assistant
		want message.StopReason
	}{
		"zero":                  {message.Assistant{}, message.StopError},
		"unknown stop":          {message.Assistant{StopReason: "tired", Content: []message.Part{text, call}}, message.StopError},
		"pending":               {message.Assistant{StopReason: message.StopPending, Content: []message.Part{text, call}}, message.StopError},
		"deferred":              {message.Assistant{StopReason: message.StopDeferred}, message.StopError},
		"error with a call":     {message.Assistant{StopReason: message.StopError, Content: []message.Part{text, call}}, message.StopError},
		"error without words":   {message.Assistant{StopReason: message.StopError}, message.StopError},
		"aborted with a call":   {message.Assistant{StopReason: message.StopAborted, Content: []message.Part{call}}, message.StopAborted},
		"missing part":          {message.Assistant{StopReason: message.StopEnd, Content: []message.Part{nil, text}}, message.StopEnd},
		"call without a name":   {message.Assistant{StopReason: message.StopEnd, Content: []message.Part{message.ToolCall{ID: "a"}}}, message.StopError},
		"arguments are a list":  {message.Assistant{StopReason: message.StopToolUse, Content: []message.Part{message.ToolCall{Name: "t", Arguments: jsontext.Value(`[]`)}}}, message.StopToolUse},
		"arguments are missing": {message.Assistant{StopReason: message.StopToolUse, Content: []message.Part{message.ToolCall{Name: "t"}}}, message.StopToolUse},
		"bad bytes": {message.Assistant{StopReason: message.StopEnd, ResponseID: "\xff", Content: []message.Part{
			message.Text{Text: "\xff"}, message.Thinking{Thinking: "\xed\xa0\x80"}, message.ToolCall{ID: "\xff", Name: "t\xff", RawArguments: "\xff"},
		}}, message.StopEnd},
		"bad details": {message.Assistant{StopReason: message.StopEnd, Content: []message.Part{text}, Diagnostics: []message.Diagnostic{
			{Code: "c", Details: jsontext.Value(`{`)},
		}}, message.StopError},
		"bad cost": {message.Assistant{StopReason: message.StopEnd, Content: []message.Part{text}, Usage: message.Usage{
			Cost: message.Cost{Total: math.NaN()},
		}}, message.StopError},
	} {
		t.Run(name, func(t *testing.T) {
			got := normalize(c.m, head)
			if _, err := object.Encode(object.Commit{Body: object.MessageBody{Message: got}}); err != nil {
				t.Fatal(err)
			}
			if got.StopReason != c.want || (got.StopReason == message.StopError) != (got.ErrorMessage != "") {
				t.Errorf("stop %s, error %q, want %s", got.StopReason, got.ErrorMessage, c.want)
			}
			if c.want == message.StopError || c.want == message.StopAborted {
				if n := len(got.Calls()); n > 0 {
					t.Errorf("%d calls are left", n)
				}
			}
			if got.API != "api" || got.Provider != "p" || got.Model != "m" {
				t.Errorf("maker %s %s %s", got.API, got.Provider, got.Model)
			}
			if strings.TrimSpace(got.ErrorMessage) != "" && c.m.StopReason != message.StopError {
				if f, ok := llm.FailureOf(got); !ok || f.Kind == "" {
					t.Error("the failure has no kind")
				}
			}
		})
	}
}

func TestRenamedIDsNeverTakeAnothersName(t *testing.T) {
	var parts []message.Part
	for _, id := range []string{"x", "x", "x-2", "x", "", "call_5", ""} {
		parts = append(parts, message.ToolCall{ID: id})
	}
	var got []string
	for _, p := range uniqueIDs(parts) {
		got = append(got, p.(message.ToolCall).ID)
	}
	if diff := cmp.Diff([]string{"x", "x-3", "x-2", "x-4", "call_5-2", "call_5", "call_7"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOldestImagesAreLeftOut(t *testing.T) {
	image := func(n int) message.Image {
		return message.Image{Data: strings.Repeat("A", n), MIMEType: "image/png"}
	}
	note := message.Text{Text: "[an image (image/png) was left out to keep the request small]"}
	in := []message.Message{
		message.User{Content: []message.Content{image(1), message.Text{Text: "old"}}},
		message.ToolResult{Content: []message.Content{image(8), image(4)}},
		message.User{Content: []message.Content{image(5)}},
	}
	kept := in[1].(message.ToolResult).Content
	want := []message.Message{
		message.User{Content: []message.Content{note, message.Text{Text: "old"}}},
		message.ToolResult{Content: []message.Content{note, image(4)}},
		message.User{Content: []message.Content{image(5)}},
	}
	if diff := cmp.Diff(want, limitImages(in, 10)); diff != "" {
		t.Error(diff)
	}
	if _, ok := kept[0].(message.Image); !ok {
		t.Error("the branch's own message was changed")
	}
}

func TestCutKeepsWholeCharacters(t *testing.T) {
	for limit, want := range map[int]string{0: "", 1: "a", 2: "a", 4: "a", 5: "a🙂", 6: "a🙂b", 9: "a🙂b"} {
		if got := cut("a🙂b", limit); got != want {
			t.Errorf("cut to %d is %q, want %q", limit, got, want)
		}
	}
}
