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
	Held  []string      // heads that somebody is advancing
	Next  object.Millis // when another head can be advanced; zero: not before something happens
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
		if err := s.lookAt(ctx, head, landing, &a); err != nil {
			return Attention{}, fmt.Errorf("look at head %q: %w", head, err)
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

// lookAt adds what a head wants.
func (s *Session) lookAt(ctx context.Context, head string, landing Landing, a *Attention) error {
	outcome, err := s.Peek(ctx, head, landing)
	if err != nil {
		return err
	}
	switch o := outcome.(type) {
	case StepRetry:
		a.until(o.At)
	case StepWaiting:
		a.until(o.Until)
	case StepContinue:
		_, held, err := s.ReadLease(ctx, ref.Head(head))
		switch {
		case err != nil:
			return err
		case held:
			a.Held = append(a.Held, head)
		default:
			a.Ready = append(a.Ready, head)
		}
	case StepIdle, StepBusy, StepFinished, StepFenced:
	}
	return nil
}

// until brings the next look forward to a deadline, zero for none.
func (a *Attention) until(at object.Millis) {
	if at != 0 && (a.Next == 0 || at < a.Next) {
		a.Next = at
	}
}
