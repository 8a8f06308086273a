package kernel

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// SignalOptions answer a parked call.
type SignalOptions struct {
	RunID, CallID string
	WaitID        object.OID // the exact wait that is answered
	// Wait is what WaitID names, from a caller that has just found the call waiting on it. Nil: it is looked up.
	Wait   *object.Waiting
	Signal jsontext.Value
	Author *object.Actor
}

// A SignalOutcome is [Signalled], [NotWaiting] or [NotFound].
//
//sumtype:decl
type SignalOutcome interface{ signalOutcome() }

func (Signalled) signalOutcome()  {}
func (NotWaiting) signalOutcome() {}
func (NotFound) signalOutcome()   {}

type (
	// Signalled means that this answer won and is durable.
	Signalled struct{}
	// NotWaiting means that the wait was answered, has expired, is another one, or never was.
	NotWaiting struct{}
)

// Signal answers a parked call by moving the exact wait to signal. It takes no lease; of several answers, and of an answer and the
// deadline, one wins (invariants 45, 46). The deadline is judged by this process's clock when it reads the wait.
func (s *Session) Signal(ctx context.Context, opts SignalOptions) (SignalOutcome, error) {
	name := ref.Effect(opts.RunID, opts.CallID)
	wait, actual := opts.Wait, opts.WaitID
	if wait == nil {
		var err error
		if wait, actual, err = s.readWait(ctx, name, opts.WaitID); err != nil {
			return nil, fmt.Errorf("read effect %s: %w", opts.CallID, err)
		}
	}
	if actual != opts.WaitID || wait == nil || (EffectState{Effect: *wait}).Due(s.Now()) {
		return notSignalled(actual), nil
	}
	enc, err := object.Encode(object.Signal{
		Intent: wait.Intent, Waiting: opts.WaitID, Signal: opts.Signal, At: max(s.Now(), wait.At+1), Author: opts.Author,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	outcome, err := s.UpdateRefs(ctx, []store.Update{{Name: name, From: opts.WaitID, To: enc.OID}}, store.UpdateOptions{
		Reason: "signal", Actor: opts.Author, Objects: []object.Encoded{enc},
	})
	if err != nil {
		return nil, fmt.Errorf("signal %s: %w", opts.CallID, err)
	}
	switch o := outcome.(type) {
	case store.Updated:
		return Signalled{}, nil
	case store.UpdateConflict:
		return notSignalled(o.Actual), nil
	case store.Fenced:
		return nil, fmt.Errorf("signal %s carries no lease and was fenced", opts.CallID)
	}
	panic("unreachable")
}

// readWait reads an effect ref and the wait that it is said to point to, nil when that is none, side by side.
func (s *Session) readWait(ctx context.Context, name ref.Name, id object.OID) (wait *object.Waiting, actual object.OID, err error) {
	var reading errgroup.Group
	reading.Go(func() error {
		oids, err := s.ReadRefs(ctx, name)
		if err == nil {
			actual = oids[0]
		}
		return err
	})
	reading.Go(func() error {
		o, _, err := s.GetObject(ctx, id)
		if w, ok := o.(object.Waiting); ok {
			wait = &w
		}
		return err
	})
	err = reading.Wait()
	return wait, actual, err
}

// notSignalled says why a call whose effect ref is at actual takes no answer.
func notSignalled(actual object.OID) SignalOutcome {
	if actual.IsZero() {
		return NotFound{}
	}
	return NotWaiting{}
}
