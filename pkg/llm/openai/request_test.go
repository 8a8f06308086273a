package openai_test

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/openai"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// sent returns the body that req is sent as.
func sent(t *testing.T, req llm.Request) []byte {
	t.Helper()
	var body []byte
	msg := client(t, func(r *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = data
		return streaming(strings.NewReader("data: [DONE]\n\n"))(r)
	}).Stream(t.Context(), req, nil)
	if body == nil {
		t.Fatalf("nothing was sent: %+v", msg)
	}
	return body
}

func assistant(parts ...message.Part) message.Assistant {
	return message.Assistant{
		Content: parts, API: openai.API, Provider: openai.ProviderName, Model: "m", StopReason: message.StopEnd,
	}
}

func text(s string) message.Text { return message.Text{Text: s} }

func call(id, name, arguments string) message.ToolCall { return llm.NewCall(id, name, arguments) }

func result(id string, parts ...message.Content) message.ToolResult {
	return message.ToolResult{ToolCallID: id, ToolName: "T", Content: parts}
}

func user(s string) message.User { return message.NewUser(s, 0) }

var png = message.Image{Data: "AAAA", MIMEType: "image/png"}

func histories() map[string][]message.Message {
	return map[string][]message.Message{
		"text": {user("hello"), assistant(text("hi")), message.User{Content: []message.Content{text("look"), png, text(" ")}}},
		"tools": {
			user("go"), assistant(text("I go."), call("a", "T", `{"n":1}`), call("b", "T", "")),
			result("b", text("two")), result("a", text("one"), text("more")),
		},
		"images": {
			user("go"), assistant(call("a", "T", ""), call("b", "T", ""), call("c", "T", "")),
			result("a", text("see"), png), result("b", png, png), result("c", text("none")), user("and?"),
		},
		"ids": {
			user("go"),
			assistant(
				call("x", "T", `{"n":1}`), call("x", "T", `{"n":2}`), call("a/b", "T", ""), call("a_b", "T", ""), call("a\nb", "T", ""),
				call("", "T", ""), call(strings.Repeat("l", 300), "T", ""), call("😀", "T", ""), call("a\x00b", "T", ""), call("", "T", "")),
			result("x", text("first x")), result("x", text("second x")), result("a/b", text("slash")), result("a_b", text("underscore")),
			result("a\nb", text("newline")), result("", text("empty")), result(strings.Repeat("l", 300), text("long")),
			result("😀", text("emoji")), result("a\x00b", text("NUL")), result("", text("empty again")),
			assistant(call("x", "T", "")), result("x", text("third x")),
		},
		"empty": {
			user("go"), user(" "), assistant(), assistant(message.Thinking{Thinking: "hm"}), assistant(text("  ")),
			assistant(text("a"), text(""), text("b"), call("a", "T", "")), result("a", text("")),
			assistant(call("b", "T", "")), result("b"), assistant(text("done")),
		},
		"broken": {
			result("ghost", text("no call")), user("go"),
			assistant(call("a", "T", ""), call("b", "T", "")), result("b", text("b")), result("b", text("b again")), user("stop"),
			assistant(call("c", "bad tool!", `{"x":`)), result("other", text("x")), user("on"), result("c", text("late")),
			assistant(message.ToolCall{ID: "d"}),
		},
		"bad-utf8": {user("a\xff"), assistant(text("b\xff"), call("i\xff", "T", "")), result("i\uFFFD", text("c\xff"))},
	}
}

// Golden requests: one history each, as the exact bytes that are sent.
func TestRequests(t *testing.T) {
	t.Parallel()
	for name, history := range histories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := hello()
			req.Messages = history
			golden(t, filepath.Join("testdata/requests", name+".json"), indented(t, sent(t, req)))
		})
	}
	full := hello()
	full.System = "Be brief."
	full.Tools = []llm.ToolSpec{
		{Name: "clock", Description: "Tells the time.", Parameters: jsontext.Value(`{"type":"object","properties":{"zone":{"type":"string"}}}`)},
		{Name: "bare"},
	}
	full.ThinkingLevel, full.MaxOutput, full.SessionID, full.Attempt = "high", 500, "s", 2
	golden(t, "testdata/requests/full.json", indented(t, sent(t, full)))
}

