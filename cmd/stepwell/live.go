package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A live shows events to people as they come.
type live struct {
	w     io.Writer
	style style
	head  string              // only this head is shown; empty: all
	mine  map[object.OID]bool // changes that were sent from here; true: they need no echo either
	err   error               // the first failure to write

	heads    map[string]string // of runs, by run id
	streamed map[string]bool   // runs whose current answer has been shown as it came
	parked   map[string]bool   // calls that were shown as waiting
	open     string            // what the cursor stands behind: the key of an unfinished part
}

func newLive(w io.Writer, st style, head string) *live {
	return &live{
		w: w, style: st, head: head, mine: map[object.OID]bool{},
		heads: map[string]string{}, streamed: map[string]bool{}, parked: map[string]bool{},
	}
}

// join tells of a run that is under way when the watch begins.
func (l *live) join(run *api.RunInfo) {
	if run != nil && !object.Terminal(run.Phase) {
		l.heads[run.RunID] = run.Head
	}
}

func (l *live) hidden(head string) bool { return l.head != "" && head != "" && head != l.head }

// show writes one event.
func (l *live) show(e api.Event) error {
	switch b := e.Body.(type) {
	case api.TextDeltaEvent:
		l.delta(b.RunID, fmt.Sprintf("text/%s/%d/%d", b.RunID, b.Attempt, b.Index), "", b.Delta, false)
	case api.ReasoningDeltaEvent:
		l.delta(b.RunID, fmt.Sprintf("thinking/%s/%d/%d", b.RunID, b.Attempt, b.Index), "~ ", b.Delta, true)
	case api.CommitEvent:
		if !l.hidden(b.Head) {
			l.commit(b.Item)
		}
	case api.RunEvent:
		l.heads[b.Run.RunID] = b.Head
		if !l.hidden(b.Head) {
			l.run(b.Run)
		}
	case api.EffectEvent:
		if !l.hidden(l.heads[b.RunID]) {
			l.effect(b)
		}
	case api.ToolProgressEvent:
		if !l.hidden(l.heads[b.RunID]) {
			l.line(l.style.dim("  · " + oneLine(firstOf(b.Progress.Text, b.Progress.Title), 200)))
		}
	case api.QueuedEvent:
		if _, mine := l.mine[b.Item.Change]; !mine && !l.hidden(b.Head) {
			l.line(l.style.dim(fmt.Sprintf("+ queued %s in %s by %s: %s", b.Item.Change.Short(), b.Item.Lane, who(b.Item.Author),
				oneLine(plain(b.Item.Content), 200))))
		}
	case api.QueueCancelledEvent:
		l.line(l.style.dim("- withdrawn " + b.Change.Short()))
	case api.HeadMovedEvent:
		if !l.hidden(b.Head) && b.To.IsZero() {
			l.line(l.style.dim(fmt.Sprintf("= %s is empty now (%s)", b.Head, oneLine(b.Reason, 60))))
		} else if !l.hidden(b.Head) && manual(b.Reason) {
			l.line(l.style.dim(fmt.Sprintf("= %s is at %s now (%s)", b.Head, b.To.Short(), oneLine(b.Reason, 60))))
		}
	case api.DiagnosticEvent:
		l.line(l.style.dim(fmt.Sprintf("! %s: %s", oneLine(b.Owner, 60), oneLine(b.Message, 500))))
	case api.DeletedEvent:
		l.line("The session is being deleted.")
	case api.LandedEvent, api.StackEvent, api.FactEvent, api.SyncedEvent, api.UnknownEvent:
	}
	return l.err
}

// manual reports whether a participant moved the head, rather than a run that writes.
func manual(reason string) bool {
	return strings.HasPrefix(reason, "move") || strings.HasPrefix(reason, "merge")
}

func (l *live) delta(run, key, mark, text string, dim bool) {
	if l.hidden(l.heads[run]) {
		return
	}
	if l.open != key {
		l.end()
		l.print(l.paint(mark, dim))
		l.open = key
	}
	l.streamed[run] = l.streamed[run] || !dim
	l.print(l.paint(printable(text), dim))
}

func (l *live) paint(text string, dim bool) string {
	if dim {
		return l.style.dim(text)
	}
	return text
}

