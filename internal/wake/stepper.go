package wake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A Host runs the sessions of one tenant.
type Host interface {
	// Step takes one durable step of a head.
	Step(ctx context.Context, opts api.HeadOptions) (api.StepOutcome, error)
	// Look says what a session wants. It only reads.
	Look(ctx context.Context, opts api.SessionOptions) (api.Attention, error)
	// Mark returns whether somebody should look at a session, as it concerns one head or, when none is named, all.
	Mark(ctx context.Context, session api.SessionID, head string) (Mark, error)
	// Settle says when somebody should look at a session next, zero for never, unless there is an event after seq.
	Settle(ctx context.Context, session api.SessionID, seq int64, at object.Millis) (bool, error)
}

// A Mark is what the store keeps of a session for those who wake it.
type Mark struct {
	At        object.Millis // since or from when somebody should look; zero: nobody need
	HeldUntil object.Millis // when the lease of the head asked about, or the latest of all, expires; zero: none is held
}

// Hosts has a host for every tenant.
type Hosts interface {
	Host(ctx context.Context, tenant string) (Host, error)
}

// A Stepper takes steps and arranges the next entry before it returns.
type Stepper struct {
	Hosts Hosts
	Waker *Waker
	// Steps is how many steps one invocation may take; at least one. It changes nothing durable.
	Steps int
	// Least is the time that must be left for a step after the first.
	Least time.Duration
}

// Handle takes steps of the head that a message names, or of one that can go on when it names none. An error means that the outcome is unknown: the
// message should be delivered again.
func (s *Stepper) Handle(ctx context.Context, m Message) error {
	host, err := s.Hosts.Host(ctx, m.Tenant)
	if err != nil {
		return err
	}
	if m.Check {
		needed, err := s.needed(ctx, host, m)
		if err != nil || !needed {
			return err
		}
	}
	if m.Head == "" {
		ready, err := look(ctx, host, m)
		if err != nil || len(ready) == 0 {
			return err
		}
		m.Head = ready[0]
		for _, other := range ready[1:] {
			s.Waker.Step(ctx, m.to(other))
		}
	}
	_, err = s.run(ctx, host, m)
	return err
}

// needed reports whether a session is still marked and free.
func (s *Stepper) needed(ctx context.Context, host Host, m Message) (bool, error) {
	mark, err := host.Mark(ctx, m.Session, m.Head)
	if err != nil {
		return false, err
	}
	return mark.At != 0 && s.Waker.left(mark.HeldUntil) <= 0, nil
}

// Step takes one step, for who asks for just that, and arranges the next entry.
func (s *Stepper) Step(ctx context.Context, tenant string, opts api.HeadOptions) (api.StepOutcome, error) {
	host, err := s.Hosts.Host(ctx, tenant)
	if err != nil {
		return nil, err
	}
	one := *s
	one.Steps = 1
	return one.run(ctx, host, Message{Tenant: tenant, Session: opts.SessionID, Head: opts.Head})
}

func (s *Stepper) run(ctx context.Context, host Host, m Message) (api.StepOutcome, error) {
	after := context.WithoutCancel(ctx) // what comes next is arranged, whatever happened to the time
	for n := 1; ; n++ {
		outcome, err := host.Step(ctx, api.HeadOptions{SessionID: m.Session, Head: m.Head})
		switch {
		case errors.Is(err, api.ErrSessionNotFound), errors.Is(err, api.ErrHeadNotFound):
			return nil, err
		case err != nil && ctx.Err() != nil:
			s.Waker.Step(after, m) // the head was given back
			return nil, err
		case err != nil:
			// The queue delivers it again a few times, and the sweep finds it every minute: no oftener, since what is damaged does not mend.
			return nil, fmt.Errorf("stepping head %q of session %s: %w", m.Head, m.Session, err)
		}
		if _, more := outcome.(api.Continue); more && n < s.Steps && timeLeft(ctx, s.Waker.Now) >= s.Least {
			continue
		}
		return outcome, s.arrange(after, host, m, outcome)
	}
}

// timeLeft returns how long ctx lasts, a long time when it has no end.
func timeLeft(ctx context.Context, now func() time.Time) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return time.Hour
	}
	return end.Sub(now())
}

// arrange sees to the next entry of a head.
func (s *Stepper) arrange(ctx context.Context, host Host, m Message, outcome api.StepOutcome) error {
	switch o := outcome.(type) {
	case api.Continue:
		s.Waker.Step(ctx, m)
	case api.Retry:
		s.Waker.Deadline(ctx, m, o.At)
	case api.StepBusy:
		s.Waker.Watch(ctx, m, o.ExpiresAt)
	case api.StepWaiting:
		s.Waker.Deadline(ctx, m, o.Until)
		return s.settle(ctx, host, m)
	case api.Finished, api.Idle:
		return s.settle(ctx, host, m)
	case api.Fenced: // whoever took the head arranges what comes next
	}
	return nil
}

// settle has what else can go on stepped, and takes the mark from a session in which nothing can.
func (s *Stepper) settle(ctx context.Context, host Host, m Message) error {
	ready, err := look(ctx, host, m)
	for _, head := range ready {
		s.Waker.Step(ctx, m.to(head))
	}
	if errors.Is(err, api.ErrSessionNotFound) {
		return nil
	}
	return err
}
