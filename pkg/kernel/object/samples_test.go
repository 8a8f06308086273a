package object_test

import (
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// samples returns one object per kind, effect state, body and phase, with and without its optional members. Their bytes are
// the golden objects of the repository: a sample is added, never changed.
func samples() map[string]object.Object {
	oid, other := object.Hash([]byte("x")), object.Hash([]byte("y"))
	user := message.NewUser("hello </world> \u2028 \U0001F600", 5)
	author := &object.Actor{ClientID: "c", UserID: "u", Device: "d"}
	usage := &message.Usage{
		Input: 10, Output: 20, CacheRead: 3, CacheWrite: 2, CacheWrite1h: 1, Reasoning: 4, TotalTokens: 35,
		Cost: message.Cost{Input: 0.1, Output: 1e-7, CacheRead: 0.25, CacheWrite: 3, Total: 3.3500001},
	}
	return map[string]object.Object{
		"commit-root": object.Commit{Body: object.MessageBody{Message: user}, At: 7},
		"commit-user-full": object.Commit{
			Parent: oid, Imports: []object.OID{other, oid}, Change: other, Run: "run_1", Author: author, Key: "k", At: 1767225600000,
			Body: object.MessageBody{Agent: "plan", Message: message.User{Timestamp: 5, Content: []message.Content{
				message.Text{Text: "look: \x00\x1f\"\\\b\f\n\r\t", Signature: "s"}, message.Image{Data: "QQ==", MIMEType: "image/png"},
			}}},
		},
		"commit-assistant": object.Commit{
			Parent: oid, Run: "run_1", At: 1,
			Body: object.MessageBody{Message: message.Assistant{
				Content: []message.Part{
					message.Thinking{Thinking: "hm"},
					message.Text{Text: "a"},
					message.ToolCall{ID: "1", Name: "t", Arguments: []byte(`{"a":-0.5,"b":[1e+21,1e-7]}`)},
				},
				API: "x", Provider: "p", Model: "m", StopReason: message.StopToolUse,
			}},
		},
		"commit-assistant-full": object.Commit{Parent: oid, At: 1, Body: object.MessageBody{Message: message.Assistant{
			Content: []message.Part{
				message.Thinking{Thinking: "", Signature: "s", Redacted: "r"},
				message.ToolCall{ID: "", Name: "t", Arguments: []byte(`{}`), RawArguments: `{"a":`},
			},
			API: "x", Provider: "p", Model: "m", Usage: *usage, StopReason: message.StopError, ErrorMessage: "overloaded",
			ResponseModel: "m-2", ResponseID: "r", RawStopReason: "529", Timestamp: 9,
			Diagnostics: []message.Diagnostic{{Code: "retry", Message: "wait", Details: []byte(`{"retryAfterMs":1500}`)}},
		}}},
		"commit-tool-result": object.Commit{At: 1, Body: object.MessageBody{Message: message.ToolResult{
			ToolCallID: "1", ToolName: "t",
			Content: []message.Content{message.Text{Text: "ok"}, message.Image{Data: "QQ==", MIMEType: "image/png"}},
		}}},
		"commit-checkpoint": object.Commit{At: 1, Body: object.CheckpointBody{
			Summary: "s", RetainedTail: []message.Message{user}, TokensBefore: 3,
			Material: &object.Material{Type: "provider", Provider: "p", API: "a", Model: "m", Data: []byte(`{"x":1}`)},
			Usage:    usage, Config: &object.Config{Model: &object.Model{ID: "m"}, ThinkingLevel: "low", Agent: "a"},
		}},
		"commit-checkpoint-bare": object.Commit{At: 1, Body: object.CheckpointBody{RetainedTail: []message.Message{}}},
		"commit-summary":         object.Commit{At: 1, Body: object.SummaryBody{Text: "s"}},
		"commit-summary-usage":   object.Commit{At: 1, Body: object.SummaryBody{Text: "s", Usage: usage}},
		"commit-config": object.Commit{At: 1, Body: object.ConfigBody{
			Model: &object.Model{Provider: "p", ID: "m"}, ThinkingLevel: "high", Agent: "a",
		}},
		"commit-note":   object.Commit{At: 1, Body: object.NoteBody{Type: "n", Data: []byte(`null`)}},
		"change":        object.Change{Previous: oid, Supersedes: other, Body: object.MessageBody{Message: user, Agent: "a"}, At: 2, Key: "k", Author: author},
		"change-first":  object.Change{Body: object.ConfigBody{ThinkingLevel: "off"}, At: 2},
		"change-lane":   object.Change{Lane: "main/queue", Body: object.MessageBody{Message: user}, At: 2},
		"run-respond":   object.Run{ID: "run_1", Head: "main", Phase: object.Respond{}, StartedAt: 1},
		"run-tools":     object.Run{ID: "run_1", Head: "main", Phase: object.Tools{}, StartedAt: 1, Attempts: 1},
		"run-waiting":   object.Run{ID: "run_1", Head: "main", Phase: object.WaitingPhase{}, StartedAt: 1, Attempts: 1},
		"run-retry":     object.Run{ID: "run_1", Head: "main", Phase: object.Retry{At: 9, Retries: 1, Error: "e"}, Attempts: 2, AbortRequested: true},
		"run-done":      object.Run{ID: "run_1", Head: "main", Phase: object.Done{}, StartedAt: 1, Attempts: 2},
		"run-aborted":   object.Run{ID: "run_1", Head: "main", Phase: object.Aborted{}, StartedAt: 1, AbortRequested: true},
		"run-failed":    object.Run{ID: "run_1", Head: "main", Phase: object.Failed{Error: "e", Class: object.FailedTool}, Config: object.Config{Model: &object.Model{ID: "m"}}},
		"stack":         object.Stack{Parent: "main"},
		"stack-based":   object.Stack{Parent: "\u4e3b\u7dda", Base: oid},
		"blob":          object.Blob{Value: []byte(`{"a":[null,true],"b":1}`)},
		"blob-utf16":    object.Blob{Value: []byte("{\"\U0001F600\":1,\"\ue000\":2}")},
		"intent":        object.Intent{RunID: "run_1", CallID: "c", Tool: "t", Args: []byte(`{}`), Replay: object.ReplayNever, At: 1},
		"intent-safe":   object.Intent{RunID: "run_1", CallID: "a/b\n", Tool: "t", Args: []byte(`{"q":"x"}`), Replay: object.ReplaySafe, At: 1},
		"waiting":       object.Waiting{Intent: oid, At: 2},
		"expired":       object.Expired{Intent: oid, Waiting: other, At: 3},
		"signal":        object.Signal{Intent: oid, Waiting: other, Signal: []byte(`null`), At: 3},
		"signal-author": object.Signal{Intent: oid, Waiting: other, Signal: []byte(`{"picked":["a"]}`), At: 3, Author: author},
		"waiting-asks": object.Waiting{Intent: oid, At: 2, Until: 9, Selection: &message.Selection{
			Title: "t", Choices: []message.Choice{{ID: "a", Label: "A", Description: "first"}}, Multiple: true, Other: "else",
		}},
		"result": object.Result{Intent: oid, At: 4, Result: message.ToolResult{
			ToolCallID: "c", ToolName: "t", Content: []message.Content{message.Text{Text: "ok"}},
		}},
		"result-full": object.Result{Intent: oid, At: 4, Result: message.ToolResult{
			ToolCallID: "c", ToolName: "t", Content: []message.Content{}, Details: []byte(`{"diff":"x"}`), Title: "T",
			Usage: usage, IsError: true, Timestamp: 4,
		}},
	}
}
