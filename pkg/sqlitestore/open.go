package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/internal/lru"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Synchronous level says what a commit survives.
type Synchronous int

const (
	// Full: a commit survives the death of the machine. It is the default.
	Full Synchronous = iota
	// Normal: a commit survives the death of the process; the last ones may be lost with the machine. It saves the fsync.
	Normal
)

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Now is the store's clock; [time.Now] when nil.
	Now func() time.Time
	// Synchronous says what a commit survives.
	Synchronous Synchronous
	// CacheBytes bounds the memory for decoded objects; 32 MB when zero, none when negative.
	CacheBytes int64
	// Logger hears of what is repaired silently, such as a watch that falls back to polling; nobody when nil.
	Logger *slog.Logger
}

const defaultCache = 32 << 20

// A Store is one handle on a file. It implements [store.Store]; several may be open on the same file, in one process or in
// many.
type Store struct {
	path  string
	now   func() time.Time
	log   *slog.Logger
	owner *owner
	codec *codec
	cache *lru.Cache[cacheKey, *body]

	readers    *readers
	writer     *writer
	hub        *hub
	listener   *listener
	checkpoint *checkpointer

	once   sync.Once
	closed chan struct{}
	failed error // of Close
}

type cacheKey struct {
	session int64
	oid     object.OID
}

var _ store.Store = (*Store)(nil)

// Open opens the store at path and makes it, with missing directories, if there is none. The options may be nil. A file that
// is not a store of this version is [ErrWrongFile], with what to do, and is left as it is.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if path == "" {
		return nil, fmt.Errorf("%w: path is empty", store.ErrInvalid)
	}
	if _, err := inspect(path); err != nil { // before anything is made beside a file of someone else
		return nil, err
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	dir := path + "-owners"
	setup, err := setupLock(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = setup.Close() }()

	exists, err := inspect(path)
	if err != nil {
		return nil, err
	}
	w, err := openWriter(ctx, path, opts.Synchronous, !exists)
	if err != nil {
		return nil, err
	}
	sweep(dir)
	o, err := claim(dir)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	s, err := assemble(ctx, path, opts, w, o)
	if err != nil {
		return nil, errors.Join(err, w.close(), o.release())
	}
	return s, nil
}

func assemble(ctx context.Context, path string, opts *Options, w *conn, o *owner) (*Store, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, now: opts.Now, log: opts.Logger, owner: o, codec: c, hub: newHub(), closed: make(chan struct{}),
		readers: newReaders(context.WithoutCancel(ctx), path),
	}
	if s.now == nil {
		s.now = time.Now //nolint:forbidigo // the one default clock
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	limit := opts.CacheBytes
	if limit == 0 {
		limit = defaultCache
	}
	s.cache = lru.New[cacheKey, *body](limit)
	s.checkpoint = newCheckpointer(s.readers, s.log)
	s.writer = newWriter(w, opts.Synchronous == Full, s.committed, s.checkpoint.written)
	s.listener = newListener(s.readers, s.hub, o, s.log)
	return s, nil
}

// resolve returns the one absolute path of the file whatever links lead to it, so that all its Stores agree on the path of
// the owners directory. It makes the missing directories.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolving the store's path: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", fmt.Errorf("making the store's directory: %w", err)
	}
	if path, err := filepath.EvalSymlinks(abs); err == nil {
		return path, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("resolving the store's path: %w", err)
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// The log is copied into the database when it has 4,000 pages: two more fsyncs after some hundreds of commits.
const writerPragmas = `
PRAGMA journal_mode=WAL;
PRAGMA wal_autocheckpoint=4000;
PRAGMA journal_size_limit=67108864;
PRAGMA cache_size=-16000;
PRAGMA temp_store=MEMORY;
`

func openWriter(ctx context.Context, path string, level Synchronous, fresh bool) (*conn, error) {
	if fresh {
		if err := touch(path); err != nil {
			return nil, err
		}
	}
	c, err := dial(ctx, path, "_busy_timeout=10000")
	if err != nil {
		return nil, err
	}
	if fresh {
		err = create(c)
	}
	if err == nil {
		err = c.script(writerPragmas)
	}
	if err == nil && level == Normal {
		err = c.script("PRAGMA synchronous=NORMAL")
	} else if err == nil {
		err = c.script("PRAGMA synchronous=FULL")
	}
	if err == nil {
		err = c.script("PRAGMA busy_timeout=0") // the writer waits by itself, see begin
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), c.close())
	}
	return c, nil
}

// touch makes the empty file that only its owner may read; SQLite gives the files beside it the same mode.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("making the store: %w", err)
	}
	return f.Close()
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Close implements [store.Store]. It waits for calls that have started. The leases of this Store count as abandoned from
// then on.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.writer.close()
		s.checkpoint.close()
		s.listener.close()
		s.failed = errors.Join(s.readers.close(), s.writer.conn.close(), s.owner.release())
		s.codec.close()
	})
	return s.failed
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

// committed wakes everyone whom a transaction concerns. It runs after the COMMIT.
func (s *Store) committed(t *tx) {
	wake := len(t.created)+len(t.deleted) > 0
	for _, p := range t.positions {
		if p.next != p.stored {
			s.hub.advance(p.session, p.next-1)
			wake = true
		}
	}
	for _, key := range t.created {
		s.hub.appear(key)
	}
	for _, key := range t.deleted {
		s.hub.vanish(key)
	}
	if wake {
		if err := s.owner.signal(); err != nil {
			s.log.Warn("other processes are not woken", slog.Any("error", err))
		}
	}
}
