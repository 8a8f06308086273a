package kernel_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func oids(commits []view.Commit) []object.OID {
	var out []object.OID
	for _, c := range commits {
		out = append(out, c.OID)
	}
	return out
}

func TestC102_ContextStartsAtTheNewestCheckpoint(t *testing.T) {
	k := kerneltest.New(t, kerneltest.Memory)
	at := kerneltest.Draw(t, k.Session, `
A-b-C*-D-e-F*-G-h  trunk
   \-X-y           side`)
	for tip, want := range map[string][]string{"h": {"F*", "G", "h"}, "e": {"C*", "D", "e"}, "b": {"A", "b"}, "y": {"A", "b", "X", "y"}, "F*": {"F*"}} {
		var names []object.OID
		for _, n := range want {
			names = append(names, at[n])
		}
		// Whatever was read before, the context is the same.
		for _, cached := range []string{"", "A", "b", "C*", "e", "F*", "h", "y"} {
			var c view.Context
			if cached != "" {
				c = must(view.LoadContext(k.Ctx, k.Session, at[cached], view.Context{}))(t)
			}
			got := must(view.LoadContext(k.Ctx, k.Session, at[tip], c))(t)
			same(t, "context of "+tip+" after "+cached, names, oids(got.Commits))
			same(t, "tip", at[tip], got.Tip)
		}
	}
}

// said is a commit of one message.
func said(m message.Message) view.Commit {
	return view.Commit{Commit: object.Commit{Body: object.MessageBody{Message: m}}}
}

func asked(text string) view.Commit { return said(message.NewUser(text, 1)) }

func answered(text string) view.Commit { return said(scene.Says(text, 1)) }

func stopped(m message.Assistant, reason message.StopReason) view.Commit {
	m.StopReason = reason
	return said(m)
}

func toolCalls(ids ...string) message.Assistant {
	var list []message.ToolCall
	for _, id := range ids {
		list = append(list, message.ToolCall{ID: id, Name: "x", Arguments: jsontext.Value(`{}`)})
	}
	return scene.Asks(1, list...)
}

func resulted(id, text string) view.Commit {
	return said(message.ToolResult{ToolCallID: id, ToolName: "x", Content: []message.Content{message.Text{Text: text}}})
}

func holding(b object.Body) view.Commit { return view.Commit{Commit: object.Commit{Body: b}} }

const interrupted = "e:" + view.Interrupted

func TestC106_CheckpointsAndSummaries(t *testing.T) {
	tail := []message.Message{message.NewUser("kept", 1), scene.Says("answer", 1)}
	for _, test := range []struct {
		name    string
		commits []view.Commit
		want    []string
	}{
		{
			"summary and tail",
			[]view.Commit{holding(object.CheckpointBody{Summary: "S", RetainedTail: tail}), asked("q")},
			[]string{"u:Summary of the conversation so far:\n\nS", "u:kept", "a:answer", "u:q"},
		},
		{"tail alone", []view.Commit{holding(object.CheckpointBody{RetainedTail: tail}), asked("q")}, []string{"u:kept", "a:answer", "u:q"}},
		{"a summary is one message", []view.Commit{holding(object.SummaryBody{Text: "elsewhere"}), asked("q")}, []string{"u:elsewhere", "u:q"}},
		{"an empty summary is nothing", []view.Commit{holding(object.SummaryBody{}), asked("q")}, []string{"u:q"}},
		{"B67 a blank summary is nothing", []view.Commit{holding(object.SummaryBody{Text: " \n"}), holding(object.CheckpointBody{Summary: "\t"}), asked("q")}, []string{"u:q"}},
		{
			"a tail is paired too",
			[]view.Commit{holding(object.CheckpointBody{RetainedTail: []message.Message{toolCalls("1")}}), asked("q")},
			[]string{"a:I will look.", "c:1", interrupted, "u:q"},
		},
	} {
		t.Run(test.name, func(t *testing.T) { same(t, "texts", test.want, kerneltest.Texts(test.commits)) })
	}
}

