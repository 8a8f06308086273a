package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A publication is one runner's compare-and-swap in the making: ref moves and the objects they name.
type publication struct {
	updates []store.Update
	objects []object.Encoded
	events  []store.EventBody
	err     error // the first object that could not be encoded
}

func (p *publication) put(o object.Object) object.OID {
	enc, err := object.Encode(o)
	if err != nil {
		if p.err == nil {
			p.err = err
		}
		return object.OID{}
	}
	p.objects = append(p.objects, enc)
	return enc.OID
}

func (p *publication) move(name ref.Name, from, to object.OID) {
	p.updates = append(p.updates, store.Update{Name: name, From: from, To: to})
}

func (p *publication) assert(name ref.Name, oid object.OID) { p.move(name, oid, oid) }

// publish sends p under the lease with the assertion that the session is not being deleted (invariant 35). It is the step's final write: a
// lease that the step acquired itself is freed in the same transaction, any other is renewed.
func (st *step) publish(ctx context.Context, p *publication, reason string) (store.UpdateOutcome, error) {
	if p.err != nil {
		return nil, fmt.Errorf("%s: %w", reason, p.err)
	}
	p.assert(ref.Deleted, object.OID{})
	opts := store.UpdateOptions{Reason: reason, Lease: &st.lease, Objects: p.objects, Events: p.events}
	if st.release {
		opts.Release = true
	} else {
		opts.Renew = st.opts.TTL
	}
	outcome, err := st.UpdateRefs(ctx, p.updates, opts)
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", reason, err)
	}
	if _, conflict := outcome.(store.UpdateConflict); !conflict {
		st.uncounted = false // published, or the successor's to count
	}
	if updated, ok := outcome.(store.Updated); ok {
		st.seen, st.watched = updated.Seq, true
		st.freed = opts.Release
		if !opts.Release {
			st.lease.ExpiresAt = st.Now() + object.Millis(st.opts.TTL.Milliseconds())
		}
	}
	return outcome, nil
}

// withPhase returns the run as it is in its next phase.
func withPhase(run object.Run, phase object.Phase) object.Run {
	run.Phase = phase
	return run
}

// end moves the run to a terminal phase and publishes no output. Open calls of the run go with it, so that no reply is accepted that nobody
// will read.
func (st *step) end(ctx context.Context, phase object.Phase, reason string, asserts ...store.Update) (StepOutcome, error) {
	var p publication
	next := withPhase(st.run, phase)
	p.move(ref.Run(st.opts.Head), st.runOID, p.put(next))
	p.updates = append(p.updates, asserts...)
	switch st.run.Phase.(type) {
	case object.Tools, object.WaitingPhase:
		open, err := st.clearEffects(ctx, st.run.ID)
		if err != nil {
			return nil, err
		}
		p.updates = append(p.updates, open...)
	case object.Respond, object.Retry, object.Done, object.Aborted, object.Failed:
	}
	outcome, err := st.publish(ctx, &p, reason)
	if err != nil {
		return nil, err
	}
	switch outcome.(type) {
	case store.Updated:
		return StepFinished{next}, nil
	case store.UpdateConflict:
		return StepContinue{}, nil
	case store.Fenced:
		return StepFenced{}, nil
	}
	panic("unreachable")
}

// settled turns the outcome of a publish after which the next step looks again, also when it lost its race, into the step's.
func settled(outcome store.UpdateOutcome) StepOutcome {
	switch outcome.(type) {
	case store.Updated, store.UpdateConflict:
		return StepContinue{}
	case store.Fenced:
		return StepFenced{}
	}
	panic("unreachable")
}
