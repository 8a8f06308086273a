package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"math"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A listed session has its key, by which the list is ordered.
type listed struct {
	store.SessionInfo
	key int64
}

// ListSessions implements [store.Store]. A cursor whose session is gone is [store.ErrInvalid].
func (s *Store) ListSessions(ctx context.Context, opts store.ListOptions) ([]store.SessionInfo, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	limit := opts.Limit
	if limit <= 0 {
		limit = store.DefaultPage
	}
	var infos []store.SessionInfo
	err := s.readers.do(ctx, func(c *conn) error {
		before := int64(math.MaxInt64)
		if opts.Cursor != "" {
			key, ok, err := keyOf(c, opts.Cursor)
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("%w: the cursor %q names no session", store.ErrInvalid, opts.Cursor)
			}
			before = key
		}
		add := func(row []driver.Value) error {
			l, err := readListed(row)
			infos = append(infos, l.SessionInfo)
			return err
		}
		if opts.Owner == "" {
			return c.query("SELECT "+infoColumns+" FROM sessions WHERE key<? ORDER BY key DESC LIMIT ?", add, before, int64(limit))
		}
		return c.query("SELECT "+infoColumns+" FROM sessions WHERE owner=? AND owner<>'' AND key<? ORDER BY key DESC LIMIT ?", add,
			opts.Owner, before, int64(limit))
	})
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return infos, nil
}

// sessionsAfter returns the sessions made after the one with the key, the oldest first.
func (s *Store) sessionsAfter(ctx context.Context, key int64, limit int) ([]listed, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var page []listed
	err := s.readers.do(ctx, func(c *conn) error {
		return c.query("SELECT "+infoColumns+" FROM sessions WHERE key>? ORDER BY key LIMIT ?", func(row []driver.Value) error {
			l, err := readListed(row)
			page = append(page, l)
			return err
		}, key, int64(limit))
	})
	return page, err
}

// Info implements [store.Session].
func (s *session) Info(ctx context.Context) (store.SessionInfo, error) {
	var l listed
	err := s.read(ctx, func(c *conn) error {
		ok, err := c.one("SELECT "+infoColumns+" FROM sessions WHERE key=?", func(row []driver.Value) (err error) {
			l, err = readListed(row)
			return err
		}, s.key)
		if err == nil && !ok {
			err = store.ErrUnknownSession
		}
		return err
	})
	if err != nil {
		return store.SessionInfo{}, fmt.Errorf("reading session %q: %w", s.id, err)
	}
	return l.SessionInfo, nil
}

const infoColumns = "key, id, owner, created_at"

func readListed(row []driver.Value) (listed, error) {
	key, err := asInt(row[0])
	if err != nil {
		return listed{}, err
	}
	id, err := asText(row[1])
	if err != nil {
		return listed{}, err
	}
	owner, err := asText(row[2])
	if err != nil {
		return listed{}, err
	}
	at, err := asInt(row[3])
	return listed{key: key, SessionInfo: store.SessionInfo{
		ID: store.SessionID(id), Owner: owner, CreatedAt: store.Millis(at),
	}}, err
}

// WatchSessions implements [store.Store].
func (s *Store) WatchSessions(ctx context.Context) iter.Seq2[store.SessionID, error] {
	return func(yield func(store.SessionID, error) bool) {
		s.listener.start()
		for last := int64(0); ; {
			next := s.hub.nextSession()
			page, err := s.sessionsAfter(ctx, last, store.DefaultPage)
			if err != nil {
				if ctx.Err() == nil {
					yield("", err)
				}
				return
			}
			for _, l := range page {
				if ctx.Err() != nil || !yield(l.ID, nil) {
					return
				}
				last = l.key
			}
			if len(page) > 0 {
				continue
			}
			select {
			case <-next:
			case <-s.closed:
			case <-ctx.Done():
			}
		}
	}
}
