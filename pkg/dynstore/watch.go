package dynstore

import (
	"context"
	"iter"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// WatchEvents implements [store.EventReader]. Commits of this Store wake it at once, those of others within the poll.
func (s *session) WatchEvents(ctx context.Context, after store.Seq) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		// What was written before this is in the first read, and what is written later closes it.
		changed := s.next()
		store.Follow(ctx, s, after, func(ctx context.Context, _ store.Seq) error {
			err := s.store.pause(ctx, changed, s.closed)
			changed = s.next()
			return err
		})(yield)
	}
}

// pause waits for a wake, the poll, or an end, which the next read tells.
func (s *Store) pause(ctx context.Context, changed, closed <-chan struct{}) error {
	t := time.NewTimer(s.poll)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-closed:
	case <-s.closed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// overlap is how far back a watch of sessions looks again: the clocks of those who make them differ.
const overlap = store.Millis(time.Minute / time.Millisecond)

// WatchSessions implements [store.Store].
func (s *Store) WatchSessions(ctx context.Context) iter.Seq2[store.SessionID, error] {
	return func(yield func(store.SessionID, error) bool) {
		var newest store.Millis
		seen := map[entry]bool{}
		for {
			changed := s.nextSession()
			found, err := s.since(ctx, newest-overlap)
			if err != nil {
				if ctx.Err() == nil {
					yield("", err)
				}
				return
			}
			for _, e := range found {
				if seen[e] {
					continue
				}
				seen[e] = true
				newest = max(newest, e.created)
				if ctx.Err() != nil || !yield(e.id, nil) {
					return
				}
			}
			for e := range seen { // what cannot come again need not be remembered
				if e.created < newest-2*overlap {
					delete(seen, e)
				}
			}
			if s.pause(ctx, changed, nil) != nil {
				return
			}
		}
	}
}

func (s *Store) nextSession() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// since returns the sessions made at or after a time.
func (s *Store) since(ctx context.Context, at store.Millis) ([]entry, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	bound := ""
	if at > 0 {
		bound = listKey(listPrefix, at, "")
	}
	var all []entry
	for {
		page, err := s.entries(ctx, listPrefix, bound, true, maxPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < maxPage {
			return all, nil
		}
		last := page[len(page)-1]
		bound = listKey(listPrefix, last.created, last.id)
	}
}
