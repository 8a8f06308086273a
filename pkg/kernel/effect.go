package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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

// An Opening is a call to open.
type Opening struct {
	Call   message.ToolCall
	Replay object.ReplayPolicy
	Seen   object.OID // the state that the caller saw; zero when it saw none
}

// An OpenCall is a call that is open. Fresh says that its intent was written now: its tool may run. Else the state is what was there, and its
// arguments win over the caller's.
type OpenCall struct {
	EffectState

	Fresh bool
}

// An OpenOutcome is [Opened] or [Fenced].
//
//sumtype:decl
type OpenOutcome interface{ openOutcome() }

// An EffectOutcome is [Moved], [Conflict] or [Fenced].
//
//sumtype:decl
type EffectOutcome interface{ effectOutcome() }

func (Opened) openOutcome()     {}
func (Fenced) openOutcome()     {}
func (Moved) effectOutcome()    {}
func (Conflict) effectOutcome() {}
func (Fenced) effectOutcome()   {}

type (
	// Opened has the calls in the order asked for.
	Opened struct{ Calls []OpenCall }
	// Moved has the effect's new state.
	Moved struct{ State EffectState }
	// Conflict means that the effect is not in the state the caller saw.
	Conflict struct{}
	// Fenced means that the lease is someone else's by now and nothing was written.
	Fenced struct{}
)

// OpenEffects writes the intents of calls before their tools run, all or none of them, and returns what is there for those that were opened
// before. Also for those the lease is checked, so that a stale runner reuses nothing. The ids of the calls differ.
func (s *Session) OpenEffects(ctx context.Context, lease store.Lease, runID string, calls []Opening) (OpenOutcome, error) {
	fresh := make([]EffectState, len(calls))
	intents := make([]object.Encoded, len(calls))
	seen := make([]object.OID, len(calls))
	for i, c := range calls {
		intent := object.Intent{RunID: runID, CallID: c.Call.ID, Tool: c.Call.Name, Args: c.Call.Arguments, Replay: c.Replay, At: s.Now()}
		var err error
		if intents[i], err = object.Encode(intent); err != nil {
			return nil, fmt.Errorf("%w: call %s: %w", ErrInvalid, c.Call.ID, err)
		}
		fresh[i] = EffectState{intents[i].OID, intent, intents[i].OID, intent}
		seen[i] = c.Seen
	}
	for range MaxAttempts + len(calls) { // each conflict tells of one call
		updates := make([]store.Update, len(calls), len(calls)+1)
		var objects []object.Encoded
		for i, at := range seen {
			updates[i] = store.Assert(fresh[i].ref(), at)
			if at.IsZero() {
				updates[i].To = intents[i].OID
				objects = append(objects, intents[i])
			}
		}
		outcome, err := s.UpdateRefs(ctx, append(updates, store.Absent(ref.Deleted)), store.UpdateOptions{
			Reason: "effect", Lease: &lease, Objects: objects,
		})
		if err != nil {
			return nil, fmt.Errorf("open the effects of run %s: %w", runID, err)
		}
		switch o := outcome.(type) {
		case store.Fenced:
			return Fenced{}, nil
		case store.Updated:
			return s.opened(ctx, fresh, seen)
		case store.UpdateConflict:
			i := slices.IndexFunc(updates, func(u store.Update) bool { return u.Name == o.Name })
			if i < 0 {
				return Fenced{}, nil // the session is being deleted
			}
			seen[i] = o.Actual
		}
	}
	return nil, fmt.Errorf("open the effects of run %s: %w", runID, ErrContention)
}

// opened returns the states of calls: the fresh one where none was seen.
func (s *Session) opened(ctx context.Context, fresh []EffectState, seen []object.OID) (OpenOutcome, error) {
	var oids []object.OID
	for _, oid := range seen {
		if !oid.IsZero() {
			oids = append(oids, oid)
		}
	}
	found, err := s.effects(ctx, oids)
	if err != nil {
		return nil, err
	}
	out := Opened{Calls: make([]OpenCall, len(fresh))}
	for i, oid := range seen {
		if oid.IsZero() {
			out.Calls[i] = OpenCall{fresh[i], true}
		} else {
			out.Calls[i], found = OpenCall{found[0], false}, found[1:]
		}
	}
	return out, nil
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
