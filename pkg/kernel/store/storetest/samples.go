package storetest

import (
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// samples are one object of each kind, and each state of an effect.
func samples() []object.Object {
	oid := id("linked")
	hello := message.NewUser("hello </world> \u2028 \U0001F600 & \"more\"", 5)
	return []object.Object{
		object.Commit{
			Parent: oid, Imports: []object.OID{id("imported")}, Change: oid, Run: "run_1", Key: "k", At: 7,
			Author: &object.Actor{ClientID: "c", UserID: "u", Device: "d"}, Body: object.MessageBody{Message: hello},
		},
		object.Change{Previous: oid, Body: object.MessageBody{Message: hello, Agent: "a"}, At: 2, Key: "k"},
		object.Run{ID: "run_1", Head: "main", Phase: object.Retry{At: 9, Retries: 1, Error: "e"}, StartedAt: 1, Attempts: 2},
		object.Stack{Parent: "main", Base: oid},
		object.Blob{Value: []byte(`{"a":[null,true,-0.5,1e+21],"b":"x"}`)},
		object.Intent{RunID: "run_1", CallID: "c", Tool: "t", Args: []byte(`{"x":1}`), Replay: object.ReplayNever, At: 1},
		object.Waiting{Intent: oid, At: 2, Until: 9},
		object.Expired{Intent: oid, Waiting: oid, At: 3},
		object.Signal{Intent: oid, Waiting: oid, Signal: []byte(`true`), At: 3},
		object.Result{Intent: oid, At: 4, Result: message.ToolResult{
			ToolCallID: "c", ToolName: "t", Content: []message.Content{message.Text{Text: "ok"}},
		}},
	}
}

// commits is a chain of n commits, the oldest first.
func (f *fixture) commits(n int) []object.Encoded {
	f.Helper()
	chain := make([]object.Encoded, n)
	var parent object.OID
	for i := range chain {
		body := object.SummaryBody{Text: fmt.Sprintf("commit %d", i)}
		chain[i] = f.encode(object.Commit{Parent: parent, Body: body, At: object.Millis(i)})
		parent = chain[i].OID
	}
	return chain
}

// changes is a chain of n changes, the oldest first.
func (f *fixture) changes(n int) []object.Encoded {
	f.Helper()
	chain := make([]object.Encoded, n)
	var previous object.OID
	for i := range chain {
		body := object.SummaryBody{Text: fmt.Sprintf("change %d", i)}
		chain[i] = f.encode(object.Change{Previous: previous, Body: body, At: object.Millis(i)})
		previous = chain[i].OID
	}
	return chain
}
