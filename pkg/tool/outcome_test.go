package tool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

func TestWait_Validate(t *testing.T) {
	good := &message.Selection{Title: "Which?", Choices: []message.Choice{{ID: "a", Label: "A"}}}
	for _, tc := range []struct {
		name string
		wait tool.Wait
		want string
	}{
		{"nothing", tool.Wait{}, ""},
		{"deadline", tool.Wait{Until: 1}, ""},
		{"B48 200 years", tool.Wait{Until: 200 * 365 * 86_400_000}, ""},
		{"question", tool.Wait{Selection: good, Until: 1}, ""},
		{"negative", tool.Wait{Selection: good, Until: -1}, "wait.until is negative; use 0 for no deadline"},
		{"no choices", tool.Wait{Selection: &message.Selection{Title: "Which?"}}, "wait.selection.choices is empty"},
		{"blank title", tool.Wait{Selection: &message.Selection{Title: " ", Choices: good.Choices}}, "wait.selection.title is blank"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if err := tc.wait.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	want := tool.Done{Content: []message.Content{message.Text{Text: "7 of \uFFFD\uFFFD\uFFFD 🙂"}}, IsError: true}
	got := tool.Errorf("%d of %s 🙂", 7, "\xed\xa0\x80")
	want.Content[0] = message.Text{Text: message.CleanText("7 of \xed\xa0\x80 🙂")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Errorf (-want +got):\n%s", diff)
	}
	want.IsError = false
	if diff := cmp.Diff(want, tool.Text("7 of \xed\xa0\x80 🙂")); diff != "" {
		t.Errorf("Text (-want +got):\n%s", diff)
	}
}
