package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A CancelOutcome is [Cancelled], [Landed] or [NotFound].
//
//sumtype:decl
type CancelOutcome interface{ cancelOutcome() }

func (Cancelled) cancelOutcome() {}
func (Landed) cancelOutcome()    {}
func (NotFound) cancelOutcome()  {}

type (
	// Cancelled means that the change is withdrawn and will not land.
	Cancelled struct{}
	// Landed means that the change is part of a branch already.
	Landed struct{}
	// NotFound means that what was named does not exist.
	NotFound struct{}
)

// Cancel withdraws a pending change by a tombstone; no chain is rewritten. The tombstone and an assertion of the lane's base are one
// compare-and-swap, so that a change is cancelled or landed, never both (invariant 37). Cancelling twice is cancelled.
func (s *Session) Cancel(ctx context.Context, head string, change object.OID, actor *object.Actor) (CancelOutcome, error) {
	if err := ref.CheckHead(head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	mark, err := tombstone{At: s.Now()}.encode()
	if err != nil {
		return nil, err
	}
	for range MaxAttempts {
		at, err := s.locate(ctx, head, change)
		if err != nil {
			return nil, err
		}
		switch at.found {
		case nowhere:
			return NotFound{}, nil
		case landed:
			return Landed{}, nil
		case withdrawn:
			return Cancelled{}, nil
		case pending:
		}
		lane := at.source()
		outcome, err := s.UpdateRefs(ctx, []store.Update{
			{Name: ref.Tombstone(at.change), To: mark.OID},
			store.Assert(ref.QueueBase(head, lane.Lane), lane.Base),
		}, store.UpdateOptions{Reason: "cancel", Actor: actor, Objects: []object.Encoded{mark}})
		if err != nil {
			return nil, fmt.Errorf("cancel %s: %w", change, err)
		}
		if _, ok := outcome.(store.Updated); ok {
			return Cancelled{}, nil
		}
	}
	return nil, fmt.Errorf("cancel %s: %w", change, ErrContention)
}
