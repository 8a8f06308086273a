package sqlitestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A session is one handle. It is bound to the session's key, which is never used again, so that after a deletion it does not
// reach a later session of the same id.
type session struct {
	store  *Store
	id     store.SessionID
	key    int64
	once   sync.Once
	closed chan struct{}
}

var _ store.Session = (*session)(nil)

// ID implements [store.Session].
func (s *session) ID() store.SessionID { return s.id }

// Close implements [store.Session].
func (s *session) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// ready reports why a call must not begin.
func (s *session) ready(ctx context.Context) error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return s.store.ready(ctx)
	}
}

// read runs one statement, or more that need not see the same instant.
func (s *session) read(ctx context.Context, f func(*conn) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.store.readers.do(ctx, f)
}

// write runs f in a transaction, with the position of the stream, which proves that the session exists.
func (s *session) write(ctx context.Context, durable bool, f func(*tx, *position) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.store.writer.do(ctx, durable, func(t *tx) error {
		p, err := t.position(s.key)
		if err != nil {
			return err
		}
		return f(t, p)
	})
}

// exists tells an absent thing of a session from an absent session.
func (s *session) exists(c *conn) error {
	_, ok, err := c.number("SELECT 1 FROM sessions WHERE key=?", s.key)
	if err == nil && !ok {
		err = store.ErrUnknownSession
	}
	return err
}

func (s *Store) handle(id store.SessionID, key int64) *session {
	return &session{store: s, id: id, key: key, closed: make(chan struct{})}
}

// CreateSession implements [store.Store].
func (s *Store) CreateSession(ctx context.Context, opts store.CreateOptions) (store.CreateOutcome, error) {
	change, err := s.prepareCreate(opts)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var out store.CreateOutcome
	err = s.writer.do(ctx, true, func(t *tx) error {
		_, taken, err := keyOf(t.conn, opts.ID)
		if err != nil {
			return err
		}
		if taken {
			out = store.SessionExists{}
			return errUndo
		}
		now := s.millis()
		key, _, err := t.number("INSERT INTO sessions (id, owner, created_at, next_seq, event_floor) VALUES (?,?,?,1,0) RETURNING key",
			string(opts.ID), opts.Owner, int64(now))
		if err != nil {
			return err
		}
		p, err := t.position(key)
		if err != nil {
			return err
		}
		if err := change.apply(t, p, now); err != nil {
			return err
		}
		t.created = append(t.created, key)
		out = store.SessionCreated{Session: s.handle(opts.ID, key)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("creating session %q: %w", opts.ID, err)
	}
	return out, nil
}

func (s *Store) prepareCreate(opts store.CreateOptions) (*change, error) {
	if err := store.CheckCreate(opts); err != nil {
		return nil, err
	}
	if len(opts.Refs) == 0 {
		return &change{objects: s.packObjects(opts.Objects)}, nil
	}
	return s.prepare(opts.Refs, store.UpdateOptions{Reason: opts.Reason, Actor: opts.Actor, Objects: opts.Objects})
}

// OpenSession implements [store.Store].
func (s *Store) OpenSession(ctx context.Context, id store.SessionID) (store.Session, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var key int64
	var ok bool
	err := s.readers.do(ctx, func(c *conn) (err error) {
		key, ok, err = keyOf(c, id)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening session %q: %w", id, err)
	case !ok:
		return nil, fmt.Errorf("opening session %q: %w", id, store.ErrUnknownSession)
	}
	return s.handle(id, key), nil
}

func keyOf(c *conn, id store.SessionID) (key int64, ok bool, err error) {
	return c.number("SELECT key FROM sessions WHERE id=?", string(id))
}

// DeleteSession implements [store.Store].
func (s *Store) DeleteSession(ctx context.Context, id store.SessionID) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	err := s.writer.do(ctx, true, func(t *tx) error {
		key, ok, err := keyOf(t.conn, id)
		if err != nil || !ok {
			return err
		}
		for _, stmt := range []string{
			"DELETE FROM refs WHERE session=?",
			"DELETE FROM leases WHERE session=?",
			"DELETE FROM events WHERE session=?",
			"DELETE FROM objects WHERE session=?",
			"DELETE FROM sessions WHERE key=?",
		} {
			if _, err := t.exec(stmt, key); err != nil {
				return err
			}
		}
		t.forget(key)
		return nil
	})
	if err != nil {
		return fmt.Errorf("deleting session %q: %w", id, err)
	}
	return nil
}
