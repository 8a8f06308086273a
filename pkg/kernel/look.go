package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// An Attention says what a session wants of those who run it.
type Attention struct {
	Seq   store.Seq     // all that happened up to this event is in it
	Ready []string      // heads that a step can advance now, by name
	Next  object.Millis // when another head can be advanced, or a holder has died; zero: not before something happens
}

// Look says which heads of the session can be advanced, and when others can. It only reads. Who is told of a session by a message that may be late,
// repeated or made up looks, and does what it sees.
func (s *Session) Look(ctx context.Context, landing Landing) (Attention, error) {
	var a Attention
	var err error
	if a.Seq, err = s.LastSeq(ctx); err != nil { // first: what comes while the heads are looked at is left for the next look
		return Attention{}, fmt.Errorf("read the last event: %w", err)
	}
	heads, err := s.busyHeads(ctx)
	if err != nil {
		return Attention{}, err
	}
	for _, head := range heads {
		ready, next, err := s.lookAt(ctx, head, landing)
		if err != nil {
			return Attention{}, fmt.Errorf("look at head %q: %w", head, err)
		}
		if ready {
			a.Ready = append(a.Ready, head)
		}
		if next != 0 && (a.Next == 0 || next < a.Next) {
			a.Next = next
		}
	}
	return a, nil
}

// busyHeads returns the heads that ever had something to do.
func (s *Session) busyHeads(ctx context.Context) ([]string, error) {
	heads := map[string]bool{}
	for _, family := range []string{ref.Runs, ref.Queues} {
		refs, err := s.ListRefs(ctx, family)
		if err != nil {
			return nil, fmt.Errorf("list the heads: %w", err)
		}
		for _, r := range refs {
			parsed, err := ref.Parse(r.Name)
			if err != nil {
				return nil, err
			}
			switch p := parsed.(type) {
			case ref.RunRef:
				heads[p.Head] = true
			case ref.QueueRef:
				heads[p.Head] = true
			case ref.HeadRef, ref.StackRef, ref.EffectRef, ref.KeyRef, ref.FactRef, ref.TombstoneRef, ref.DeletedRef, ref.OtherRef:
			}
		}
	}
	return slices.Sorted(maps.Keys(heads)), nil
}

// lookAt reports whether a head can be advanced now, and otherwise when, zero for never.
func (s *Session) lookAt(ctx context.Context, head string, landing Landing) (ready bool, next object.Millis, err error) {
	outcome, err := s.Peek(ctx, head, landing)
	if err != nil {
		return false, 0, err
	}
	switch o := outcome.(type) {
	case StepRetry:
		return false, o.At, nil
	case StepWaiting:
		return false, o.Until, nil
	case StepContinue:
		lease, held, err := s.ReadLease(ctx, ref.Head(head))
		if err != nil || held {
			return false, lease.ExpiresAt, err
		}
		return true, 0, nil
	case StepIdle, StepBusy, StepFinished, StepFenced:
	}
	return false, 0, nil
}
