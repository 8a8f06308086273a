package memstore

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// ListSessions implements [store.Store]. The cursor may name a session that has been deleted since; one that never was is
// [store.ErrInvalid].
func (s *Store) ListSessions(ctx context.Context, opts store.ListOptions) ([]store.SessionInfo, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	limit := opts.Limit
	if limit <= 0 {
		limit = store.DefaultPage
	}
	position := int64(math.MaxInt64)
	if opts.Cursor != "" {
		var ok bool
		if position, ok = s.data.positionOf(opts.Cursor); !ok {
			return nil, fmt.Errorf("%w: cursor %q names no session", store.ErrInvalid, opts.Cursor)
		}
	}
	repos := s.data.before(position)
	infos := make([]store.SessionInfo, 0, min(limit, len(repos)))
	for _, r := range slices.Backward(repos) {
		if len(infos) == limit {
			break
		}
		if opts.Owner != "" && r.owner != opts.Owner {
			continue
		}
		infos = append(infos, r.info())
	}
	return infos, nil
}

// WatchSessions implements [store.Store].
func (s *Store) WatchSessions(ctx context.Context) iter.Seq2[store.SessionID, error] {
	return func(yield func(store.SessionID, error) bool) {
		var position int64
		for {
			if err := s.ready(ctx); err != nil {
				if ctx.Err() == nil {
					yield("", err)
				}
				return
			}
			repos, more := s.data.after(position)
			for _, r := range repos {
				if ctx.Err() != nil || !yield(r.id, nil) {
					return
				}
				position = r.position
			}
			if len(repos) > 0 {
				continue
			}
			select {
			case <-more:
			case <-s.closed:
			case <-ctx.Done():
			}
		}
	}
}
