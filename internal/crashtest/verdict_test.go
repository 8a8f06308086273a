package crashtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// A record is what a session and the log of tool runs say at the end.
type record struct {
	lines    []string       // the messages of the branch as they were committed, marks taken off
	runs     map[string]int // executions, by tool and user message
	reasons  map[string]int // compare-and-swaps of participants and runners, by ref and reason
	events   []store.Event
	problems []string
}

// examine reads the session of dir, whose head must be at rest.
func examine(ctx context.Context, dir string) (*record, error) {
	file, err := openFile(ctx, dir, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if err := file.IntegrityCheck(ctx); err != nil {
		return nil, err
	}
	opened, err := file.OpenSession(ctx, store.SessionID(session))
	if err != nil {
		return nil, err
	}
	s := kernel.New(opened, nil)
	defer func() { _ = s.Close() }()
	r := &record{reasons: make(map[string]int)}
	problems, err := kernel.Check(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		r.problem("%v", p)
	}
	for _, read := range []func(context.Context, *kernel.Session) error{r.readBranch, r.readRest, r.readEvents} {
		if err := read(ctx, s); err != nil {
			return nil, err
		}
	}
	r.runs, err = runsOf(dir)
	return r, err
}

func (r *record) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// readBranch takes the commits themselves, not the view of them that fills gaps for a model.
func (r *record) readBranch(ctx context.Context, s *kernel.Session) error {
	oids, err := s.ReadRefs(ctx, ref.Head(sdk.DefaultHead))
	if err != nil {
		return err
	}
	commits, err := view.Branch(ctx, s, oids[0], 0)
	if err != nil {
		return err
	}
	for _, c := range commits {
		if body, ok := c.Commit.Body.(object.MessageBody); ok {
			r.lines = append(r.lines, line(body.Message))
		}
	}
	return nil
}

func line(m message.Message) string {
	switch m := m.(type) {
	case message.User:
		return "user: " + message.PlainText(m.Content)
	case message.ToolResult:
		return m.ToolName + ": " + message.PlainText(m.Content)
	case message.Assistant:
		text, calls := "", ""
		for _, p := range m.Content {
			switch p := p.(type) {
			case message.Text:
				text += unmarked(p.Text)
			case message.ToolCall:
				calls += " " + p.Name
			case message.Thinking:
			}
		}
		if calls != "" {
			text += " calls" + calls
		}
		return "assistant: " + text
	}
	panic("unreachable")
}

// readRest sees that nothing is left to do: no open call, no pending change, no run that is not done.
func (r *record) readRest(ctx context.Context, s *kernel.Session) error {
	effects, err := s.ListRefs(ctx, ref.Effects)
	if err != nil {
		return err
	}
	for _, e := range effects {
		r.problem("%s is still there", e.Name)
	}
	pending, err := s.Pending(ctx, sdk.DefaultHead)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		r.problem("%d messages are still pending", len(pending))
	}
	run, ok, err := s.CurrentRun(ctx, sdk.DefaultHead)
	if err != nil {
		return err
	}
	if _, done := run.Run.Phase.(object.Done); !ok || !done {
		r.problem("the run ended %s, want it done", object.PhaseName(run.Run.Phase))
	}
	return nil
}

// readEvents sees that the deltas of one attempt come from one response: each carries the mark of its own.
func (r *record) readEvents(ctx context.Context, s *kernel.Session) (err error) {
	type attempt struct {
		run string
		n   int
	}
	mark := make(map[attempt]string)
	for after := store.Seq(0); ; after = r.events[len(r.events)-1].Seq {
		page, err := s.ReadEvents(ctx, after, store.DefaultPage)
		if err != nil || len(page) == 0 {
			return err
		}
		r.events = append(r.events, page...)
		for _, e := range page {
			switch b := e.Body.(type) {
			case store.RefEvent:
				parsed, err := ref.Parse(b.Name)
				if err != nil {
					return err
				}
				r.reasons[fmt.Sprintf("%T %s", parsed, b.Reason)]++
			case store.DeltaEvent:
				key := attempt{b.RunID, b.Attempt}
				for _, m := range marks.FindAllString(b.Delta, -1) {
					if mark[key] == "" {
						mark[key] = m
					}
					if mark[key] != m {
						r.problem("attempt %d of run %s streamed two responses, %s and %s", b.Attempt, b.RunID, mark[key], m)
					}
				}
			case store.ProgressEvent, store.NoticeEvent:
			}
		}
	}
}

// paid is what the tool pay says, or nobody knows whether it would have.
const paid = "paid"

// judge compares r with what the scene must have come to.
func (r *record) judge(s scene) (outcome string) {
	for _, result := range []string{paid, view.Interrupted} {
		if slices.Equal(r.lines, s.lines(result)) {
			outcome = result
		}
	}
	runs := r.runs["pay 1"]
	switch {
	case outcome == "":
		r.problem("the branch says\n\t%s\nwant\n\t%s", strings.Join(r.lines, "\n\t"), strings.Join(s.lines(paid), "\n\t"))
	case runs > 1:
		r.problem("the tool that must not run twice ran %d times", runs)
	case outcome == paid && runs != 1:
		r.problem("the tool's result was recorded and it ran %d times", runs)
	}
	if strings.Contains(s.text, "look") && r.runs["look 1"] < 1 {
		r.problem("the tool that may run again ran %d times", r.runs["look 1"])
	}
	if n := r.reasons["ref.QueueRef submit"]; n != 1 {
		r.problem("%d changes were submitted, want 1", n)
	}
	if n := r.reasons["ref.EffectRef signal"]; strings.Contains(s.text, "ask") && n != 1 {
		r.problem("%d answers were accepted, want 1", n)
	}
	return outcome
}
