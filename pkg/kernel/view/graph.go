package view

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Commit is a commit with its oid.
type Commit struct {
	OID    object.OID
	Commit object.Commit
}

// A GraphError reports a place where a chain cannot be followed. It is [object.ErrCorrupt].
type GraphError struct {
	OID    object.OID
	Reason string
}

func (e *GraphError) Error() string { return fmt.Sprintf("object %s: %s", e.OID, e.Reason) }

// Is reports whether target is [object.ErrCorrupt].
func (e *GraphError) Is(target error) bool { return target == object.ErrCorrupt }

// Pages grow, since most walks end soon and the rest read everything.
const (
	firstPage = 64
	lastPage  = 1024
)

// Walk yields the commits from tip (inclusive) by parent to stop (exclusive) or the root, newest first. A missing object, one that
// is no commit, and a loop end it with a [*GraphError] after what could be read. A zero tip yields nothing.
func Walk(ctx context.Context, r store.ObjectReader, tip, stop object.OID) iter.Seq2[Commit, error] {
	return commits(ctx, r, tip, stop, firstPage)
}

func commits(ctx context.Context, r store.ObjectReader, tip, stop object.OID, page int) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		for e, err := range walk(ctx, r, tip, stop, page) {
			if err != nil {
				yield(Commit{}, err)
				return
			}
			c, ok := e.Object.(object.Commit)
			if !ok {
				yield(Commit{}, &GraphError{e.OID, "missing or not a commit"})
				return
			}
			if !yield(Commit{e.OID, c}, nil) {
				return
			}
		}
	}
}

// walk yields the chain from an object to stop, of commits or changes. It begins with a page of the given size.
func walk(ctx context.Context, r store.ObjectReader, from, stop object.OID, page int) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		seen := make(map[object.OID]bool)
		for ; !from.IsZero() && from != stop; page = min(page*4, lastPage) {
			entries, err := r.Chain(ctx, from, stop, page)
			if err != nil {
				yield(store.Entry{}, fmt.Errorf("walk from %s: %w", from, err))
				return
			}
			if len(entries) == 0 {
				yield(store.Entry{}, &GraphError{from, "missing or not a commit"})
				return
			}
			for _, e := range entries {
				if seen[e.OID] {
					yield(store.Entry{}, &GraphError{e.OID, "the chain has a cycle"})
					return
				}
				seen[e.OID] = true
				if !yield(e, nil) {
					return
				}
				from = object.Parent(e.Object)
			}
		}
	}
}

// Branch returns the commits of tip's branch, oldest first. A limit of zero or less means all; otherwise the newest limit
// commits.
func Branch(ctx context.Context, r store.ObjectReader, tip object.OID, limit int) ([]Commit, error) {
	page := lastPage // all of it is wanted
	if limit > 0 {
		page = min(page, limit)
	}
	var branch []Commit
	for c, err := range commits(ctx, r, tip, object.OID{}, page) {
		if err != nil {
			return nil, err
		}
		branch = append(branch, c)
		if len(branch) == limit {
			break
		}
	}
	slices.Reverse(branch)
	return branch, nil
}

// IsAncestor reports whether old is on the branch of tip. A commit is its own ancestor; zero is an ancestor of everything.
func IsAncestor(ctx context.Context, r store.ObjectReader, old, tip object.OID) (bool, error) {
	if old.IsZero() || old == tip {
		return true, nil
	}
	for c, err := range Walk(ctx, r, tip, object.OID{}) {
		if err != nil {
			return false, err
		}
		if c.OID == old {
			return true, nil
		}
	}
	return false, nil
}

// Between returns the commits of tip's branch after old, oldest first. ok is false when old is not on the branch. limit
// bounds the search; beyond it ok is false.
func Between(ctx context.Context, r store.ObjectReader, old, tip object.OID, limit int) (commits []Commit, ok bool, err error) {
	if old == tip {
		return nil, true, nil
	}
	for c, err := range Walk(ctx, r, tip, old) {
		if err != nil {
			return nil, false, err
		}
		commits = append(commits, c)
		if c.Commit.Parent == old {
			slices.Reverse(commits)
			return commits, true, nil
		}
		if len(commits) >= limit {
			break
		}
	}
	return nil, false, nil
}
