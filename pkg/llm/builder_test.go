package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

type recorder struct{ deltas []llm.Delta }

func (r *recorder) emit(d llm.Delta) error {
	r.deltas = append(r.deltas, d)
	return nil
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestBuilderFinish(t *testing.T) {
	t.Parallel()
	var got recorder
	b := llm.NewBuilder(t.Context(), got.emit)
	b.Message = message.Assistant{Provider: "p", Model: "m"}
	must(t,
		b.Thinking("hm", "sig"), b.Thinking("m", ""), b.Text("a"), b.Text(""), b.Text("b"),
		b.Call(0, "x", "T", `{"n"`), b.Call(7, "y", "U", ""), b.Call(0, "", "", `:1}`), b.Text("c"))
	msg := b.Finish(message.StopEnd, "stop")
	want := message.Assistant{
		Provider: "p", Model: "m", StopReason: message.StopToolUse, RawStopReason: "stop",
		Content: []message.Part{
			message.Thinking{Thinking: "hmm", Signature: "sig"},
			message.Text{Text: "ab"},
			message.ToolCall{ID: "x", Name: "T", Arguments: jsontext.Value(`{"n":1}`)},
			message.ToolCall{ID: "y", Name: "U", Arguments: jsontext.Value(`{}`)},
			message.Text{Text: "c"},
		},
	}
	if diff := cmp.Diff(want, msg); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	wantDeltas := []llm.Delta{
		llm.ThinkingDelta{Index: 0, Text: "hm"},
		llm.ThinkingDelta{Index: 0, Text: "m"},
		llm.TextDelta{Index: 1, Text: "a"},
		llm.TextDelta{Index: 1, Text: "b"},
		llm.ToolCallDelta{Index: 2, ID: "x", Name: "T", Arguments: `{"n"`},
		llm.ToolCallDelta{Index: 3, ID: "y", Name: "U"},
		llm.ToolCallDelta{Index: 2, ID: "x", Name: "T", Arguments: `:1}`},
		llm.TextDelta{Index: 4, Text: "c"},
	}
	if diff := cmp.Diff(wantDeltas, got.deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

func TestBuilderStopReasons(t *testing.T) {
	t.Parallel()
	tests := []struct {
		call bool
		stop message.StopReason
		want message.StopReason
	}{
		{false, message.StopEnd, message.StopEnd},
		{false, message.StopToolUse, message.StopEnd},
		{true, message.StopToolUse, message.StopToolUse},
		{true, message.StopLength, message.StopLength},
		{false, message.StopLength, message.StopLength},
	}
	for _, test := range tests {
		b := llm.NewBuilder(t.Context(), nil)
		if test.call {
			must(t, b.Call(0, "x", "T", ""))
		}
		if got := b.Finish(test.stop, "").StopReason; got != test.want {
			t.Errorf("call %v, %s: %s, want %s", test.call, test.stop, got, test.want)
		}
	}
}

// Field reports B02 and B04: a response that is aborted or fails leaves no tool call, complete or not.
func TestB02_B04_NoCallLeftOpen(t *testing.T) {
	t.Parallel()
	build := func() *llm.Builder {
		b := llm.NewBuilder(t.Context(), nil)
		must(t, b.Text("x"), b.Call(0, "done", "T", "{}"), b.Call(1, "open", "T", `{"p":`))
		return b
	}
	for name, msg := range map[string]message.Assistant{
		"aborted":         build().Abort(),
		"failed":          build().Fail(llm.Failure{Kind: llm.FailureCut}, "cut"),
		"finished error":  build().Finish(message.StopError, ""),
		"finished abort":  build().Finish(message.StopAborted, ""),
		"error message":   llm.ErrorMessage(build().Finish(message.StopToolUse, ""), llm.Failure{Kind: llm.FailureCut}, ""),
		"aborted message": llm.AbortedMessage(build().Finish(message.StopToolUse, "")),
	} {
		if diff := cmp.Diff([]message.Part{message.Text{Text: "x"}}, msg.Content); diff != "" {
			t.Errorf("%s: content (-want +got):\n%s", name, diff)
		}
		if err := message.Validate(msg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Field report B13: a call without argument bytes is a call without arguments.
func TestB13_EmptyArguments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n"} {
		want := message.ToolCall{ID: "a", Name: "T", Arguments: jsontext.Value("{}")}
		if diff := cmp.Diff(want, llm.NewCall("a", "T", text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Field report B65: arguments reach the tool byte for byte, or not at all.
func TestB65_Arguments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"n":-0}`, `{"n":1E+2}`, `{"n":0.1}`, `{"n":1e21}`, `{"a":{"b":[1,"é"]}}`, `{ "a" : 1 }`} {
		got := llm.NewCall("a", "T", "\n"+text+" ")
		if string(got.Arguments) != text || got.RawArguments != "" {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, text := range []string{
		`{"id":9007199254740993}`, `{"n":1e400}`, `{"n":1234567890123456789012345678901234567890}`, `{"a":1,"a":1}`,
		`{"a":`, `[]`, `null`, `"{}"`, `{} {}`, `{"a":"\ud800"}`, `{"a":` + strings.Repeat("[", 1<<20),
		strings.Repeat(`{"a":`, 1000) + "{}" + strings.Repeat("}", 1000),
	} {
		got := llm.NewCall("a", "T", text)
		if string(got.Arguments) != "{}" || got.RawArguments != text {
			t.Errorf("%.60s: %.200v", text, got)
		}
	}
	if got := llm.NewCall("a\xff", "T\xff", "{\"a\":\"\xff\"}"); got.RawArguments != `{"a":"�"}` || got.ID != "a�" || got.Name != "T�" {
		t.Errorf("invalid UTF-8: %+v", got)
	}
}

// Field report B70: fragments may be cut inside a character.
func TestB70_CharactersAcrossFragments(t *testing.T) {
	t.Parallel()
	const text = "aé日😀z"
	for _, size := range []int{1, 2, 3, 5} {
		var got recorder
		b := llm.NewBuilder(t.Context(), got.emit)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			must(t, b.Text(rest[:n]))
			rest = rest[n:]
		}
		checkText(t, b, &got, text)
	}
	tests := []struct {
		name      string
		fragments []string
		want      string
	}{
		{"surrogates in two fragments", []string{"a\xED\xA0\xBD", "\xED\xB8\x80b"}, "a😀b"},
		{"two pairs", []string{"\xED\xA0\xBD\xED\xB8\x80\xED\xA0\xBD", "\xED\xB8\x80"}, "😀😀"},
		{"lone high surrogate", []string{"a\xED\xA0\xBD", "b"}, "a\uFFFDb"},
		{"lone surrogate at the end", []string{"a\xED\xA0\xBD"}, "a\uFFFD"},
		{"cut at the end", []string{"a\xE6\x97"}, "a\uFFFD"},
		{"bad byte", []string{"a\xFF", "b"}, "a\uFFFDb"},
		{"only half a character", []string{"\xE6"}, "\uFFFD"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got recorder
			b := llm.NewBuilder(t.Context(), got.emit)
			for _, f := range test.fragments {
				must(t, b.Text(f))
			}
			checkText(t, b, &got, test.want)
		})
	}
}

func checkText(t *testing.T, b *llm.Builder, got *recorder, want string) {
	t.Helper()
	msg := b.Finish(message.StopEnd, "")
	if diff := cmp.Diff([]message.Part{message.Text{Text: want}}, msg.Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	var joined strings.Builder
	for _, d := range got.deltas {
		joined.WriteString(d.(llm.TextDelta).Text)
	}
	if joined.String() != want {
		t.Errorf("deltas say %q, want %q", joined.String(), want)
	}
}

func TestBuilderStopsOnEmitError(t *testing.T) {
	t.Parallel()
	full := errors.New("fenced")
	calls := 0
	b := llm.NewBuilder(t.Context(), func(llm.Delta) error { calls++; return full })
	if err := b.Text("a"); !errors.Is(err, full) {
		t.Fatalf("Text = %v", err)
	}
	if err := b.Thinking("b", ""); !errors.Is(err, full) {
		t.Fatalf("Thinking = %v", err)
	}
	if got := b.Finish(message.StopEnd, "").StopReason; got != message.StopAborted || calls != 1 {
		t.Errorf("stop reason %s after %d calls of emit", got, calls)
	}
}

func TestBuilderStopsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	b := llm.NewBuilder(ctx, nil)
	must(t, b.Text("a"))
	aborted := errors.New("aborted by a participant")
	cancel(aborted)
	if err := b.Text("b"); !errors.Is(err, aborted) {
		t.Errorf("Text = %v", err)
	}
	msg := b.Fail(llm.Failure{Kind: llm.FailureNetwork}, "connection closed")
	if _, failed := llm.FailureOf(msg); failed || msg.StopReason != message.StopAborted {
		t.Errorf("got %+v, want an aborted message", msg)
	}
}

func TestBuilderCallWithoutName(t *testing.T) {
	t.Parallel()
	b := llm.NewBuilder(t.Context(), nil)
	must(t, b.Call(0, "x", "", "{}"))
	msg := b.Finish(message.StopToolUse, "tool_calls")
	if f, _ := llm.FailureOf(msg); f.Kind != llm.FailureMalformed || len(msg.Content) != 0 {
		t.Errorf("got %+v", msg)
	}
}

// Joined deltas are the text of the message, which is valid, however a text is cut.
func FuzzBuilderText(f *testing.F) {
	f.Add("aé日😀", 1)
	f.Add("\xED\xA0\xBD\xED\xB8\x80\xFF\xE6", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if text == "" || size < 1 {
			return
		}
		var got recorder
		b := llm.NewBuilder(t.Context(), got.emit)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			must(t, b.Text(rest[:n]))
			rest = rest[n:]
		}
		want := message.CleanText(text)
		if want == text {
			checkText(t, b, &got, want)
			return
		}
		msg := b.Finish(message.StopEnd, "")
		if final := msg.Content[0].(message.Text).Text; final != message.CleanText(final) {
			t.Fatalf("text %q is not clean", final)
		}
	})
}
