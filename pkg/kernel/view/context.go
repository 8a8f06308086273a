package view

import (
	"context"
	"slices"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Context is what a branch gives a model: the commits from its newest checkpoint (inclusive) to its tip, oldest first, and the
// configuration folded over the whole branch. It is immutable and may be cached by its Tip for ever.
type Context struct {
	Tip     object.OID
	Commits []Commit
	Config  object.Config
}

// LoadContext reads the context of tip. With a cached context of an ancestor it reads only what is newer. The cached one is not
// modified.
func LoadContext(ctx context.Context, r store.ObjectReader, tip object.OID, cached Context) (Context, error) {
	if tip == cached.Tip {
		return cached, nil
	}
	var newer []Commit
	onCached, full := false, false
	for c, err := range Walk(ctx, r, tip, cached.Tip) {
		if err != nil {
			return Context{}, err
		}
		newer = append(newer, c)
		if b, ok := c.Commit.Body.(object.CheckpointBody); ok && b.Config != nil {
			full = true
			break
		}
		onCached = !cached.Tip.IsZero() && c.Commit.Parent == cached.Tip
	}
	slices.Reverse(newer)
	out := Context{Tip: tip}
	if onCached && !full {
		out.Commits = slices.Concat(cached.Commits, newer)
		out.Config = cached.Config
	} else {
		out.Commits = newer
	}
	for _, c := range newer {
		out.Config = out.Config.With(c.Commit.Body)
	}
	out.Commits = fromCheckpoint(out.Commits)
	return out, nil
}

func fromCheckpoint(commits []Commit) []Commit {
	for i, c := range slices.Backward(commits) {
		if _, ok := c.Commit.Body.(object.CheckpointBody); ok {
			return commits[i:]
		}
	}
	return commits
}

// Interrupted is the text of the result that stands in for a tool call without one. It says what a model must know: the outcome
// is unknown, and may have happened.
const Interrupted = "This tool call was interrupted before its result was recorded. Its outcome is unknown: do not assume that it did not happen."

// Messages projects commits to the messages a model is sent. Whatever the history, the result is a valid request (Rule G):
// every call is followed by exactly one result, in call order, before the next other message; no result lacks its call; failed
// and aborted responses are left out.
func Messages(commits []Commit) []message.Message {
	var out []message.Message
	for _, c := range commits {
		switch b := c.Commit.Body.(type) {
		case object.MessageBody:
			if usable(b.Message) {
				out = append(out, b.Message)
			}
		case object.CheckpointBody:
			if strings.TrimSpace(b.Summary) != "" {
				out = append(out, summaryMessage("Summary of the conversation so far:\n\n"+b.Summary, c.Commit.At))
			}
			for _, m := range b.RetainedTail {
				if usable(m) {
					out = append(out, m)
				}
			}
		case object.SummaryBody:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, summaryMessage(b.Text, c.Commit.At))
			}
		case object.ConfigBody, object.NoteBody:
		}
	}
	return pair(out)
}

func summaryMessage(text string, at object.Millis) message.User { return message.NewUser(text, at) }

func usable(m message.Message) bool {
	switch m := m.(type) {
	case message.Assistant:
		switch m.StopReason {
		case message.StopError, message.StopAborted, message.StopDeferred:
			return false
		case message.StopEnd, message.StopLength, message.StopToolUse, message.StopPending:
		}
		return len(m.Content) > 0
	case message.User:
		return !message.Blank(m.Content)
	case message.ToolResult:
		return true
	}
	return false
}

// pair puts the results of every assistant message right behind it, in call order: the recorded one where there is one
// before the next assistant message, else one that says interrupted. A result without a call is dropped.
func pair(in []message.Message) []message.Message {
	out := make([]message.Message, 0, len(in))
	for i, m := range in {
		switch m := m.(type) {
		case message.User:
			out = append(out, m)
		case message.Assistant:
			out = append(out, m)
			calls := m.Calls()
			if len(calls) == 0 {
				continue
			}
			results := resultsUntilNext(in[i+1:])
			for _, call := range calls {
				out = append(out, takeResult(results, call, m.Timestamp))
			}
		case message.ToolResult:
			// Placed with its call, or without one.
		}
	}
	return out
}

// resultsUntilNext collects the results before the next assistant message, by call id in order of appearance. Results may
// stand behind a user message when an older writer recorded them late.
func resultsUntilNext(rest []message.Message) map[string][]message.ToolResult {
	results := make(map[string][]message.ToolResult)
	for _, m := range rest {
		switch m := m.(type) {
		case message.Assistant:
			return results
		case message.ToolResult:
			results[m.ToolCallID] = append(results[m.ToolCallID], m)
		case message.User:
		}
	}
	return results
}

func takeResult(results map[string][]message.ToolResult, call message.ToolCall, at message.Millis) message.ToolResult {
	if rs := results[call.ID]; len(rs) > 0 {
		results[call.ID] = rs[1:]
		return rs[0]
	}
	return message.ToolResult{
		ToolCallID: call.ID, ToolName: call.Name, IsError: true, Timestamp: at,
		Content: []message.Content{message.Text{Text: Interrupted}},
	}
}

// Unanswered reports whether the newest user message of commits still waits for its answer: nothing but failed responses, configuration
// and notes came after it.
func Unanswered(commits []Commit) bool {
	for _, c := range slices.Backward(commits) {
		switch b := c.Commit.Body.(type) {
		case object.MessageBody:
			if unanswered, told := tells(b.Message); told {
				return unanswered
			}
		case object.CheckpointBody:
			for _, m := range slices.Backward(b.RetainedTail) {
				if unanswered, told := tells(m); told {
					return unanswered
				}
			}
		case object.SummaryBody, object.ConfigBody, object.NoteBody:
		}
	}
	return false
}

// tells reports whether m, as the newest message that counts, leaves a user message unanswered. A failed response tells nothing.
func tells(m message.Message) (unanswered, told bool) {
	switch m := m.(type) {
	case message.User:
		return true, true
	case message.Assistant:
		return false, usable(m)
	case message.ToolResult:
		return false, true
	}
	return false, false
}

// contextOf is [LoadContext] of a whole branch that has been read already, oldest first.
func contextOf(tip object.OID, branch []Commit) Context {
	c := Context{Tip: tip, Commits: fromCheckpoint(branch)}
	for _, commit := range branch {
		c.Config = c.Config.With(commit.Commit.Body)
	}
	return c
}
