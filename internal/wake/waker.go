package wake

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A Sender puts messages into a queue, to be received after a delay of at most [MaxDelay].
type Sender interface {
	Send(ctx context.Context, body []byte, delay time.Duration) error
}

// A Scheduler delivers a message to an alarm at a time. A later call for the same name replaces the one before.
type Scheduler interface {
	At(ctx context.Context, name string, at time.Time, body []byte) error
}

const (
	// MaxDelay is the longest delay of a queue (SQS).
	MaxDelay = 15 * time.Minute
)

// A Waker sends what wakes heads. What it cannot send is logged and lost: the mark on the session stays, and the next sweep finds it.
type Waker struct {
	Steps, Alarms Sender
	Schedules     Scheduler
	Margin        time.Duration // how long after its expiry a lease still holds others off
	Off           Paths         // paths that are not used
	Now           func() time.Time
	Sleep         func(context.Context, time.Duration) error
	Logger        *slog.Logger
}

// Step has a head stepped soon.
func (w *Waker) Step(ctx context.Context, m Message) {
	if w.Off[Queue] {
		return
	}
	w.send(ctx, w.Steps, m, 0)
}

// Enqueue is Step for whoever was told to look by another path.
func (w *Waker) Enqueue(ctx context.Context, m Message) error {
	m.Check = true
	body, err := m.encode()
	if err != nil {
		return err
	}
	if err := w.Steps.Send(ctx, body, 0); err != nil {
		return fmt.Errorf("queueing a step of session %s: %w", m.Session, err)
	}
	return nil
}

// Deadline has a head looked at when its deadline comes: by a schedule, which keeps any time within a minute, and by a delayed message, which is exact
// and reaches a quarter of an hour.
func (w *Waker) Deadline(ctx context.Context, m Message, at object.Millis) {
	if w.Off[Schedule] || at == 0 {
		return
	}
	due := time.UnixMilli(int64(at))
	switch left := due.Sub(w.Now()); {
	case left <= 0:
		w.Later(ctx, m, at)
		return
	case left < MaxDelay-w.Margin:
		w.Later(ctx, m, at)
	}
	body, err := m.encode()
	if err == nil {
		err = w.Schedules.At(ctx, scheduleName(m), due, body)
	}
	w.lost(ctx, "schedule", m, err)
}

// Later has a head looked at at a time that is near.
func (w *Waker) Later(ctx context.Context, m Message, at object.Millis) {
	if !w.Off[Schedule] {
		w.send(ctx, w.Alarms, m, max(w.left(at), 0))
	}
}

// Watch has a head looked at once whoever holds it would have lost it.
func (w *Waker) Watch(ctx context.Context, m Message, until object.Millis) {
	if w.Off[Watchdog] {
		return
	}
	m.Watch = true
	w.send(ctx, w.Alarms, m, min(max(w.left(until), 0), MaxDelay).Truncate(time.Second)) // early rather than late: it is waited for then
}

// left returns how long it is until a time has surely come by every clock.
func (w *Waker) left(until object.Millis) time.Duration {
	return time.UnixMilli(int64(until)).Add(w.Margin).Sub(w.Now())
}

func (w *Waker) send(ctx context.Context, to Sender, m Message, delay time.Duration) {
	body, err := m.encode()
	if err == nil {
		err = to.Send(ctx, body, delay)
	}
	w.lost(ctx, "message", m, err)
}

func (w *Waker) lost(ctx context.Context, what string, m Message, err error) {
	if err != nil {
		w.Logger.LogAttrs(ctx, slog.LevelError, "a wake-up was not sent; the next sweep makes up for it", slog.String("what", what),
			slog.String("tenant", m.Tenant), slog.String("session", string(m.Session)), slog.String("head", m.Head), slog.Any("error", err))
	}
}
