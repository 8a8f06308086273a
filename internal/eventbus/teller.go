package eventbus

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// A teller turns the moves of one session into events.
type teller struct {
	Session

	origin  Origin
	runs    map[object.OID]object.Run    // those that were read
	effects map[ref.EffectRef]object.OID // where the moves so far left them
	seen    int64                        // the newest move in effects
}

// tell returns what a change tells, and with an error what it tells up to there.
func (t *teller) tell(ctx context.Context, c Change) ([]Event, error) {
	moves := c.Moves
	if c.Known > c.After+1 {
		packed, err := t.Moves(ctx, c.After, c.Known-1)
		if err != nil {
			return nil, fmt.Errorf("reading the events %d to %d: %w", c.After+1, c.Known-1, err)
		}
		known := slices.DeleteFunc(slices.Clone(moves), func(m Move) bool { return m.Seq < c.Known })
		moves = slices.Concat(packed, known)
	}
	var events []Event
	for _, m := range moves {
		if m.Seq > c.Upto {
			break
		}
		parsed, err := ref.Parse(m.Name)
		if err != nil {
			continue // of no family
		}
		switch r := parsed.(type) {
		case ref.EffectRef:
			if m.Seq > t.seen {
				t.effects[r], t.seen = m.To, m.Seq
			}
		case ref.RunRef:
			m.Head = r.Head
			if m.Seq <= c.After || m.To.IsZero() {
				continue // it was told, or the head is gone
			}
			e, ok, err := t.moved(ctx, m)
			if err != nil {
				return events, fmt.Errorf("event %d: %w", m.Seq, err)
			}
			if ok {
				events = append(events, e)
			}
		case ref.HeadRef, ref.StackRef, ref.QueueRef, ref.KeyRef, ref.FactRef, ref.TombstoneRef, ref.DeletedRef, ref.OtherRef:
		}
	}
	return events, nil
}

// moved returns what the move of a run tells, if it tells something: a run that is where it was, with a flag more, does not.
func (t *teller) moved(ctx context.Context, m Move) (Event, bool, error) {
	run, err := t.run(ctx, m.To)
	if err != nil {
		return Event{}, false, err
	}
	what, ok := typeOf(run.Phase)
	if !ok {
		return Event{}, false, nil
	}
	if !m.From.IsZero() {
		before, err := t.run(ctx, m.From)
		switch {
		case never(err): // it may have been trimmed away, and the run that is there is new to whoever is told
		case err != nil:
			return Event{}, false, err
		case before.ID == run.ID && object.PhaseName(before.Phase) == object.PhaseName(run.Phase):
			return Event{}, false, nil
		}
	}
	e := t.origin.run(what, m, run)
	if what != RunWaiting {
		return e, true, nil
	}
	ok, err = t.asks(ctx, run.ID, &e)
	return e, ok, err
}

func (t *teller) run(ctx context.Context, oid object.OID) (object.Run, error) {
	if run, ok := t.runs[oid]; ok {
		return run, nil
	}
	objs, err := t.Objects(ctx, oid)
	if err != nil {
		return object.Run{}, fmt.Errorf("reading run %s: %w", oid.Short(), err)
	}
	run, ok := objs[0].(object.Run)
	if !ok {
		return object.Run{}, fmt.Errorf("%w: no run is stored as %s", ErrGone, oid.Short())
	}
	t.runs[oid] = run
	return run, nil
}

// asks adds to the event of a run that waits which calls ask a person and until when, and reports whether any does: a run may also wait for work
// in the background. The effects are as the moves left them, and those that were moved long before as they are now. Where nothing is known
// any more of what the run waited for, somebody may have been asked.
func (t *teller) asks(ctx context.Context, run string, e *Event) (bool, error) {
	effects, err := t.Effects(ctx, run)
	if err != nil {
		return false, fmt.Errorf("reading the calls of run %s: %w", run, err)
	}
	if effects == nil {
		effects = map[string]object.OID{}
	}
	for r, oid := range t.effects {
		if r.Run == run {
			effects[r.Call] = oid
		}
	}
	maps.DeleteFunc(effects, func(_ string, oid object.OID) bool { return oid.IsZero() })
	calls := slices.Sorted(maps.Keys(effects))
	oids := make([]object.OID, len(calls))
	for i, call := range calls {
		oids[i] = effects[call]
	}
	if len(oids) == 0 {
		return true, nil
	}
	states, err := t.Objects(ctx, oids...)
	if err != nil {
		return false, fmt.Errorf("reading the calls of run %s: %w", run, err)
	}
	asks, size := false, 0
	var until object.Millis
	for i, call := range calls {
		w, ok := states[i].(object.Waiting)
		if !ok || w.Selection == nil {
			continue
		}
		asks = true
		if size += len(call); size <= maxCalls {
			e.Data.Calls = append(e.Data.Calls, call)
		}
		if w.Until != 0 && (until == 0 || w.Until < until) {
			until = w.Until
		}
	}
	if until != 0 {
		e.Data.Until = stamp(until)
	}
	return asks, nil
}
