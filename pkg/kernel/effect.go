package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// An EffectState is one tool call as a ref shows it: the object it points to, and the intent behind it.
type EffectState struct {
	OID       object.OID
	Effect    object.Effect
	IntentOID object.OID
	Intent    object.Intent
}

// Until returns the deadline of a parked call, zero when there is none.
func (e EffectState) Until() object.Millis {
	if w, ok := e.Effect.(object.Waiting); ok {
		return w.Until
	}
	return 0
}

// Due reports whether e is parked and its deadline has come.
func (e EffectState) Due(now object.Millis) bool { return e.Until() > 0 && e.Until() <= now }

// ref names the ref of e.
func (e EffectState) ref() ref.Name { return ref.Effect(e.Intent.RunID, e.Intent.CallID) }

// Effects returns the open calls of a run, by call id in byte order.
func (s *Session) Effects(ctx context.Context, runID string) ([]EffectState, error) {
	refs, err := s.ListRefs(ctx, ref.RunEffects(runID))
	if err != nil {
		return nil, fmt.Errorf("list the effects of run %s: %w", runID, err)
	}
	oids := make([]object.OID, len(refs))
	for i, r := range refs {
		oids[i] = r.OID
	}
	states, err := s.effects(ctx, oids)
	slices.SortFunc(states, func(a, b EffectState) int { return cmp.Compare(a.Intent.CallID, b.Intent.CallID) }) // names are encoded
	return states, err
}

// effects reads effect objects with their intents, in two reads whatever their number.
func (s *Session) effects(ctx context.Context, oids []object.OID) ([]EffectState, error) {
	objs, err := s.GetObjects(ctx, oids)
	if err != nil {
		return nil, err
	}
	states := make([]EffectState, len(oids))
	intents := make([]object.OID, len(oids))
	for i, o := range objs {
		e, ok := o.(object.Effect)
		if !ok {
			return nil, &missingError{oids[i], "an effect"}
		}
		states[i] = EffectState{OID: oids[i], Effect: e, IntentOID: object.IntentOf(oids[i], e)}
		intents[i] = states[i].IntentOID
	}
	if objs, err = s.GetObjects(ctx, intents); err != nil {
		return nil, err
	}
	for i, o := range objs {
		intent, ok := o.(object.Intent)
		if !ok {
			return nil, &missingError{intents[i], "an intent"}
		}
		states[i].Intent = intent
	}
	return states, nil
}

// A missingError reports a ref or link to an object that is not there or of another kind.
type missingError struct {
	oid  object.OID
	want string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("object %s is missing or not %s", e.oid, e.want)
}

func (e *missingError) Is(target error) bool { return target == object.ErrCorrupt }

// An OpenOutcome is [Opened], [Exists] or [Fenced].
//
//sumtype:decl
type OpenOutcome interface{ openOutcome() }

// An EffectOutcome is [Moved], [Conflict] or [Fenced].
//
//sumtype:decl
type EffectOutcome interface{ effectOutcome() }

func (Opened) openOutcome()     {}
func (Exists) openOutcome()     {}
func (Fenced) openOutcome()     {}
func (Moved) effectOutcome()    {}
func (Conflict) effectOutcome() {}
func (Fenced) effectOutcome()   {}

type (
	// Opened has the intent that this call wrote: the tool may run now.
	Opened struct{ State EffectState }
	// Exists has the state that was there; its arguments win over the caller's.
	Exists struct{ State EffectState }
	// Moved has the effect's new state.
	Moved struct{ State EffectState }
	// Conflict means that the effect is not in the state the caller saw.
	Conflict struct{}
	// Fenced means that the lease is someone else's by now and nothing was written.
	Fenced struct{}
)

// OpenEffect writes the intent of a call before its tool runs, or returns the state that is there. Also for an existing one the lease is
// checked, so that a stale runner reuses nothing.
func (s *Session) OpenEffect(ctx context.Context, lease store.Lease, runID string, call message.ToolCall, replay object.ReplayPolicy) (OpenOutcome, error) {
	name := ref.Effect(runID, call.ID)
	fresh := object.Intent{
		RunID: runID, CallID: call.ID, Tool: call.Name, Args: call.Arguments, Replay: replay, At: s.Now(),
	}
	intent, err := object.Encode(fresh)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	expected := store.Update{Name: name, To: intent.OID}
	for range MaxAttempts {
		outcome, err := s.UpdateRefs(ctx, []store.Update{expected, store.Absent(ref.Deleted)}, store.UpdateOptions{
			Reason: "effect", Lease: &lease, Objects: []object.Encoded{intent},
		})
		if err != nil {
			return nil, fmt.Errorf("open effect %s: %w", call.ID, err)
		}
		switch o := outcome.(type) {
		case store.Fenced:
			return Fenced{}, nil
		case store.Updated:
			if expected.From == expected.To {
				states, err := s.effects(ctx, []object.OID{expected.To})
				if err != nil {
					return nil, err
				}
				return Exists{states[0]}, nil
			}
			return Opened{EffectState{intent.OID, fresh, intent.OID, fresh}}, nil
		case store.UpdateConflict:
			if o.Name == ref.Deleted {
				return Fenced{}, nil
			}
			expected.From = o.Actual
			if !o.Actual.IsZero() {
				expected.To = o.Actual // only asserts
			} else {
				expected.To = intent.OID
			}
		}
	}
	return nil, fmt.Errorf("open effect %s: %w", call.ID, ErrContention)
}

