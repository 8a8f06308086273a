package dynstore

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/internal/lru"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Options configure a [Store].
type Options struct {
	Client API    // required
	Table  string // required; see [CreateTable]
	Tenant string // whose sessions these are; may be empty

	// Bodies keeps objects above 8 KB, compressed. When nil they stay in the table, and one above 390 KB is a [*LimitError].
	Bodies Bodies

	// Poll is how often a watch looks for writes of other processes; 250 ms when zero. Writes of this Store wake it at once.
	Poll time.Duration
	// SkewMargin is how long after its expiry a lease still holds others off, for processes whose clocks differ.
	SkewMargin time.Duration
	// CacheBytes bounds the cache of objects, which are immutable and stay valid; 32 MB when zero, none when negative.
	CacheBytes int64

	Now   func() time.Time                           // the clock; [time.Now] when nil
	Sleep func(context.Context, time.Duration) error // waits between attempts, or until the context ends; a timer when nil
	Rand  func() float64                             // jitter in [0,1); when nil, random
}

// A Store is one tenant's sessions in a table. It implements [store.Store].
type Store struct {
	client     API
	table      string
	tenant     string
	bodies     Bodies
	poll       time.Duration
	skewMargin time.Duration
	codec      *codec
	cache      *lru.Cache[cacheKey, *cached]
	now        func() time.Time
	sleep      func(context.Context, time.Duration) error
	random     func() float64

	once   sync.Once
	closed chan struct{}

	mu       sync.Mutex
	repos    map[string]*repo // open ones, by partition
	sessions chan struct{}    // closed when this Store makes a session
}

var _ store.Store = (*Store)(nil)

const (
	defaultPoll  = 250 * time.Millisecond
	defaultCache = 32 << 20
)

// New returns a store. It makes no request.
func New(opts Options) (*Store, error) {
	if opts.Client == nil || opts.Table == "" {
		return nil, errors.New("dynstore: Options.Client and Options.Table are required")
	}
	codec, err := newCodec()
	if err != nil {
		return nil, err
	}
	s := &Store{
		client: opts.Client, table: opts.Table, tenant: opts.Tenant, bodies: opts.Bodies, poll: opts.Poll, skewMargin: opts.SkewMargin,
		codec: codec, now: opts.Now, sleep: opts.Sleep, random: opts.Rand,
		closed: make(chan struct{}), repos: map[string]*repo{}, sessions: make(chan struct{}),
	}
	if s.poll <= 0 {
		s.poll = defaultPoll
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = defaultCache
	}
	s.cache = lru.New[cacheKey, *cached](opts.CacheBytes)
	if s.now == nil {
		s.now = time.Now //nolint:forbidigo // the one default clock
	}
	if s.sleep == nil {
		s.sleep = sleep
	}
	if s.random == nil {
		s.random = rand.Float64
	}
	return s, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closed) })
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

func (s *Store) millis() store.Millis { return store.Millis(s.now().UnixMilli()) }

// newTx returns the id of a transaction that never was before.
func newTx() txID {
	var id txID
	_, _ = crand.Read(id[:]) // it never fails
	return id
}

// OpenSession implements [store.Store].
func (s *Store) OpenSession(ctx context.Context, id store.SessionID) (store.Session, error) {
	h, err := s.open(ctx, id)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (s *Store) open(ctx context.Context, id store.SessionID) (*session, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	e, ok, err := s.lookup(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("opening session %q: %w", id, err)
	}
	if !ok {
		return nil, fmt.Errorf("opening session %q: %w", id, store.ErrUnknownSession)
	}
	h := s.handle(id, e.incarnation)
	h.owner = e.owner
	return h, nil
}

// handle returns a handle on one incarnation of a session.
func (s *Store) handle(id store.SessionID, incarnation string) *session {
	p := partition(s.tenant, id, incarnation)
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.repos[p]
	if !ok {
		r = &repo{store: s, partition: p, turn: make(chan struct{}, 1), changed: make(chan struct{})}
		s.repos[p] = r
	}
	r.handles++
	return &session{repo: r, id: id, closed: make(chan struct{})}
}
