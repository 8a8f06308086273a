package wake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

const now = 1_000_000 // milliseconds

// A host is a session whose mark, leases and heads are said by a test, and remembers what it was asked.
type host struct {
	at      object.Millis
	held    map[string]object.Millis // by head
	looks   api.Attention
	outcome api.StepOutcome
	err     error
	asked   []string
}

func (h *host) Host(context.Context, string) (wake.Host, error) { return h, nil }

func (h *host) Step(_ context.Context, o api.HeadOptions) (api.StepOutcome, error) {
	h.asked = append(h.asked, "step "+o.Head)
	return h.outcome, h.err
}

func (h *host) Look(context.Context, api.SessionOptions) (api.Attention, error) {
	h.asked = append(h.asked, "look")
	return h.looks, nil
}

func (h *host) Mark(_ context.Context, _ api.SessionID, head string) (wake.Mark, error) {
	m := wake.Mark{At: h.at}
	for name, until := range h.held {
		if head == "" || head == name {
			m.HeldUntil = max(m.HeldUntil, until)
		}
	}
	return m, nil
}

func (h *host) Settle(_ context.Context, _ api.SessionID, seq int64, at object.Millis) (bool, error) {
	h.asked = append(h.asked, fmt.Sprintf("settle %d at %d", seq, at))
	return true, nil
}

// A log takes every message as a line: where to, after how long, for which head.
type log struct{ lines []string }

type sender struct {
	to  *log
	who string
}

func (s sender) Send(_ context.Context, body []byte, delay time.Duration) error {
	m, err := wake.ParseMessage(body)
	line := fmt.Sprintf("%s +%v %s", s.who, delay, m.Head)
	if m.Watch {
		line += " watch"
	}
	s.to.lines = append(s.to.lines, strings.TrimSpace(line))
	return err
}

func (s sender) At(_ context.Context, _ string, at time.Time, body []byte) error {
	m, err := wake.ParseMessage(body)
	s.to.lines = append(s.to.lines, strings.TrimSpace(fmt.Sprintf("schedule at %d %s", at.UnixMilli(), m.Head)))
	return err
}

func waker(l *log, off ...wake.Path) *wake.Waker {
	w := &wake.Waker{
		Steps: sender{l, "steps"}, Alarms: sender{l, "alarms"}, Schedules: sender{l, ""}, Margin: 500 * time.Millisecond, Off: make(wake.Paths),
		Now: func() time.Time { return time.UnixMilli(now) }, Logger: slog.New(slog.DiscardHandler),
		Sleep: func(_ context.Context, d time.Duration) error {
			l.lines = append(l.lines, "sleep "+d.String())
			return nil
		},
	}
	for _, p := range off {
		w.Off[p] = true
	}
	return w
}

// What an alarm does with a message depends on the session and on nothing that the message says.
func TestAlarm(t *testing.T) {
	ready := api.Attention{Seq: 7, Ready: []string{"main", "side"}}
	for name, tc := range map[string]struct {
		host  host
		m     wake.Message
		asked []string
		sent  []string
	}{
		"nothing is marked": {host: host{looks: ready}},
		"it is due":         {host: host{at: now - 1, looks: ready}, asked: []string{"look"}, sent: []string{"steps +0s main", "steps +0s side"}},
		"it is due later":   {host: host{at: now + 60_000, looks: ready}},
		"it is due soon":    {host: host{at: now + 3_000, looks: ready}, m: wake.Message{Head: "main"}, sent: []string{"alarms +3.5s main"}},
		"nothing can go on": {
			host: host{at: now, looks: api.Attention{Seq: 7, Next: now + 9}}, asked: []string{"look", fmt.Sprintf("settle 7 at %d", now+9)},
		},
		"somebody advances it":        {host: host{at: now, looks: api.Attention{Seq: 7, Held: []string{"main"}}}, asked: []string{"look"}},
		"its head is held":            {host: host{at: now, held: map[string]object.Millis{"main": now + 9_000}, looks: ready}, m: wake.Message{Head: "main"}},
		"another head is held":        {host: host{at: now, held: map[string]object.Millis{"side": now + 9_000}, looks: ready}, m: wake.Message{Head: "main"}, asked: []string{"look"}, sent: []string{"steps +0s main", "steps +0s side"}},
		"any head is held":            {host: host{at: now, held: map[string]object.Millis{"side": now + 9_000}, looks: ready}},
		"a watchdog finds it held":    {host: host{at: now, held: map[string]object.Millis{"main": now + 9_000}, looks: ready}, m: wake.Message{Head: "main", Watch: true}, sent: []string{"alarms +9s main watch"}},
		"a watchdog is a bit early":   {host: host{at: now, held: map[string]object.Millis{"main": now + 700}, looks: ready}, m: wake.Message{Head: "main", Watch: true}, asked: []string{"look"}, sent: []string{"sleep 1.2s", "steps +0s main", "steps +0s side"}},
		"a watchdog finds it at rest": {host: host{}, m: wake.Message{Head: "main", Watch: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			h := tc.host
			tc.m.Session = "s"
			if err := (&wake.Alarm{Hosts: &h, Waker: waker(&l)}).Look(t.Context(), tc.m); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(h.asked, tc.asked) || !slices.Equal(l.lines, tc.sent) {
				t.Errorf("it asks %q and sends %q; want %q and %q", h.asked, l.lines, tc.asked, tc.sent)
			}
		})
	}
}