func (l *live) commit(item api.CommitItem) {
	switch b := item.Commit.Body.(type) {
	case object.MessageBody:
		l.message(item, b.Message)
	case object.CheckpointBody:
		l.line(l.style.dim("= the model's context starts anew here"))
	case object.SummaryBody:
		l.line(l.style.dim("= summary: " + oneLine(b.Text, 500)))
	case object.ConfigBody:
		l.line(l.style.dim("= configured: " + configText(object.Config(b))))
	case object.NoteBody:
	}
}

func (l *live) message(item api.CommitItem, m message.Message) {
	run := item.Commit.Run
	switch m := m.(type) {
	case message.User:
		if !l.mine[item.Commit.Change] {
			l.line(l.style.bold(who(item.Commit.Author)+": ") + plain(m.Content))
		}
	case message.Assistant:
		if !l.streamed[run] {
			for _, p := range m.Content {
				if t, ok := p.(message.Text); ok {
					l.line(printable(t.Text))
				}
			}
		}
		l.end()
		delete(l.streamed, run)
		switch m.StopReason {
		case message.StopError:
			l.line(l.style.red("✗ " + oneLine(firstOf(m.ErrorMessage, "the model failed"), 500)))
		case message.StopAborted:
			l.line(l.style.dim("✗ stopped"))
		case message.StopLength:
			l.line(l.style.dim("✗ cut at the output limit"))
		case message.StopPending, message.StopEnd, message.StopToolUse, message.StopDeferred:
		}
	case message.ToolResult:
		mark := "←"
		if m.IsError {
			mark = l.style.red("✗")
		}
		l.line(fmt.Sprintf("  %s %s: %s", mark, oneLine(m.ToolName, 64), oneLine(plain(m.Content), 500)))
	}
}

func (l *live) run(r api.RunInfo) {
	switch p := r.Phase.(type) {
	case object.Retry:
		l.line(l.style.dim("↻ " + phase(p)))
		delete(l.streamed, r.RunID)
	case object.Failed:
		l.line(l.style.red("✗ the run " + phase(p)))
	case object.Aborted:
		l.line(l.style.dim("✗ the run was aborted"))
	case object.Respond, object.Tools, object.WaitingPhase, object.Done:
	}
}

func (l *live) effect(e api.EffectEvent) {
	key := e.RunID + "/" + e.CallID
	switch e.State {
	case api.EffectIntent:
		l.line(fmt.Sprintf("  → %s %s", oneLine(e.Tool, 64), l.style.dim(oneLine(string(e.Args), 120))))
	case api.EffectWaiting:
		l.end()
		l.parked[key] = true
		l.fail(writeQuestion(l.w, l.style, parkedCall(e)))
	case api.EffectExpired:
		l.line(l.style.dim("  · " + oneLine(e.Tool, 64) + ": the time to answer is over"))
	case api.EffectSignal:
		l.line(l.style.dim("  · " + oneLine(e.Tool, 64) + ": answered"))
	case api.EffectResult:
		delete(l.parked, key)
	}
}

func parkedCall(e api.EffectEvent) api.ParkedCall {
	return api.ParkedCall{
		RunID: e.RunID, CallID: e.CallID, WaitID: e.WaitID, Tool: e.Tool, Args: e.Args, Selection: e.Selection, Until: e.Until,
	}
}

func configText(c object.Config) string {
	var parts []string
	if c.Model != nil {
		parts = append(parts, "model "+strings.TrimPrefix(c.Model.Provider+"/"+c.Model.ID, "/"))
	}
	if c.ThinkingLevel != "" {
		parts = append(parts, "thinking "+c.ThinkingLevel)
	}
	if c.Agent != "" {
		parts = append(parts, "agent "+c.Agent)
	}
	return oneLine(strings.Join(parts, ", "), 200)
}

// end finishes a part that streams, so that the next thing starts on a line of its own.
func (l *live) end() {
	if l.open != "" {
		l.print("\n")
	}
	l.open = ""
}

func (l *live) line(text string) {
	l.end()
	l.print(text + "\n")
}

func (l *live) print(text string) {
	_, err := io.WriteString(l.w, text)
	l.fail(err)
}

func (l *live) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}