func TestUnanswered(t *testing.T) {
	failedAnswer := stopped(scene.Says("x", 1), message.StopError)
	for name, test := range map[string]struct {
		commits []view.Commit
		want    bool
	}{
		"nothing":                    {nil, false},
		"a question":                 {[]view.Commit{asked("q")}, true},
		"a question and config":      {[]view.Commit{asked("q"), holding(object.ConfigBody{Agent: "a"})}, true},
		"a failed answer":            {[]view.Commit{asked("q"), failedAnswer}, true},
		"an answer":                  {[]view.Commit{asked("q"), answered("a")}, false},
		"a result":                   {[]view.Commit{asked("q"), said(toolCalls("1")), resulted("1", "r")}, false},
		"a checkpoint of a question": {[]view.Commit{holding(object.CheckpointBody{Summary: "s", RetainedTail: []message.Message{message.NewUser("q", 1)}})}, true},
		"a checkpoint of an answer":  {[]view.Commit{holding(object.CheckpointBody{RetainedTail: []message.Message{message.NewUser("q", 1), scene.Says("a", 1)}})}, false},
	} {
		if got := view.Unanswered(test.commits); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// Histories that our own code would not write, as an older or a broken writer may have left them.
func TestB03_B06_B07_BadHistoriesProjectToValidRequests(t *testing.T) {
	for _, test := range []struct {
		name    string
		commits []view.Commit
		want    []string
	}{
		{
			"B03 an orphan at the tip, then a question",
			[]view.Commit{asked("q"), said(toolCalls("1")), asked("go on")},
			[]string{"u:q", "a:I will look.", "c:1", interrupted, "u:go on"},
		},
		{"B06 a result whose call is gone", []view.Commit{asked("q"), resulted("ghost", "r"), answered("a")}, []string{"u:q", "a:a"}},
		{
			"B07 an orphan in the middle", append([]view.Commit{asked("q"), said(toolCalls("1"))}, asked("a"), answered("b"), asked("c"), answered("d")),
			[]string{"u:q", "a:I will look.", "c:1", interrupted, "u:a", "a:b", "u:c", "a:d"},
		},
		{
			"results in completion order",
			[]view.Commit{asked("q"), said(toolCalls("1", "2", "3")), resulted("3", "c"), resulted("1", "a"), resulted("2", "b")},
			[]string{"u:q", "a:I will look.", "c:1", "c:2", "c:3", "r:a", "r:b", "r:c"},
		},
		{
			"a result behind a question",
			[]view.Commit{asked("q"), said(toolCalls("1")), asked("hm"), resulted("1", "late")},
			[]string{"u:q", "a:I will look.", "c:1", "r:late", "u:hm"},
		},
		{
			"a result behind another answer",
			[]view.Commit{asked("q"), said(toolCalls("1")), answered("a"), resulted("1", "too late")},
			[]string{"u:q", "a:I will look.", "c:1", interrupted, "a:a"},
		},
		{
			"B19 two calls of one id",
			[]view.Commit{asked("q"), said(toolCalls("x", "x")), resulted("x", "one"), resulted("x", "two")},
			[]string{"u:q", "a:I will look.", "c:x", "c:x", "r:one", "r:two"},
		},
		{
			"three results of one call",
			[]view.Commit{asked("q"), said(toolCalls("1")), resulted("1", "one"), resulted("1", "two"), resulted("1", "three")},
			[]string{"u:q", "a:I will look.", "c:1", "r:one"},
		},
		{
			"a retried response with the same id",
			[]view.Commit{asked("q"), stopped(toolCalls("1"), message.StopError), said(toolCalls("1")), resulted("1", "r")},
			[]string{"u:q", "a:I will look.", "c:1", "r:r"},
		},
		{"an answer without content", []view.Commit{asked("q"), said(message.Assistant{StopReason: message.StopEnd}), asked("r")}, []string{"u:q", "u:r"}},
		{"a blank question", []view.Commit{asked(" "), asked("q")}, []string{"u:q"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			same(t, "texts", test.want, kerneltest.Texts(test.commits))
			if err := view.CheckRequest(view.Messages(test.commits)); err != nil {
				t.Error(err)
			}
		})
	}
}
