package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Lane is one lane of a head: its ends and what lies between them, oldest first, withdrawn changes included.
type Lane struct {
	Lane      string
	Base, Tip object.OID
	Changes   []Change
}

// A Change is a submitted change that has not landed.
type Change struct {
	OID       object.OID
	Change    object.Change
	Cancelled bool
}

// Visible returns the changes of l that are not withdrawn, oldest first.
func (l Lane) Visible() []Change {
	var out []Change
	for _, c := range l.Changes {
		if !c.Cancelled {
			out = append(out, c)
		}
	}
	return out
}

// LaneReader is what reading lanes takes.
type LaneReader interface {
	store.ObjectReader
	store.RefReader
}

// LoadLanes reads every lane of head, sorted by name. Lanes are those that the head's queue refs name (invariant 43). A chain that
// does not reach its base is a [*GraphError] (invariant 36).
func LoadLanes(ctx context.Context, r LaneReader, head string) ([]Lane, error) {
	refs, err := r.ListRefs(ctx, ref.HeadQueues(head))
	if err != nil {
		return nil, fmt.Errorf("list the lanes of head %q: %w", head, err)
	}
	lanes, err := laneEnds(refs)
	if err != nil {
		return nil, err
	}
	return lanes, LoadChanges(ctx, r, head, lanes)
}

// LoadChanges reads what lies between the ends of lanes of head.
func LoadChanges(ctx context.Context, r LaneReader, head string, lanes []Lane) (err error) {
	var tombstones []ref.Name
	for i := range lanes {
		if lanes[i].Changes, err = loadChanges(ctx, r, lanes[i].Tip, lanes[i].Base); err != nil {
			return fmt.Errorf("lane %q of head %q: %w", lanes[i].Lane, head, err)
		}
		for _, c := range lanes[i].Changes {
			tombstones = append(tombstones, ref.Tombstone(c.OID))
		}
	}
	if len(tombstones) == 0 {
		return nil
	}
	found, err := r.ReadRefs(ctx, tombstones...)
	if err != nil {
		return fmt.Errorf("read tombstones: %w", err)
	}
	for i := range lanes {
		for j := range lanes[i].Changes {
			lanes[i].Changes[j].Cancelled = !found[0].IsZero()
			found = found[1:]
		}
	}
	return nil
}

func laneEnds(refs []store.Ref) ([]Lane, error) {
	var lanes []Lane
	for _, rf := range refs {
		q, err := ref.ParseQueue(rf.Name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(lanes, func(l Lane) bool { return l.Lane == q.Lane })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, Lane{Lane: q.Lane})
		}
		switch q.Position {
		case ref.Tip:
			lanes[i].Tip = rf.OID
		case ref.Base:
			lanes[i].Base = rf.OID
		}
	}
	slices.SortFunc(lanes, func(a, b Lane) int { return cmp.Compare(a.Lane, b.Lane) })
	return lanes, nil
}

func loadChanges(ctx context.Context, r store.ObjectReader, tip, base object.OID) ([]Change, error) {
	var changes []Change
	at := tip
	for e, err := range walk(ctx, r, tip, base, firstPage) {
		if err != nil {
			return nil, err
		}
		c, ok := e.Object.(object.Change)
		if !ok {
			return nil, &GraphError{e.OID, "missing or not a change"}
		}
		changes = append(changes, Change{OID: e.OID, Change: c})
		at = c.Previous
	}
	if at != base {
		return nil, &GraphError{tip, "the lane does not reach its base"}
	}
	slices.Reverse(changes)
	return changes, nil
}

// A PendingItem is a visible pending change and its lane.
type PendingItem struct {
	Lane string
	Change
}

// Pending merges the visible changes of lanes by submission time, then oid, without reordering within a lane: landing order is chain
// order, whatever clients' clocks say.
func Pending(lanes []Lane) []PendingItem {
	queues := make([][]PendingItem, 0, len(lanes))
	for _, l := range lanes {
		var q []PendingItem
		for _, c := range l.Visible() {
			q = append(q, PendingItem{l.Lane, c})
		}
		if len(q) > 0 {
			queues = append(queues, q)
		}
	}
	var out []PendingItem
	for len(queues) > 0 {
		first := 0
		for i, q := range queues {
			a, b := q[0], queues[first][0]
			if c := cmp.Compare(a.Change.Change.At, b.Change.Change.At); c < 0 || c == 0 && a.OID.Compare(b.OID) < 0 {
				first = i
			}
		}
		out = append(out, queues[first][0])
		if queues[first] = queues[first][1:]; len(queues[first]) == 0 {
			queues = slices.Delete(queues, first, first+1)
		}
	}
	return out
}

// ChangesBetween returns the changes that a lane's end moved over from one change to another, oldest first: those on the chain of upTo that
// are not on the chain of after, which itself need not be on it, as after a reorder.
func ChangesBetween(ctx context.Context, r store.ObjectReader, after, upTo object.OID) ([]Change, error) {
	var changes []Change
	met := after.IsZero()
	for e, err := range walk(ctx, r, upTo, after, firstPage) {
		if err != nil {
			return nil, err
		}
		c, ok := e.Object.(object.Change)
		if !ok {
			return nil, &GraphError{e.OID, "missing or not a change"}
		}
		changes = append(changes, Change{OID: e.OID, Change: c})
		met = met || c.Previous == after
	}
	if !met {
		old := make(map[object.OID]bool)
		for e, err := range walk(ctx, r, after, object.OID{}, firstPage) {
			if err != nil {
				return nil, err
			}
			old[e.OID] = true
		}
		if i := slices.IndexFunc(changes, func(c Change) bool { return old[c.OID] }); i >= 0 {
			changes = changes[:i]
		}
	}
	slices.Reverse(changes)
	return changes, nil
}