// A sweep also looks where some head is held, since its holder arranges nothing for the others, and goes on after a session that fails.
func TestSweep(t *testing.T) {
	var l log
	h := host{at: now, held: map[string]object.Millis{"side": now + 9_000}, looks: api.Attention{Ready: []string{"main"}, Held: []string{"side"}}}
	a := &wake.Alarm{Hosts: &h, Waker: waker(&l), Due: func(context.Context, object.Millis) ([]wake.Message, error) {
		return []wake.Message{{Session: "s"}, {Session: "t"}}, nil
	}}
	if err := a.Sweep(t.Context()); err != nil || !slices.Equal(l.lines, []string{"steps +0s main", "steps +0s main"}) {
		t.Errorf("it sends %q, %v", l.lines, err)
	}
	a.Waker.Off[wake.Sweep] = true
	if l.lines = nil; a.Sweep(t.Context()) != nil || l.lines != nil {
		t.Errorf("switched off, it sends %q", l.lines)
	}
}

// A step arranges the next entry before it returns.
func TestStepper(t *testing.T) {
	away := errors.New("the store is away")
	for name, tc := range map[string]struct {
		host  host
		check bool
		asked []string
		sent  []string
		fails bool
	}{
		"more to do":        {host: host{outcome: api.Continue{}}, asked: []string{"step main"}, sent: []string{"steps +0s main"}},
		"a near retry":      {host: host{outcome: api.Retry{At: now + 2_000}}, asked: []string{"step main"}, sent: []string{"alarms +2.5s main", fmt.Sprintf("schedule at %d main", now+2_000)}},
		"a far retry":       {host: host{outcome: api.Retry{At: now + 3_600_000}}, asked: []string{"step main"}, sent: []string{fmt.Sprintf("schedule at %d main", now+3_600_000)}},
		"a retry now":       {host: host{outcome: api.Retry{At: now}}, asked: []string{"step main"}, sent: []string{"alarms +500ms main"}},
		"somebody is there": {host: host{outcome: api.StepBusy{ExpiresAt: now + 5_000}}, asked: []string{"step main"}, sent: []string{"alarms +5s main watch"}},
		"taken over":        {host: host{outcome: api.Fenced{}}, asked: []string{"step main"}},
		"a wait": {
			host:  host{outcome: api.StepWaiting{Until: now + 60_000}, looks: api.Attention{Seq: 9, Next: now + 60_000}},
			asked: []string{"step main", "look", fmt.Sprintf("settle 9 at %d", now+60_000)},
			sent:  []string{"alarms +1m0.5s main", fmt.Sprintf("schedule at %d main", now+60_000)},
		},
		"the end":               {host: host{outcome: api.Finished{}, looks: api.Attention{Seq: 9}}, asked: []string{"step main", "look", "settle 9 at 0"}},
		"the end, others ready": {host: host{outcome: api.Finished{}, looks: api.Attention{Ready: []string{"side"}}}, asked: []string{"step main", "look"}, sent: []string{"steps +0s side"}},
		"the store is away":     {host: host{err: away}, asked: []string{"step main"}, fails: true},
		"the session is gone":   {host: host{err: api.ErrSessionNotFound}, asked: []string{"step main"}, fails: true},
		"a second look, needed": {host: host{at: now, outcome: api.Fenced{}}, check: true, asked: []string{"step main"}},
		"a second look, held":   {host: host{at: now, held: map[string]object.Millis{"main": now + 1}}, check: true},
		"a second look, done":   {host: host{}, check: true},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			h := tc.host
			s := &wake.Stepper{Hosts: &h, Waker: waker(&l), Steps: 1}
			err := s.Handle(t.Context(), wake.Message{Session: "s", Head: "main", Check: tc.check})
			if (err != nil) != tc.fails || !slices.Equal(h.asked, tc.asked) || !slices.Equal(l.lines, tc.sent) {
				t.Errorf("it asks %q and sends %q, %v; want %q and %q", h.asked, l.lines, err, tc.asked, tc.sent)
			}
		})
	}
}

// Several steps in one invocation are allowed while there is time, and arrange what one would.
func TestStepper_severalSteps(t *testing.T) {
	var l log
	h := host{outcome: api.Continue{}}
	s := &wake.Stepper{Hosts: &h, Waker: waker(&l), Steps: 3, Least: time.Minute}
	if err := s.Handle(t.Context(), wake.Message{Session: "s", Head: "main"}); err != nil || len(h.asked) != 3 || !slices.Equal(l.lines, []string{"steps +0s main"}) {
		t.Errorf("%q and %q, %v", h.asked, l.lines, err)
	}
	h.asked, l.lines = nil, nil
	ctx, cancel := context.WithDeadline(t.Context(), time.UnixMilli(now).Add(30*time.Second))
	defer cancel()
	if _ = s.Handle(ctx, wake.Message{Session: "s", Head: "main"}); len(h.asked) != 1 {
		t.Errorf("without time for another step it takes %q", h.asked)
	}
}
