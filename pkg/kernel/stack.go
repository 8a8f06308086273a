package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// A StackState is a stacked head beside its parent.
type StackState struct {
	OID       object.OID
	Stack     object.Stack
	Tip       object.OID // of the head itself
	ParentTip object.OID
}

// Stale reports whether the parent's tip is no longer the base. This one equality is the whole staleness model (invariant 33).
func (st StackState) Stale() bool { return st.Stack.Base != st.ParentTip }

// Stack reads the stack of a head; ok is false when it has none, and only its Tip is set.
func (s *Session) Stack(ctx context.Context, head string) (st StackState, ok bool, err error) {
	if err := ref.CheckHead(head); err != nil {
		return StackState{}, false, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	oids, err := s.ReadRefs(ctx, ref.Stack(head), ref.Head(head))
	if err != nil {
		return StackState{}, false, fmt.Errorf("read the stack of head %q: %w", head, err)
	}
	if oids[0].IsZero() {
		return StackState{Tip: oids[1]}, false, nil
	}
	o, _, err := s.GetObject(ctx, oids[0])
	if err != nil {
		return StackState{}, false, err
	}
	stack, isStack := o.(object.Stack)
	if !isStack {
		return StackState{}, false, &missingError{oids[0], "a stack"}
	}
	parent, err := s.ReadRefs(ctx, ref.Head(stack.Parent))
	if err != nil {
		return StackState{}, false, fmt.Errorf("read head %q: %w", stack.Parent, err)
	}
	return StackState{oids[0], stack, oids[1], parent[0]}, true, nil
}

// An AdvanceOutcome is [Advanced], [BaseUnchanged] or [Diverged].
//
//sumtype:decl
type AdvanceOutcome interface{ advanceOutcome() }

// FastForwardOptions name a stacked head.
type FastForwardOptions struct {
	Head   string
	Expect *object.OID // merge only this tip
	Actor  *object.Actor
}

// A FastForwardOutcome is [Merged], [Stale], [Empty], [MovedSince] or [NoStack].
//
//sumtype:decl
type FastForwardOutcome interface{ fastForwardOutcome() }

func (Advanced) advanceOutcome()       {}
func (BaseUnchanged) advanceOutcome()  {}
func (Diverged) advanceOutcome()       {}
func (Merged) fastForwardOutcome()     {}
func (Stale) fastForwardOutcome()      {}
func (Empty) fastForwardOutcome()      {}
func (MovedSince) fastForwardOutcome() {}
func (NoStack) fastForwardOutcome()    {}

type (
	// Advanced has the new base.
	Advanced struct{ Base object.OID }
	// BaseUnchanged means that there is no stack or the base is the parent's tip already.
	BaseUnchanged struct{}
	// Diverged means that the old base is no longer on the parent's branch.
	Diverged struct{}
	// Merged has the tip that parent and child share now.
	Merged struct{ Tip object.OID }
	// Stale means that the parent has moved since the base, or that the head no longer goes on from it.
	Stale struct{}
	// Empty means that the child has nothing of its own.
	Empty struct{}
	// NoStack means that the head is not stacked.
	NoStack struct{}
)

// AdvanceBase moves a stack's base to its parent's tip when the parent only grew. Nothing is replayed.
func (s *Session) AdvanceBase(ctx context.Context, head string, actor *object.Actor) (AdvanceOutcome, error) {
	for range MaxAttempts {
		st, ok, err := s.Stack(ctx, head)
		if err != nil {
			return nil, err
		}
		if !ok || !st.Stale() {
			return BaseUnchanged{}, nil
		}
		grew, err := view.IsAncestor(ctx, s, st.Stack.Base, st.ParentTip)
		if err != nil {
			return nil, err
		}
		if !grew {
			return Diverged{}, nil
		}
		next, err := object.Encode(object.Stack{Parent: st.Stack.Parent, Base: st.ParentTip})
		if err != nil {
			return nil, err
		}
		outcome, err := s.UpdateRefs(ctx, []store.Update{
			{Name: ref.Stack(head), From: st.OID, To: next.OID},
			store.Assert(ref.Head(st.Stack.Parent), st.ParentTip),
		}, store.UpdateOptions{Reason: "restack", Actor: actor, Objects: []object.Encoded{next}})
		if err != nil {
			return nil, fmt.Errorf("advance the base of head %q: %w", head, err)
		}
		if _, ok := outcome.(store.Updated); ok {
			return Advanced{st.ParentTip}, nil
		}
	}
	return nil, fmt.Errorf("advance the base of head %q: %w", head, ErrContention)
}

// FastForward moves the parent of a current, non-empty stacked head to its tip and the base with it, in one compare-and-swap.
func (s *Session) FastForward(ctx context.Context, opts FastForwardOptions) (FastForwardOutcome, error) {
	head := opts.Head
	for range MaxAttempts {
		st, ok, err := s.Stack(ctx, head)
		if err != nil {
			return nil, err
		}
		switch {
		case opts.Expect != nil && *opts.Expect != st.Tip:
			return MovedSince{st.Tip}, nil
		case !ok:
			return NoStack{}, nil
		case st.Stale():
			return Stale{}, nil
		case st.Tip == st.Stack.Base || st.Tip.IsZero():
			return Empty{}, nil
		}
		forward, err := view.IsAncestor(ctx, s, st.Stack.Base, st.Tip)
		if err != nil {
			return nil, err
		}
		if !forward {
			return Stale{}, nil
		}
		next, err := object.Encode(object.Stack{Parent: st.Stack.Parent, Base: st.Tip})
		if err != nil {
			return nil, err
		}
		outcome, err := s.UpdateRefs(ctx, []store.Update{
			{Name: ref.Head(st.Stack.Parent), From: st.ParentTip, To: st.Tip},
			{Name: ref.Stack(head), From: st.OID, To: next.OID},
			store.Assert(ref.Head(head), st.Tip),
		}, store.UpdateOptions{Reason: "merge", Actor: opts.Actor, Objects: []object.Encoded{next}})
		if err != nil {
			return nil, fmt.Errorf("merge head %q: %w", head, err)
		}
		if _, ok := outcome.(store.Updated); ok {
			return Merged{st.Tip}, nil
		}
	}
	return nil, fmt.Errorf("merge head %q: %w", head, ErrContention)
}
