package llm_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

type listed struct {
	name string
	ids  []string
}

func (p listed) Name() string { return p.name }

func (p listed) Models() []llm.ModelInfo {
	var infos []llm.ModelInfo
	for _, id := range p.ids {
		infos = append(infos, llm.ModelInfo{Model: llm.Model{Provider: p.name, ID: id}, API: p.name + "-api"})
	}
	return infos
}

func (listed) Stream(context.Context, llm.Request, func(llm.Delta) error) message.Assistant {
	return message.Assistant{StopReason: message.StopEnd}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	first, second := listed{"a", []string{"m", "n"}}, listed{"b", []string{"m", "o"}}
	c := llm.NewCatalog(first, second, listed{"a", []string{"m", "p"}})
	tests := []struct {
		model llm.Model
		api   string
	}{
		{llm.Model{Provider: "a", ID: "m"}, "a-api"},
		{llm.Model{Provider: "b", ID: "m"}, "b-api"},
		{llm.Model{ID: "m"}, "a-api"},
		{llm.Model{ID: "o"}, "b-api"},
		{llm.Model{Provider: "a", ID: "p"}, "a-api"},
		{llm.Model{Provider: "a", ID: "o"}, ""},
		{llm.Model{Provider: "c", ID: "m"}, ""},
		{llm.Model{}, ""},
	}
	for _, test := range tests {
		_, info, ok := c.Lookup(test.model)
		if ok != (test.api != "") || info.API != test.api {
			t.Errorf("Lookup(%v) = %v, %v", test.model, info, ok)
		}
	}
	var ids []string
	for _, info := range c.List() {
		ids = append(ids, info.Provider+"/"+info.ID)
	}
	if diff := cmp.Diff([]string{"a/m", "a/n", "b/m", "b/o", "a/p"}, ids); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	if got := llm.NewCatalog().List(); got == nil || len(got) != 0 {
		t.Errorf("empty catalog lists %#v", got)
	}
}

func TestFailureRoundTrip(t *testing.T) {
	t.Parallel()
	want := llm.Failure{Kind: llm.FailureRateLimit, Status: 429, RetryAfterMs: 1500}
	partial := message.Assistant{
		Content:     []message.Part{message.Thinking{Thinking: "t"}, message.Text{Text: "x"}},
		Diagnostics: []message.Diagnostic{{Code: "other", Message: "m"}},
	}
	msg := llm.ErrorMessage(partial, want, "slow down\xff")
	if msg.StopReason != message.StopError || msg.ErrorMessage != "slow down\uFFFD" || len(msg.Content) != 2 {
		t.Errorf("got %+v", msg)
	}
	data, err := message.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	var back message.Assistant
	if err := message.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	got, ok := llm.FailureOf(back)
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("FailureOf (-want +got):\n%s", diff)
	}
	if len(partial.Diagnostics) != 1 {
		t.Error("the partial message was changed")
	}
}

func TestFailureOfNone(t *testing.T) {
	t.Parallel()
	for name, diagnostics := range map[string][]message.Diagnostic{
		"none":       nil,
		"other code": {{Code: "x", Details: []byte(`{"kind":"server"}`)}},
		"no details": {{Code: llm.DiagnosticCode}},
		"no kind":    {{Code: llm.DiagnosticCode, Details: []byte(`{}`)}},
		"not JSON":   {{Code: llm.DiagnosticCode, Details: []byte(`{`)}},
	} {
		if f, ok := llm.FailureOf(message.Assistant{Diagnostics: diagnostics}); ok {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestErrorMessageText(t *testing.T) {
	t.Parallel()
	long := llm.ErrorMessage(message.Assistant{}, llm.Failure{Kind: llm.FailureServer}, strings.Repeat("é", 5000))
	if len(long.ErrorMessage) > 2010 || !utf8.ValidString(long.ErrorMessage) {
		t.Errorf("%d bytes kept, valid %v", len(long.ErrorMessage), utf8.ValidString(long.ErrorMessage))
	}
	empty := llm.ErrorMessage(message.Assistant{}, llm.Failure{Kind: llm.FailureServer}, " ")
	if empty.ErrorMessage != "the provider failed: server" || empty.Content == nil {
		t.Errorf("got %+v", empty)
	}
}
