package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// An openCall is a call that waits for its result, and where its part is drawn.
type openCall struct {
	id         string
	batch      int // the response that made it
	item, part int
}

// A folder adds commits to a transcript that it owns, but for the parts of its turns when they are shared with an older one.
type folder struct {
	t      Transcript
	shared bool
}

func (f *folder) fold(c Commit) {
	f.t.Tip = c.OID
	at := c.Commit.At
	switch b := c.Commit.Body.(type) {
	case object.MessageBody:
		f.message(c, b.Message)
	case object.CheckpointBody:
		f.mark(CheckpointMarker{ID: c.OID, At: at, Summary: b.Summary, TokensBefore: b.TokensBefore})
	case object.SummaryBody:
		f.mark(SummaryMarker{ID: c.OID, At: at, Text: b.Text})
	case object.ConfigBody:
		f.mark(ConfigMarker{ID: c.OID, At: at, Config: object.Config(b)})
	case object.NoteBody:
		f.mark(NoteMarker{ID: c.OID, At: at, Type: b.Type, Data: b.Data})
	}
}

func (f *folder) mark(item TranscriptItem) { f.t.Items = append(f.t.Items, item) }

func (f *folder) message(c Commit, m message.Message) {
	switch m := m.(type) {
	case message.User:
		// The model is not sent a blank message either.
		if !message.Blank(m.Content) {
			f.mark(Turn{ID: c.OID, Outcome: TurnOpen, StartedAt: c.Commit.At, Parts: []TranscriptPart{UserPart{
				ID: "user:" + c.OID.String(), Content: m.Content, At: c.Commit.At,
				Change: c.Commit.Change, Key: c.Commit.Key, Author: c.Commit.Author,
			}}})
		}
	case message.Assistant:
		f.assistant(c, m)
	case message.ToolResult:
		f.result(c, m)
	}
}

func (f *folder) assistant(c Commit, m message.Assistant) {
	f.t.batch++
	parts := assistantParts(c.OID, m)
	outcome := outcomeOf(m)
	i := f.turn(c, parts)
	if i < 0 {
		return
	}
	turn, _ := f.t.Items[i].(Turn)
	first := len(turn.Parts) - len(parts)
	for j, p := range parts {
		if p, ok := p.(ToolPart); ok {
			f.t.open = append(f.t.open, openCall{id: p.CallID, batch: f.t.batch, item: i, part: first + j})
		}
	}
	turn.Outcome = outcome
	f.t.Items[i] = turn
}

func assistantParts(oid object.OID, m message.Assistant) []TranscriptPart {
	var parts []TranscriptPart
	for i, p := range m.Content {
		id := ":" + oid.String() + ":" + strconv.Itoa(i)
		switch p := p.(type) {
		case message.Text:
			if strings.TrimSpace(p.Text) != "" {
				parts = append(parts, AssistantPart{ID: "assistant" + id, Text: p.Text})
			}
		case message.Thinking:
			if strings.TrimSpace(p.Thinking) != "" {
				parts = append(parts, ThinkingPart{ID: "thinking" + id, Text: p.Thinking})
			}
		case message.ToolCall:
			parts = append(parts, ToolPart{ID: "tool:" + p.ID, CallID: p.ID, Tool: p.Name, Args: p.Arguments})
		}
	}
	if strings.TrimSpace(m.ErrorMessage) != "" {
		parts = append(parts, NotePart{ID: "note:" + oid.String(), Text: m.ErrorMessage})
	}
	return parts
}

func outcomeOf(m message.Assistant) TurnOutcome {
	switch m.StopReason {
	case message.StopError:
		return TurnFailed
	case message.StopAborted:
		return TurnAborted
	case message.StopPending, message.StopDeferred:
		return TurnOpen
	case message.StopEnd, message.StopLength, message.StopToolUse:
	}
	if len(m.Calls()) > 0 {
		return TurnOpen
	}
	return TurnDone
}

// turn adds parts to the newest turn and returns its index. Without one it starts a turn, unless there is nothing to draw: then
// it returns -1.
func (f *folder) turn(c Commit, parts []TranscriptPart) int {
	for i, item := range slices.Backward(f.t.Items) {
		if t, ok := item.(Turn); ok {
			if f.shared && len(parts) > 0 {
				t.Parts = slices.Clone(t.Parts)
			}
			t.Parts = append(t.Parts, parts...)
			f.t.Items[i] = t.lasting(c.Commit.At)
			return i
		}
	}
	if len(parts) == 0 {
		return -1
	}
	f.mark(Turn{ID: c.OID, Outcome: TurnOpen, StartedAt: c.Commit.At, Parts: parts})
	return len(f.t.Items) - 1
}

func (t Turn) lasting(to object.Millis) Turn {
	t.DurationMS = max(t.DurationMS, int64(to-t.StartedAt))
	return t
}

// result pairs r with the first unanswered call of its id in the newest response that has one: providers repeat ids, within a response
// and between them. A result without a call stands alone.
func (f *folder) result(c Commit, r message.ToolResult) {
	at := -1
	for i, o := range f.t.open {
		if o.id == r.ToolCallID && (at < 0 || o.batch > f.t.open[at].batch) {
			at = i
		}
	}
	if at < 0 {
		f.turn(c, []TranscriptPart{ToolPart{ID: "tool:" + r.ToolCallID, CallID: r.ToolCallID, Tool: r.ToolName, Result: &r}})
		return
	}
	call := f.t.open[at]
	f.t.open = slices.Delete(f.t.open, at, at+1)
	turn, _ := f.t.Items[call.item].(Turn)
	if f.shared {
		turn.Parts = slices.Clone(turn.Parts)
	}
	part, _ := turn.Parts[call.part].(ToolPart)
	part.Result = &r
	turn.Parts[call.part] = part
	f.t.Items[call.item] = turn.lasting(c.Commit.At)
}
