package memstore

import (
	"context"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A session is one handle on a repository.
type session struct {
	store  *Store
	repo   *repository
	once   sync.Once
	closed chan struct{}
}

var _ store.Session = (*session)(nil)

// ID implements [store.Session].
func (s *session) ID() store.SessionID { return s.repo.id }

// Info implements [store.Session].
func (s *session) Info(ctx context.Context) (info store.SessionInfo, err error) {
	err = s.view(ctx, func(r *repository) error {
		info = r.info()
		return nil
	})
	return info, err
}

// Close implements [store.Session].
func (s *session) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// view runs f with the repository locked for reading.
func (s *session) view(ctx context.Context, f func(*repository) error) error {
	s.repo.mu.RLock()
	defer s.repo.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return f(s.repo)
}

// update runs f with the repository locked for writing. It is the store's transaction: f checks everything before it
// changes anything.
func (s *session) update(ctx context.Context, f func(*repository, store.Millis) error) error {
	s.repo.mu.Lock()
	defer s.repo.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return f(s.repo, store.Millis(s.store.now().UnixMilli()))
}

// ready reports why a call must not begin. The caller holds the repository's lock.
func (s *session) ready(ctx context.Context) error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
	}
	if err := s.store.ready(ctx); err != nil {
		return err
	}
	if s.repo.removed {
		return store.ErrUnknownSession
	}
	return nil
}
