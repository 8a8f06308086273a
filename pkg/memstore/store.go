package memstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; [time.Now] when nil.
	Now func() time.Time
}

// A Store is one handle on sessions in memory. It implements [store.Store].
type Store struct {
	data   *data
	now    func() time.Time
	once   sync.Once
	closed chan struct{}
}

var _ store.Store = (*Store)(nil)

// New returns a handle on new, empty data. The options may be nil.
func New(opts *Options) *Store {
	now := time.Now //nolint:forbidigo // the one default clock
	if opts != nil && opts.Now != nil {
		now = opts.Now
	}
	return open(newData(), now)
}

// Another returns a second handle on the data of s, with its own Close. It also works when s is closed: the data live as long
// as any handle is referenced, as a file outlives the process that wrote it.
func (s *Store) Another() *Store { return open(s.data, s.now) }

func open(d *data, now func() time.Time) *Store {
	return &Store{data: d, now: now, closed: make(chan struct{})}
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// CreateSession implements [store.Store].
func (s *Store) CreateSession(ctx context.Context, opts store.CreateOptions) (store.CreateOutcome, error) {
	first, err := prepareCreate(opts)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	r, ok := s.data.create(opts.ID, opts.Owner, store.Millis(s.now().UnixMilli()), first)
	if !ok {
		return store.SessionExists{}, nil
	}
	return store.SessionCreated{Session: s.handle(r)}, nil
}

// prepareCreate checks the first contents of a session and encodes them.
func prepareCreate(opts store.CreateOptions) (change, error) {
	if err := store.CheckCreate(opts); err != nil {
		return change{}, err
	}
	if len(opts.Refs) == 0 {
		return change{objects: opts.Objects}, nil
	}
	return prepare(opts.Refs, store.UpdateOptions{Reason: opts.Reason, Actor: opts.Actor, Objects: opts.Objects})
}

// OpenSession implements [store.Store].
func (s *Store) OpenSession(ctx context.Context, id store.SessionID) (store.Session, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	r, ok := s.data.find(id)
	if !ok {
		return nil, fmt.Errorf("opening session %q: %w", id, store.ErrUnknownSession)
	}
	return s.handle(r), nil
}

// DeleteSession implements [store.Store].
func (s *Store) DeleteSession(ctx context.Context, id store.SessionID) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	s.data.remove(id)
	return nil
}

// ready reports why a call must not begin.
func (s *Store) ready(ctx context.Context) error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}

func (s *Store) handle(r *repository) *session {
	return &session{store: s, repo: r, closed: make(chan struct{})}
}
