package view

import (
	"context"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// NavigationTarget returns where selecting c moves a head. Selecting a user message goes back to before it was said, and gives it
// back to be said again; everything else is its own target. The target is zero when the first message of a branch is selected.
func NavigationTarget(c Commit) (target object.OID, restored *message.User) {
	if b, ok := c.Commit.Body.(object.MessageBody); ok {
		if m, ok := b.Message.(message.User); ok {
			return c.Commit.Parent, &m
		}
	}
	return c.OID, nil
}

// Abandoned returns the commits that a head leaves behind when it moves from tip to another commit, oldest first: those of tip's branch
// that are not on the other's. A zero to leaves all of them.
func Abandoned(ctx context.Context, r store.ObjectReader, tip, to object.OID) ([]Commit, error) {
	kept := make(map[object.OID]bool)
	for c, err := range Walk(ctx, r, to, object.OID{}) {
		if err != nil {
			return nil, err
		}
		kept[c.OID] = true
	}
	var out []Commit
	for c, err := range Walk(ctx, r, tip, object.OID{}) {
		if err != nil {
			return nil, err
		}
		if kept[c.OID] {
			break
		}
		out = append(out, c)
	}
	slices.Reverse(out)
	return out, nil
}
