package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A ParkedCall is a tool call that waits. With a Selection it asks a participant; without one it is background work and must not be
// presented as a request for input (invariant 45).
type ParkedCall struct {
	RunID     string
	CallID    string
	WaitID    object.OID // the waiting effect: a new one for every wait, also of the same call
	Tool      string
	Args      jsontext.Value
	Selection *message.Selection
	Until     message.Millis // zero waits for ever
}

// loadParked reads the waiting calls of a run, in the order in which the newest response of commits made them.
func loadParked(ctx context.Context, r LaneReader, run string, commits []Commit) ([]ParkedCall, error) {
	refs, err := r.ListRefs(ctx, ref.RunEffects(run))
	if err != nil {
		return nil, fmt.Errorf("list the effects of run %s: %w", run, err)
	}
	oids := make([]object.OID, len(refs))
	for i, rf := range refs {
		oids[i] = rf.OID
	}
	effects, err := getPresent(ctx, r, oids)
	if err != nil {
		return nil, err
	}
	var calls []ParkedCall
	var intents []object.OID
	for i, o := range effects {
		if w, ok := o.(object.Waiting); ok {
			calls = append(calls, ParkedCall{RunID: run, WaitID: oids[i], Selection: w.Selection, Until: w.Until})
			intents = append(intents, w.Intent)
		}
	}
	objs, err := getPresent(ctx, r, intents)
	if err != nil {
		return nil, err
	}
	for i, o := range objs {
		intent, ok := o.(object.Intent)
		if !ok {
			return nil, &GraphError{intents[i], "not an intent"}
		}
		calls[i].CallID, calls[i].Tool, calls[i].Args = intent.CallID, intent.Tool, intent.Args
	}
	order := callOrder(commits)
	slices.SortStableFunc(calls, func(a, b ParkedCall) int { return cmp.Compare(order(a.CallID), order(b.CallID)) })
	return calls, nil
}

// callOrder returns the position of a call in the newest response of commits; an unknown one comes last.
func callOrder(commits []Commit) func(call string) int {
	var calls []message.ToolCall
	for _, c := range slices.Backward(commits) {
		if b, ok := c.Commit.Body.(object.MessageBody); ok {
			if m, ok := b.Message.(message.Assistant); ok {
				calls = m.Calls()
				break
			}
		}
	}
	return func(call string) int {
		i := slices.IndexFunc(calls, func(c message.ToolCall) bool { return c.ID == call })
		if i < 0 {
			return len(calls)
		}
		return i
	}
}
