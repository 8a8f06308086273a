package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestRoundTrip(t *testing.T) {
	for name, o := range samples() {
		t.Run(name, func(t *testing.T) {
			enc, err := object.Encode(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := object.Decode(enc.OID, enc.Body)
			if err != nil {
				t.Fatalf("%v\n%s", err, enc.Body)
			}
			if diff := cmp.Diff(o, got); diff != "" {
				t.Error(diff)
			}
			oracle, err := jcs.Transform(enc.Body)
			if err != nil {
				t.Fatal(err)
			}
			if string(oracle) != string(enc.Body) {
				t.Errorf("canonical bytes differ from the oracle's:\n%s\n%s", enc.Body, oracle)
			}
		})
	}
}

func samples() map[string]object.Object {
	oid := object.Hash([]byte("x"))
	user := message.NewUser("hello </world> \u2028 \U0001F600", 5)
	return map[string]object.Object{
		"commit-root": object.Commit{Body: object.MessageBody{Message: user}, At: 7},
		"commit-assistant": object.Commit{Parent: oid, Change: oid, Run: "run_1", Imports: []object.OID{oid}, Key: "k",
			Author: &object.Actor{ClientID: "c"}, At: 1, Body: object.MessageBody{Message: message.Assistant{
				Content: []message.Part{
					message.Thinking{Thinking: "hm"},
					message.Text{Text: "a"},
					message.ToolCall{ID: "1", Name: "t", Arguments: []byte(`{"a":-0.5,"b":[1e+21,1e-7]}`)},
				},
				API: "x", Provider: "p", Model: "m", StopReason: message.StopToolUse,
			}}},
		"commit-tool-result": object.Commit{At: 1, Body: object.MessageBody{Message: message.ToolResult{ToolCallID: "1", ToolName: "t",
			Content: []message.Content{message.Text{Text: "ok"}, message.Image{Data: "QQ==", MIMEType: "image/png"}}}}},
		"commit-checkpoint": object.Commit{At: 1, Body: object.CheckpointBody{Summary: "s", RetainedTail: []message.Message{user},
			TokensBefore: 3, Material: &object.Material{Type: "provider", Provider: "p", API: "a", Model: "m", Data: []byte(`{"x":1}`)},
			Usage: &message.Usage{Input: 1}, Config: &object.Config{Agent: "a"}}},
		"commit-summary": object.Commit{At: 1, Body: object.SummaryBody{Text: "s"}},
		"commit-config":  object.Commit{At: 1, Body: object.ConfigBody{Model: &object.Model{Provider: "p", ID: "m"}, ThinkingLevel: "high"}},
		"commit-note":    object.Commit{At: 1, Body: object.NoteBody{Type: "n", Data: []byte(`null`)}},
		"change":         object.Change{Previous: oid, Supersedes: oid, Body: object.MessageBody{Message: user, Agent: "a"}, At: 2, Key: "k"},
		"run-respond":    object.Run{ID: "run_1", Head: "main", Phase: object.Respond{}, StartedAt: 1},
		"run-retry":      object.Run{ID: "run_1", Head: "main", Phase: object.Retry{At: 9, Retries: 1, Error: "e"}, Attempts: 2, AbortRequested: true},
		"run-failed":     object.Run{ID: "run_1", Head: "main", Phase: object.Failed{Error: "e", Class: object.FailedTool}, Config: object.Config{Model: &object.Model{ID: "m"}}},
		"stack":          object.Stack{Parent: "main"},
		"blob":           object.Blob{Value: []byte(`{"a":[null,true],"b":1}`)},
		"intent":         object.Intent{RunID: "run_1", CallID: "c", Tool: "t", Args: []byte(`{}`), Replay: object.ReplayNever, At: 1},
		"waiting": object.Waiting{Intent: oid, At: 2, Until: 9, Selection: &message.Selection{Title: "t",
			Choices: []message.Choice{{ID: "a", Label: "A"}}, Multiple: true, Other: "else"}},
		"expired": object.Expired{Intent: oid, Waiting: oid, At: 3},
		"signal":  object.Signal{Intent: oid, Waiting: oid, Signal: []byte(`{"picked":["a"]}`), At: 3},
		"result": object.Result{Intent: oid, At: 4, Result: message.ToolResult{ToolCallID: "c", ToolName: "t",
			Content: []message.Content{message.Text{Text: "ok"}}}},
	}
}
