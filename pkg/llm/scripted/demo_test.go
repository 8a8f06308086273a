package scripted_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func request(attempt int, messages ...message.Message) llm.Request {
	req := llm.Request{
		Model:    llm.Model{Provider: scripted.ProviderName, ID: scripted.ModelID},
		Messages: messages, SessionID: "s", Attempt: attempt,
	}
	for _, name := range []string{"ask", "wait", "fetch", "clock", "note"} {
		req.Tools = append(req.Tools, llm.ToolSpec{Name: name})
	}
	return req
}

func user(text string) message.User { return message.NewUser(text, 0) }

var earlier = message.Assistant{Content: []message.Part{message.Text{Text: "hello"}}, StopReason: message.StopEnd}

func text(a message.Assistant) string {
	var b strings.Builder
	for _, p := range a.Content {
		if t, ok := p.(message.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func answer(t *testing.T, req llm.Request) message.Assistant {
	t.Helper()
	demo := scripted.New(scripted.Options{Now: func() time.Time { return time.UnixMilli(1000) }})
	first := demo.Stream(t.Context(), req, func(llm.Delta) error { return nil })
	if again := demo.Stream(t.Context(), req, nil); cmp.Diff(first, again) != "" {
		t.Errorf("two answers to one request differ:\n%s", cmp.Diff(first, again))
	}
	if err := message.Validate(first); err != nil {
		t.Error(err)
	}
	if first.Provider != "scripted" || first.Model != "demo" || first.API != "scripted" || first.Timestamp != 1000 {
		t.Errorf("head %+v", first)
	}
	return first
}

func TestDemoSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]llm.Request{
		"first answer":     request(1, user("hi")),
		"first with tools": request(1, user("tools")),
		"help later":       request(1, user("hi"), earlier, user("HELP!")),
	} {
		if got := text(answer(t, req)); !strings.Contains(got, "scripted demonstration model, not an AI") {
			t.Errorf("%s: %s", name, got)
		}
	}
	later := answer(t, request(1, user("hi"), earlier, user("Good  day")))
	want := []message.Part{
		message.Thinking{Thinking: "No command here, so the script repeats what it read."},
		message.Text{Text: "You said: Good day"},
	}
	if diff := cmp.Diff(want, later.Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if u := later.Usage; u.Input == 0 || u.Output == 0 || u.TotalTokens != u.Input+u.Output {
		t.Errorf("usage %+v", u)
	}
	help := text(answer(t, request(1, user("help"))))
	for _, command := range []string{"tools", "ask", "sleep", "fetch", "fail", "broken", "long", "slow-tool"} {
		if !strings.Contains(help, "- "+command) {
			t.Errorf("help does not list %s", command)
		}
	}
}

func TestDemoRepeatsMessagesReadTogether(t *testing.T) {
	t.Parallel()
	got := text(answer(t, request(1, user("old"), earlier, user("a"), user("b"), user("c"))))
	if got != "You sent 3 messages:\n1. a\n2. b\n3. c" {
		t.Errorf("got %q", got)
	}
}

func TestDemoCalls(t *testing.T) {
	t.Parallel()
	type want struct{ name, arguments string }
	tests := []struct {
		say   string
		tools []string // nil for the built-in ones
		want  []want
	}{
		{"tools", nil, []want{{"clock", `{}`}, {"note", `{"text":"a note of the demonstration"}`}, {"clock", `{}`}}},
		{"Tools, please", []string{"echo"}, []want{{"echo", `{"text":"hello"}`}, {"echo", `{"text":"hello"}`}, {"echo", `{"text":"hello"}`}}},
		{"sleep 7", nil, []want{{"wait", `{"seconds":7}`}}},
		{"sleep", nil, []want{{"wait", `{"seconds":5}`}}},
		{`fetch https://a.example/"x"`, nil, []want{{"fetch", `{"url":"https://a.example/\"x\""}`}}},
		{"slow-tool", []string{"slow"}, []want{{"slow", `{"seconds":10}`}}},
		{"slow-tool 3", []string{"slow"}, []want{{"slow", `{"seconds":3}`}}},
		{"sleep soon", nil, nil},
		{"sleep -1", nil, nil},
		{"ask 0", nil, nil},
		{"long x", nil, nil},
		{"fetch", nil, nil},
		{"slow-tool", nil, nil},
		{"tools", []string{"other"}, nil},
		{"ask", []string{"other"}, nil},
	}
	for _, test := range tests {
		req := request(1, user("hi"), earlier, user(test.say))
		if test.tools != nil {
			req.Tools = nil
			for _, name := range test.tools {
				req.Tools = append(req.Tools, llm.ToolSpec{Name: name})
			}
		}
		msg := answer(t, req)
		var got []want
		ids := map[string]bool{}
		for _, c := range msg.Calls() {
			got = append(got, want{c.Name, string(c.Arguments)})
			ids[c.ID] = true
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", test.say, diff)
		}
		if len(ids) != len(got) {
			t.Errorf("%s: call ids are not unique: %v", test.say, ids)
		}
		if text(msg) == "" {
			t.Errorf("%s: no text", test.say)
		}
		if wantStop := map[bool]message.StopReason{true: message.StopToolUse, false: message.StopEnd}[len(got) > 0]; msg.StopReason != wantStop {
			t.Errorf("%s: stop reason %s", test.say, msg.StopReason)
		}
	}
}

func TestDemoAsk(t *testing.T) {
	t.Parallel()
	calls := answer(t, request(1, user("ask 30"))).Calls()
	if len(calls) != 1 || calls[0].Name != "ask" {
		t.Fatalf("calls %v", calls)
	}
	var got struct {
		message.Selection
		TimeoutSeconds int `json:"timeoutSeconds"`
	}
	if err := message.Unmarshal(calls[0].Arguments, &got); err != nil {
		t.Fatal(err)
	}
	if err := got.Validate(); err != nil || got.TimeoutSeconds != 30 || got.Other == "" || len(got.Choices) != 3 {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestDemoSumsUpResults(t *testing.T) {
	t.Parallel()
	result := func(name, text string, failed bool) message.ToolResult {
		return message.ToolResult{ToolName: name, Content: []message.Content{message.Text{Text: text}}, IsError: failed}
	}
	got := answer(t, request(2, user("tools"), earlier, result("clock", "12:00", false), result("note", "no\nspace", true), result("x", "", false)))
	want := "Here is what came back:\n- clock says: 12:00\n- note failed: no space\n- x says: (no output)\n"
	if diff := cmp.Diff(want, text(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	steered := answer(t, request(3, user("tools"), earlier, result("clock", "12:00", false), user("thanks")))
	if text(steered) != "You said: thanks" {
		t.Errorf("steered: %q", text(steered))
	}
}

func TestDemoFailsOnceAndRecovers(t *testing.T) {
	t.Parallel()
	first := answer(t, request(1, user("fail")))
	if f, ok := llm.FailureOf(first); !ok || f.Kind != llm.FailureOverloaded || !f.Kind.Retryable() {
		t.Errorf("first attempt: %+v", first)
	}
	if second := answer(t, request(2, user("fail"))); second.StopReason != message.StopEnd {
		t.Errorf("second attempt: %+v", second)
	}
}

func TestDemoRefuses(t *testing.T) {
	t.Parallel()
	f, ok := llm.FailureOf(answer(t, request(1, user("broken"))))
	if !ok || f.Kind != llm.FailureRefusal || f.Kind.Retryable() {
		t.Errorf("failure %+v", f)
	}
}

func TestDemoOddRequests(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]llm.Request{
		"no message":     request(1),
		"after answer":   request(1, user("hi"), earlier),
		"image only":     request(1, message.User{Content: []message.Content{message.Image{Data: "AA==", MIMEType: "image/png"}}}),
		"bad UTF-8":      request(1, user("fetch \xff")),
		"blank":          request(1, user("  ")),
		"result at once": request(1, message.ToolResult{ToolName: "x"}),
	} {
		if got := answer(t, req); got.StopReason != message.StopEnd && got.StopReason != message.StopToolUse {
			t.Errorf("%s: %+v", name, got)
		}
	}
	wrong := request(1, user("hi"))
	wrong.Model.ID = "gpt"
	msg := scripted.New(scripted.Options{}).Stream(t.Context(), wrong, nil)
	if f, _ := llm.FailureOf(msg); f.Kind != llm.FailureInvalidRequest {
		t.Errorf("unknown model: %+v", msg)
	}
}

// A long answer is paced word by word and stops at once when it is aborted.
func TestDemoLongCanBeAborted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		demo := scripted.New(scripted.Options{Pace: time.Second})
		started, seen := time.Now(), 0
		msg := demo.Stream(ctx, request(1, user("hi"), earlier, user("long 50")), func(d llm.Delta) error {
			if _, isText := d.(llm.TextDelta); isText {
				if seen++; seen == 3 {
					cancel()
				}
			}
			return nil
		})
		if msg.StopReason != message.StopAborted || text(msg) != "word-1 word-2 word-3 " {
			t.Errorf("got %s %q", msg.StopReason, text(msg))
		}
		thinking := len(strings.Fields("A long answer; abort it whenever you like."))
		if got, want := time.Since(started), time.Duration(thinking+3)*time.Second; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	})
	whole := answer(t, request(1, user("hi"), earlier, user("long")))
	if n := len(strings.Fields(text(whole))); n != 400 {
		t.Errorf("%d words, want 400", n)
	}
}
