package message_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestCodec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		message message.Message
		json    string
	}{
		"user": {
			message.User{Content: []message.Content{message.Text{Text: "a"}, message.Image{Data: "QQ==", MIMEType: "image/png"}}, Timestamp: 1},
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"QQ==","mimeType":"image/png"}],"timestamp":1}`,
		},
		"assistant": {
			message.Assistant{
				Content: []message.Part{
					message.Thinking{Thinking: "t", Signature: "s"},
					message.Text{Text: "a"},
					message.ToolCall{ID: "1", Name: "n", Arguments: []byte(`{"b":1,"a":2.50}`)},
				},
				API: "x", Provider: "p", Model: "m", StopReason: message.StopToolUse, Timestamp: 1,
			},
			`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"a"},` +
				`{"type":"toolCall","id":"1","name":"n","arguments":{"b":1,"a":2.50}}],"api":"x","provider":"p","model":"m",` +
				`"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},` +
				`"stopReason":"toolUse","timestamp":1}`,
		},
		"tool result": {
			message.ToolResult{ToolCallID: "1", ToolName: "n", Content: []message.Content{}, IsError: true, Timestamp: 1},
			`{"role":"toolResult","toolCallId":"1","toolName":"n","content":[],"isError":true,"timestamp":1}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := message.Marshal(test.message)
			if err != nil || string(data) != test.json {
				t.Errorf("Marshal = %s, %v\nwant      %s", data, err, test.json)
			}
			var got message.Message
			if err := message.Unmarshal([]byte(test.json), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.message, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown role":          `{"role":"system","content":[]}`,
		"role of another case":  `{"Role":"user","content":[]}`,
		"unknown part":          `{"role":"assistant","content":[{"type":"video"}]}`,
		"thinking from a user":  `{"role":"user","content":[{"type":"thinking","thinking":"x"}]}`,
		"a call in a result":    `{"role":"toolResult","content":[{"type":"toolCall","id":"1","name":"n","arguments":{}}]}`,
		"an image of a model":   `{"role":"assistant","content":[{"type":"image","data":"","mimeType":"image/png"}]}`,
		"a text as content":     `{"role":"user","content":"hi"}`,
		"a missing part":        `{"role":"user","content":[null]}`,
		"duplicate name":        `{"role":"user","content":[],"content":[]}`,
		"duplicate in raw JSON": `{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"n","arguments":{"a":1,"a":2}}]}`,
		"invalid UTF-8":         "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}",
		"lone surrogate":        `{"role":"user","content":[{"type":"text","text":"\ud83d"}]}`,
		"fraction as a time":    `{"role":"user","content":[],"timestamp":1.5}`,
	} {
		var got message.Message
		if err := message.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	text, image := message.Text{Text: ""}, message.Image{MIMEType: "image/png"}
	call := func(name, args string) message.Message {
		return message.Assistant{StopReason: message.StopToolUse, Content: []message.Part{text, message.ToolCall{Name: name, Arguments: []byte(args)}}}
	}
	for name, test := range map[string]struct {
		message message.Message
		want    string // "" is valid
	}{
		"nothing":                 {nil, "missing"},
		"user":                    {message.User{Content: []message.Content{text, image}}, ""},
		"user without content":    {message.User{}, "content is empty"},
		"user with a hole":        {message.User{Content: []message.Content{text, nil}}, "content[1] is missing"},
		"image without a type":    {message.User{Content: []message.Content{text, message.Image{}}}, "content[1].mimeType"},
		"result":                  {message.ToolResult{ToolName: "t"}, ""},
		"result without a tool":   {message.ToolResult{}, "toolName"},
		"result with a hole":      {message.ToolResult{ToolName: "t", Content: []message.Content{nil}}, "content[0] is missing"},
		"assistant":               {message.Assistant{StopReason: message.StopEnd}, ""},
		"without a reason":        {message.Assistant{}, "stopReason"},
		"with an unknown reason":  {message.Assistant{StopReason: "end_turn"}, `stopReason "end_turn"`},
		"assistant with a hole":   {message.Assistant{StopReason: message.StopEnd, Content: []message.Part{nil}}, "content[0] is missing"},
		"call":                    {call("t", `{"a":1}`), ""},
		"call without a name":     {call("", `{}`), "content[1].name"},
		"call without arguments":  {call("t", ``), "content[1].arguments"},
		"arguments not an object": {call("t", `[1]`), "content[1].arguments"},
		"arguments are null":      {call("t", `null`), "content[1].arguments"},
	} {
		err := message.Validate(test.message)
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v does not contain %q", name, err, test.want)
		}
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for _, s := range []message.StopReason{"pending", "stop", "length", "toolUse", "error", "aborted", "deferred"} {
		if !s.Valid() {
			t.Errorf("%q is not valid", s)
		}
	}
	for _, s := range []message.StopReason{"", "Stop", "tool_use"} {
		if s.Valid() {
			t.Errorf("%q is valid", s)
		}
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	a, b := message.ToolCall{ID: "1", Name: "a"}, message.ToolCall{ID: "2", Name: "b"}
	got := message.Assistant{Content: []message.Part{message.Text{}, a, message.Thinking{}, b}}.Calls()
	if diff := cmp.Diff([]message.ToolCall{a, b}, got); diff != "" {
		t.Error(diff)
	}
}

// Every counter is summed: a new one that Add forgets would lose somebody's money.
func TestUsageAdd(t *testing.T) {
	t.Parallel()
	var one message.Usage
	fill(reflect.ValueOf(&one).Elem(), 1)
	var three message.Usage
	fill(reflect.ValueOf(&three).Elem(), 3)
	if diff := cmp.Diff(three, one.Add(one).Add(one)); diff != "" {
		t.Error(diff)
	}
}

func fill(v reflect.Value, n int64) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			fill(f, n)
		case reflect.Int:
			f.SetInt(n * int64(i+1))
		default:
			f.SetFloat(float64(n * int64(i+1)))
		}
	}
}

func TestMillis(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("", 3600))
	m := message.MillisOf(at)
	if m != 1767319445678 {
		t.Errorf("MillisOf = %d", m)
	}
	if got := m.Time(); !got.Equal(at.Truncate(time.Millisecond)) || got.Location() != time.UTC {
		t.Errorf("Time = %v", got)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	image := message.Image{MIMEType: "image/png"}
	for _, test := range []struct {
		parts []message.Content
		plain string
		blank bool
	}{
		{nil, "", true},
		{[]message.Content{message.Text{Text: " \n\u00a0"}}, " \n\u00a0", true},
		{[]message.Content{message.Text{Text: " "}, image}, " ", false},
		{[]message.Content{message.Text{Text: "a"}, image, message.Text{Text: "b"}}, "a\nb", false},
	} {
		if got := message.PlainText(test.parts); got != test.plain {
			t.Errorf("PlainText(%v) = %q, want %q", test.parts, got, test.plain)
		}
		if got := message.Blank(test.parts); got != test.blank {
			t.Errorf("Blank(%v) = %v", test.parts, got)
		}
	}
	if got := message.NewUser("hi", 3); message.Validate(got) != nil || message.PlainText(got.Content) != "hi" || got.Timestamp != 3 {
		t.Errorf("NewUser = %+v", got)
	}
}

// Field report B63: half a character costs a character and never the message.
func TestB63_CleanText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                      "plain",
		"\U0001F600":                 "\U0001F600",
		"a\x00b":                     "a\x00b",
		"\xed\xa0\xbd":               "\ufffd",   // a high surrogate alone
		"a\xed\xb0\x80\xed\xa0\x80b": "a\ufffdb", // reversed
		"cut \xf0\x9f\x98":           "cut \ufffd",
		"\xff and \xfe":              "\ufffd and \ufffd",
	} {
		got := message.CleanText(in)
		if got != want {
			t.Errorf("CleanText(%q) = %q, want %q", in, got, want)
		}
		if _, err := message.Marshal(message.NewUser(got, 1)); err != nil {
			t.Errorf("%q: %v", got, err)
		}
		if got != in {
			if _, err := message.Marshal(message.NewUser(in, 1)); err == nil {
				t.Errorf("%q is written as it is", in)
			}
		}
	}
}
