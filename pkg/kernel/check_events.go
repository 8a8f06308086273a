package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// readEvents reads the retained stream, which has no gap.
func (c *checker) readEvents(ctx context.Context) (err error) {
	if c.floor, err = c.r.Floor(ctx); err != nil {
		return err
	}
	if c.last, err = c.r.LastSeq(ctx); err != nil {
		return err
	}
	size := store.DefaultPage
	for at := c.floor; at < c.last; {
		page, err := c.r.ReadEvents(ctx, at, size)
		if err != nil && size > 1 {
			size = 1 // find the event that is damaged
			continue
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknownSession) {
				return err
			}
			c.problem(35, eventName(at+1), "the stream cannot be read on from here: %v", err)
			return nil
		}
		if len(page) == 0 {
			c.problem(35, eventName(at+1), "the stream ends before its last event %d", c.last)
			return nil
		}
		for _, e := range page {
			if e.Seq != at+1 {
				c.problem(35, eventName(e.Seq), "it follows event %d", at)
			}
			at = e.Seq
			c.events = append(c.events, e)
		}
	}
	return nil
}

func eventName(seq store.Seq) string { return fmt.Sprintf("event %d", seq) }

// whole reports whether the stream was never trimmed and could be read.
func (c *checker) whole() bool {
	return c.floor == 0 && store.Seq(len(c.events)) == c.last
}

// checkReplay plays the ref events: each goes on from where the one before left its ref (invariants 6 and 35), and they end where the refs are.
func (c *checker) checkReplay() {
	at := make(map[ref.Name]object.OID)
	for _, e := range c.events {
		r, ok := e.Body.(store.RefEvent)
		if !ok {
			continue
		}
		was, known := at[r.Name]
		if (known || c.floor == 0) && was != r.From {
			c.problem(6, eventName(e.Seq), "it moves %s from %s, which was at %s", r.Name, name(r.From), name(was))
		}
		if r.From == r.To {
			c.problem(35, eventName(e.Seq), "it moves %s nowhere", r.Name)
		}
		at[r.Name] = r.To
	}
	if store.Seq(len(c.events)) != c.last-c.floor {
		return // reported; the rest would follow from it
	}
	for n, oid := range at {
		if c.oids[n] != oid {
			c.problem(35, string(n), "it is at %s, and its last event says %s", name(c.oids[n]), name(oid))
		}
	}
	for n := range c.oids {
		if _, told := at[n]; !told && c.floor == 0 {
			c.problem(35, string(n), "no event tells how it came to be")
		}
	}
}

func name(oid object.OID) string {
	if oid.IsZero() {
		return "absent"
	}
	return oid.String()
}

// A deltaKey is what a piece of a streaming message is known by.
type deltaKey struct {
	run     string
	attempt int
	index   int
}

// An attemptKey is one response of a run.
type attemptKey struct {
	run     string
	attempt int
}

// checkDeltas compares what streamed with what was committed (invariant 39). It takes the whole stream, and leaves out attempts whose
// publish says that pieces were lost.
func (c *checker) checkDeltas() {
	if !c.whole() {
		return
	}
	remarks := make(map[store.NoticeEvent]bool)
	for _, e := range c.events {
		if n, ok := e.Body.(store.NoticeEvent); ok {
			remarks[n] = true
		}
	}
	streamed := make(map[deltaKey]string)
	indexes := make(map[attemptKey]int) // one more than the highest index of an attempt
	committed := make(map[attemptKey]bool)
	for i, e := range c.events {
		switch b := e.Body.(type) {
		case store.DeltaEvent:
			key := attemptKey{b.RunID, b.Attempt}
			if committed[key] {
				c.problem(39, eventName(e.Seq), "a delta of run %s, attempt %d, comes after its message", b.RunID, b.Attempt)
			}
			streamed[deltaKey{b.RunID, b.Attempt, b.Index}] += b.Delta
			indexes[key] = max(indexes[key], b.Index+1)
		case store.RefEvent:
			if i == 0 {
				continue
			}
			key, m, ok := c.response(c.events[i-1], b)
			if ok && indexes[key] > 0 && !remarks[lostPieces(key.run, key.attempt)] {
				c.compare(e.Seq, key, m, streamed, indexes[key])
			}
			if ok {
				committed[key] = true
			}
		case store.ProgressEvent, store.NoticeEvent:
		}
	}
}

// response returns the message that a publish committed: the head's event, and behind it the run's, which counts one more attempt.
func (c *checker) response(head store.Event, run store.RefEvent) (attemptKey, message.Assistant, bool) {
	h, ok := head.Body.(store.RefEvent)
	to, isRun := c.objects[run.To].(object.Run)
	from, wasRun := c.objects[run.From].(object.Run)
	if !ok || !isRun || !wasRun || h.Name != ref.Head(to.Head) || to.ID != from.ID || to.Attempts != from.Attempts+1 {
		return attemptKey{}, message.Assistant{}, false
	}
	commit, _ := c.objects[h.To].(object.Commit)
	body, _ := commit.Body.(object.MessageBody)
	m, ok := body.Message.(message.Assistant)
	return attemptKey{to.ID, to.Attempts}, m, ok && commit.Run == to.ID && commit.Parent == h.From
}

func (c *checker) compare(seq store.Seq, key attemptKey, m message.Assistant, streamed map[deltaKey]string, indexes int) {
	for i := range max(indexes, len(m.Content)) {
		want := ""
		if i < len(m.Content) {
			switch p := m.Content[i].(type) {
			case message.Text:
				want = p.Text
			case message.Thinking:
				want = p.Thinking
			case message.ToolCall:
			}
		}
		got := streamed[deltaKey{key.run, key.attempt, i}]
		if cut := m.StopReason == message.StopAborted || m.StopReason == message.StopError; cut && (strings.HasPrefix(got, want) || strings.HasPrefix(want, got)) {
			continue // the message ended between what was streamed and what was kept
		}
		if got != want {
			c.problem(39, eventName(seq), "run %s, attempt %d, part %d: %q was streamed and %q committed", key.run, key.attempt, i, brief(got), brief(want))
		}
	}
}

func brief(s string) string {
	if len(s) <= 60 {
		return s
	}
	return s[:60] + "…"
}

// runnerReason reports whether a reflog line is of a runner's publish alone: an abort is a participant's too.
func runnerReason(reason string) bool {
	switch reason {
	case "land", "agent changed", "resolve config", "respond", "checkpoint", "tools", "wait", "done", "fail", "interrupt", "superseded", "effect", "expired",
		"takeover":
		return true
	}
	return false
}

// checkDeleted sees that no runner published after the deletion began (invariant 35).
func (c *checker) checkDeleted() {
	deleted := false
	for _, e := range c.events {
		r, ok := e.Body.(store.RefEvent)
		switch {
		case !ok:
		case r.Name == ref.Deleted:
			deleted = !r.To.IsZero()
		case deleted && runnerReason(r.Reason):
			c.problem(35, eventName(e.Seq), "a runner moved %s (%s) after the deletion began", r.Name, r.Reason)
		}
	}
}