type wireMessage struct {
	Role             string         `json:"role"`
	Content          jsontext.Value `json:"content"`
	Reasoning        string         `json:"reasoning"`
	ReasoningContent string         `json:"reasoning_content"`
	ToolCallID       string         `json:"tool_call_id"`
	ToolCalls        []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func wireMessages(t *testing.T, body []byte) []wireMessage {
	t.Helper()
	var request struct {
		Messages []wireMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	return request.Messages
}

// checkRuleG reports a call without exactly one result right after it, a result without its call, an id or name that a
// server refuses, and an empty block.
func checkRuleG(t *testing.T, messages []wireMessage) {
	t.Helper()
	safe := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	var open []string
	for i, m := range messages {
		if m.Role == "tool" {
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Fatalf("message %d answers %q, open calls are %q", i, m.ToolCallID, open)
			}
			open = open[1:]
		} else if len(open) > 0 {
			t.Fatalf("message %d (%s) comes before the results of %q", i, m.Role, open)
		}
		blank := regexp.MustCompile(`^"(\\[nrt]|\s)*"$|^\[\]$|"text":""`)
		if m.Content == nil && len(m.ToolCalls) == 0 || blank.Match(m.Content) {
			t.Errorf("message %d (%s) has an empty block: %s", i, m.Role, m.Content)
		}
		for _, c := range m.ToolCalls {
			if seen[c.ID] || !safe.MatchString(c.ID) {
				t.Errorf("message %d: call id %q is not unique and safe", i, c.ID)
			}
			if !safe.MatchString(c.Function.Name) || !jsontext.Value(c.Function.Arguments).IsValid() {
				t.Errorf("message %d: call %+v", i, c)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %q have no result", open)
	}
}

// Field reports B17, B18, B19, B20 and B66: whatever the history, the request is one that servers accept.
func TestB17_B18_B19_B20_B66_RequestIsValid(t *testing.T) {
	t.Parallel()
	for name, history := range histories() {
		req := hello()
		for n := range history {
			// Every beginning of a history is a history too, for example one that a crash left behind.
			req.Messages = append([]message.Message{user("start")}, history[:n+1]...)
			checkRuleG(t, wireMessages(t, sent(t, req)))
			if t.Failed() {
				t.Fatalf("history %s, first %d messages", name, n+1)
			}
		}
	}
}

// Results keep their calls although ids are renamed, and a longer history does not rename what was sent before.
func TestB20_IDsAreStable(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Messages = histories()["ids"]
	all := wireMessages(t, sent(t, req))
	contents := map[string]string{}
	for _, m := range all {
		if m.Role == "tool" {
			contents[m.ToolCallID] = string(m.Content)
		}
	}
	want := []string{"first x", "second x", "slash", "underscore", "newline", "empty", "long", "emoji", "NUL", "empty again"}
	for i, c := range all[1].ToolCalls {
		if got := contents[c.ID]; got != `"`+want[i]+`"` {
			t.Errorf("call %d (%s) got the result %s, want %s", i, c.ID, got, want[i])
		}
	}
	req.Messages = req.Messages[:12]
	if diff := cmp.Diff(all[:12], wireMessages(t, sent(t, req))); diff != "" {
		t.Errorf("the shorter history is sent differently (-long +short):\n%s", diff)
	}
}

// Field report B77: reasoning goes back only to the model that wrote it, and only within the turn.
func TestB77_ForeignReasoningIsDropped(t *testing.T) {
	t.Parallel()
	thinking := message.Thinking{Thinking: "secret plan", Signature: "reasoning_content"}
	own := assistant(thinking, call("a", "T", ""))
	foreignModel, foreignProvider, foreignAPI := own, own, own
	foreignModel.Model, foreignProvider.Provider, foreignAPI.API = "other", "other", "other"
	unsigned := assistant(message.Thinking{Thinking: "secret plan", Signature: "opaque"}, call("a", "T", ""))
	tests := []struct {
		name    string
		history []message.Message
		want    bool
	}{
		{"own, same turn", []message.Message{user("go"), own, result("a", text("x"))}, true},
		{"own, earlier turn", []message.Message{user("go"), own, result("a", text("x")), user("on")}, false},
		{"other model", []message.Message{user("go"), foreignModel, result("a", text("x"))}, false},
		{"other provider", []message.Message{user("go"), foreignProvider, result("a", text("x"))}, false},
		{"other protocol", []message.Message{user("go"), foreignAPI, result("a", text("x"))}, false},
		{"foreign signature", []message.Message{user("go"), unsigned, result("a", text("x"))}, false},
	}
	for _, test := range tests {
		req := hello()
		req.Messages = test.history
		body := string(sent(t, req))
		if got := strings.Contains(body, `"reasoning_content":"secret plan"`); got != test.want {
			t.Errorf("%s: sent %v, want %v: %s", test.name, got, test.want, body)
		}
		if !test.want && strings.Contains(body, "secret plan") {
			t.Errorf("%s: the reasoning leaks: %s", test.name, body)
		}
	}
}

func TestRequestRefused(t *testing.T) {
	t.Parallel()
	noModel, noMessage, badTool := hello(), hello(), hello()
	noModel.Model.ID = ""
	noMessage.Messages = []message.Message{user("  "), result("ghost", text("x"))}
	badTool.Tools = []llm.ToolSpec{{Name: "a b"}}
	badSchema := hello()
	badSchema.Tools = []llm.ToolSpec{{Name: "a", Parameters: jsontext.Value(`{`)}}
	for want, req := range map[string]llm.Request{
		"names no model":           noModel,
		"has no message to answer": noMessage,
		`tool name "a b"`:          badTool,
		"encoding the request":     badSchema,
	} {
		msg := client(t, func(*http.Request) (*http.Response, error) {
			t.Errorf("%s: the request was sent", want)
			return nil, io.EOF
		}).Stream(t.Context(), req, nil)
		if f, _ := llm.FailureOf(msg); f.Kind != llm.FailureInvalidRequest || !strings.Contains(msg.ErrorMessage, want) {
			t.Errorf("%s: %+v", want, msg)
		}
	}
}