// ParkEffect moves a call from the state the caller saw to waiting. The new state's oid is the wait id.
func (s *Session) ParkEffect(ctx context.Context, lease store.Lease, seen EffectState, selection *message.Selection, until object.Millis) (EffectOutcome, error) {
	switch seen.Effect.(type) {
	case object.Intent, object.Signal, object.Expired:
	case object.Waiting, object.Result:
		return nil, fmt.Errorf("%w: a %s effect cannot park", ErrInvalid, object.StateName(seen.Effect))
	}
	return s.move(ctx, &lease, seen, "wait", object.Waiting{
		Intent: seen.IntentOID, At: s.after(seen), Selection: selection, Until: until,
	})
}

// SettleEffect moves a call from the state the caller saw to its result.
func (s *Session) SettleEffect(ctx context.Context, lease store.Lease, seen EffectState, result message.ToolResult) (EffectOutcome, error) {
	if _, settled := seen.Effect.(object.Result); settled {
		return nil, fmt.Errorf("%w: the effect has its result", ErrInvalid)
	}
	return s.move(ctx, &lease, seen, "effect", object.Result{Intent: seen.IntentOID, Result: result, At: s.after(seen)})
}

// ExpireEffect claims the exact wait that the caller saw, once its deadline has come by the step's clock (invariant 46).
func (s *Session) ExpireEffect(ctx context.Context, lease store.Lease, seen EffectState, now object.Millis) (EffectOutcome, error) {
	if !seen.Due(now) {
		return nil, fmt.Errorf("%w: the wait is not due", ErrInvalid)
	}
	return s.move(ctx, &lease, seen, "expired", object.Expired{Intent: seen.IntentOID, Waiting: seen.OID, At: s.after(seen)})
}

// after returns a time later than seen, so that two otherwise equal states have different oids.
func (s *Session) after(seen EffectState) object.Millis {
	return max(s.Now(), object.EffectAt(seen.Effect)+1)
}

func (s *Session) move(ctx context.Context, lease *store.Lease, seen EffectState, reason string, to object.Effect) (EffectOutcome, error) {
	enc, err := object.Encode(to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	outcome, err := s.UpdateRefs(ctx, []store.Update{{Name: seen.ref(), From: seen.OID, To: enc.OID}, store.Absent(ref.Deleted)},
		store.UpdateOptions{Reason: reason, Lease: lease, Objects: []object.Encoded{enc}})
	if err != nil {
		return nil, fmt.Errorf("move effect %s to %s: %w", seen.Intent.CallID, object.StateName(to), err)
	}
	switch outcome.(type) {
	case store.Updated:
		return Moved{EffectState{enc.OID, to, seen.IntentOID, seen.Intent}}, nil
	case store.UpdateConflict:
		return Conflict{}, nil
	case store.Fenced:
		return Fenced{}, nil
	}
	panic("unreachable")
}

// SignalOptions answer a parked call.
type SignalOptions struct {
	RunID, CallID string
	WaitID        object.OID // the exact wait that is answered
	Signal        jsontext.Value
	Author        *object.Actor
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
	// The wait is immutable and names all that an answer needs, so that the ref is read by the compare-and-swap alone.
	o, _, err := s.GetObject(ctx, opts.WaitID)
	if err != nil {
		return nil, fmt.Errorf("read the wait of %s: %w", opts.CallID, err)
	}
	name := ref.Effect(opts.RunID, opts.CallID)
	wait, parked := o.(object.Waiting)
	if !parked || (EffectState{Effect: wait}).Due(s.Now()) {
		oids, err := s.ReadRefs(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read effect %s: %w", opts.CallID, err)
		}
		return notSignalled(oids[0]), nil
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

// notSignalled says why a call whose effect ref is at actual takes no answer.
func notSignalled(actual object.OID) SignalOutcome {
	if actual.IsZero() {
		return NotFound{}
	}
	return NotWaiting{}
}
