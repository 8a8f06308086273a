package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// Pending returns what is submitted to head and has neither landed nor been withdrawn, as every client sees it.
func (s *Session) Pending(ctx context.Context, head string) ([]view.PendingItem, error) {
	if err := ref.CheckHead(head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	lanes, err := view.LoadLanes(ctx, s, head)
	if err != nil {
		return nil, err
	}
	return view.Pending(lanes), nil
}

// A tombstone is the value behind refs/cancelled/<change>. By names the copy that took the change's place on redelivery.
type tombstone struct {
	At object.Millis `json:"at"`
	By object.OID    `json:"by,omitzero"`
}

func (t tombstone) encode() (object.Encoded, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return object.Encoded{}, err
	}
	return object.Encode(object.Blob{Value: value})
}

// located is where a change was found: pending at lanes[lane].Changes[index], landed, or neither.
type located struct {
	change object.OID // what was asked for, or the copy that took its place
	lanes  []view.Lane
	lane   int
	index  int
	found  place
}

type place int

const (
	nowhere place = iota
	pending
	withdrawn
	landed
)

func (l located) source() view.Lane  { return l.lanes[l.lane] }
func (l located) entry() view.Change { return l.source().Changes[l.index] }

// locate finds a change by its oid. A change that was redelivered is followed to the copy that took its place, so that a client that
// still holds the old oid speaks about the same message.
func (s *Session) locate(ctx context.Context, head string, change object.OID) (located, error) {
	lanes, err := view.LoadLanes(ctx, s, head)
	if err != nil {
		return located{}, err
	}
	for range MaxAttempts {
		l := located{change: change, lanes: lanes}
		for i, lane := range lanes {
			if j := slices.IndexFunc(lane.Changes, func(c view.Change) bool { return c.OID == change }); j >= 0 {
				l.lane, l.index, l.found = i, j, pending
			}
		}
		if l.found == pending && !l.entry().Cancelled {
			return l, nil
		}
		mark, ok, err := s.tombstone(ctx, change)
		if err != nil {
			return located{}, err
		}
		if ok {
			if mark.By.IsZero() {
				l.found = withdrawn
				return l, nil
			}
			change = mark.By
			continue
		}
		if l.found != pending {
			if l.found, err = s.behindABase(ctx, lanes, change); err != nil {
				return located{}, err
			}
		}
		return l, nil
	}
	return located{}, &view.GraphError{OID: change, Reason: "its tombstones form a cycle"}
}

func (s *Session) tombstone(ctx context.Context, change object.OID) (tombstone, bool, error) {
	oids, err := s.ReadRefs(ctx, ref.Tombstone(change))
	if err != nil || oids[0].IsZero() {
		return tombstone{}, false, err
	}
	o, ok, err := s.GetObject(ctx, oids[0])
	if err != nil {
		return tombstone{}, false, err
	}
	blob, isBlob := o.(object.Blob)
	if !ok || !isBlob {
		return tombstone{}, false, &view.GraphError{OID: oids[0], Reason: "missing or not a tombstone"}
	}
	var t tombstone
	if err := json.Unmarshal(blob.Value, &t); err != nil {
		return tombstone{}, false, &view.GraphError{OID: oids[0], Reason: "not a tombstone: " + err.Error()}
	}
	return t, true, nil
}

// behindABase reports landed when change is reachable from the base of any lane.
func (s *Session) behindABase(ctx context.Context, lanes []view.Lane, change object.OID) (place, error) {
	for _, lane := range lanes {
		for from := lane.Base; !from.IsZero(); {
			entries, err := s.Chain(ctx, from, object.OID{}, 256)
			if err != nil {
				return nowhere, err
			}
			for _, e := range entries {
				if e.OID == change {
					return landed, nil
				}
				from = object.Parent(e.Object)
			}
			if len(entries) == 0 {
				break
			}
		}
	}
	return nowhere, nil
}
