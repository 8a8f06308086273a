package dynstore

import (
	"context"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A session is one handle on one incarnation of a session: it never reaches a later session of the same id.
type session struct {
	*repo

	id     store.SessionID
	owner  string
	once   sync.Once
	closed chan struct{}
}

var _ store.Session = (*session)(nil)

// ID implements [store.Session].
func (s *session) ID() store.SessionID { return s.id }

// Info implements [store.Session].
func (s *session) Info(ctx context.Context) (store.SessionInfo, error) {
	if err := s.ready(ctx); err != nil {
		return store.SessionInfo{}, err
	}
	c, err := s.control(ctx)
	if err != nil {
		return store.SessionInfo{}, err
	}
	return store.SessionInfo{ID: s.id, Owner: s.owner, CreatedAt: c.created}, nil
}

// Close implements [store.Session].
func (s *session) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.store.drop(s.repo)
	})
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
