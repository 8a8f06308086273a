package kernel

import (
	"context"
	"errors"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// checkHeads walks every branch to its root, and holds what a model would be sent to Rule G.
func (c *checker) checkHeads(ctx context.Context) error {
	for _, r := range c.refs {
		switch p := r.parsed.(type) {
		case ref.HeadRef:
			branch, whole := c.branch(string(r.Name), r.OID)
			c.checkLengthStops(string(r.Name), branch)
			if !whole {
				continue
			}
			loaded, err := view.LoadContext(ctx, c.r, r.OID, view.Context{})
			if errors.Is(err, object.ErrCorrupt) {
				c.problem(41, string(r.Name), "its context cannot be read: %v", err)
				continue
			}
			if err != nil {
				return err
			}
			if err := view.CheckRequest(view.Messages(loaded.Commits)); err != nil {
				c.problem(0, string(r.Name), "not a valid request: %v", err)
			}
		case ref.StackRef:
			c.checkStack(p.Head, r)
		case ref.QueueRef, ref.RunRef, ref.EffectRef, ref.KeyRef, ref.FactRef, ref.TombstoneRef, ref.DeletedRef, ref.OtherRef:
		}
	}
	return nil
}

// branch returns the commits from tip back, newest first; whole says that it ends at a root (invariant 41).
func (c *checker) branch(where string, tip object.OID) (commits []view.Commit, whole bool) {
	seen := make(map[object.OID]bool)
	for oid := tip; !oid.IsZero(); {
		if seen[oid] {
			c.problem(41, where, "its branch has a cycle at %s", oid)
			return commits, false
		}
		seen[oid] = true
		commit, ok := c.objects[oid].(object.Commit)
		if !ok {
			c.problem(41, where, "its branch breaks at %s, which is no commit", oid)
			return commits, false
		}
		commits = append(commits, view.Commit{OID: oid, Commit: commit})
		oid = commit.Parent
	}
	return commits, true
}

// checkLengthStops holds the results of a message that was cut at its limit: all are errors (invariant 15). Commits come newest first.
func (c *checker) checkLengthStops(where string, commits []view.Commit) {
	results := make(map[string][]message.ToolResult)
	for _, commit := range commits {
		body, ok := commit.Commit.Body.(object.MessageBody)
		if !ok {
			continue
		}
		switch m := body.Message.(type) {
		case message.ToolResult:
			results[m.ToolCallID] = append(results[m.ToolCallID], m)
		case message.Assistant:
			for _, call := range m.Calls() {
				for _, r := range results[call.ID] {
					if m.StopReason == message.StopLength && !r.IsError {
						c.problem(15, where, "the call %q of the length-stopped message %s has a result that is no error", call.ID, commit.OID)
					}
				}
			}
			clear(results)
		case message.User:
		}
	}
}

// checkStack holds a stack to a parent that is a head name, and not the head itself.
func (c *checker) checkStack(head string, r checkedRef) {
	stack, ok := c.objects[r.OID].(object.Stack)
	if !ok {
		return
	}
	if err := ref.CheckHead(stack.Parent); err != nil {
		c.problem(33, string(r.Name), "its parent is not a head: %v", err)
	}
	if stack.Parent == head {
		c.problem(33, string(r.Name), "the head is stacked on itself")
	}
}
