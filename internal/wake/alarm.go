package wake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// patience is how long an alarm waits for a lease to expire: delays are whole seconds.
const patience = 1500 * time.Millisecond

// soon is how much too early a message about a deadline may come and be sent back for it, in milliseconds.
const soon = 15_000

// An Alarm turns whatever says that a session may want something into steps of the heads that can go on. It steps nothing itself.
type Alarm struct {
	Hosts Hosts
	Waker *Waker
	// Due returns sessions of any tenant that are marked by now.
	Due func(ctx context.Context, now object.Millis) ([]Message, error)
}

// Look looks at the session of a message and queues steps of the heads that can go on.
func (a *Alarm) Look(ctx context.Context, m Message) error { return a.visit(ctx, m, false) }

// visit is Look. Whoever sweeps also looks at a session of which some head is held: the holder arranges what comes next for its own head alone.
func (a *Alarm) visit(ctx context.Context, m Message, sweeping bool) error {
	err := a.look(ctx, m, sweeping)
	if errors.Is(err, api.ErrSessionNotFound) {
		return nil // it is gone, or never was
	}
	return err
}

func (a *Alarm) look(ctx context.Context, m Message, sweeping bool) error {
	host, err := a.Hosts.Host(ctx, m.Tenant)
	if err != nil {
		return err
	}
	mark, err := host.Mark(ctx, m.Session, m.Head)
	if err != nil {
		return fmt.Errorf("reading the mark of session %s: %w", m.Session, err)
	}
	now := object.Millis(a.Waker.Now().UnixMilli())
	switch {
	case mark.At == 0:
		return nil
	case mark.At > now:
		if mark.At-now <= soon {
			a.Waker.Later(ctx, m, mark.At)
		}
		return nil
	}
	if held := a.Waker.left(mark.HeldUntil); held > 0 && !sweeping {
		switch {
		case !m.Watch:
			return nil // its holder arranges what comes next
		case held > patience:
			a.Waker.Watch(ctx, m, mark.HeldUntil)
			return nil
		}
		if err := a.Waker.Sleep(ctx, held); err != nil {
			return err
		}
	}
	ready, err := look(ctx, host, m)
	for _, head := range ready {
		if err := a.Waker.Enqueue(ctx, m.to(head)); err != nil {
			return err
		}
	}
	return err
}

// Sweep looks at every session that is marked. A session that cannot be looked at does not keep the others from it.
func (a *Alarm) Sweep(ctx context.Context) error {
	if a.Waker.Off[Sweep] {
		return nil
	}
	due, err := a.Due(ctx, object.Millis(a.Waker.Now().UnixMilli()))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range due {
		if ctx.Err() != nil {
			break // the next sweep goes on
		}
		if err := a.visit(ctx, m, true); err != nil {
			a.Waker.Logger.LogAttrs(ctx, slog.LevelError, "sweeping", slog.String("tenant", m.Tenant), slog.String("session", string(m.Session)), slog.Any("error", err))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// look returns the heads that can go on. When none can and nobody is advancing one, it says when somebody should look next.
func look(ctx context.Context, host Host, m Message) (ready []string, err error) {
	attention, err := host.Look(ctx, api.SessionOptions{SessionID: m.Session})
	if err != nil {
		return nil, fmt.Errorf("looking at session %s: %w", m.Session, err)
	}
	if len(attention.Ready)+len(attention.Held) > 0 {
		return attention.Ready, nil // the mark stays until nothing can go on
	}
	if _, err := host.Settle(ctx, m.Session, attention.Seq, attention.Next); err != nil {
		return nil, fmt.Errorf("settling session %s: %w", m.Session, err)
	}
	return nil, nil
}
