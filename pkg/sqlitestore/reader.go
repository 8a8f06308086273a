package sqlitestore

import (
	"context"
	"errors"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// maxReaders is how many reads may run at once.
const maxReaders = 4

// readers are the connections that read. The one used last is used next, since its pages are warm.
type readers struct {
	base context.Context //nolint:containedctx // for dialing
	path string
	free chan struct{} // one for each connection that may be in use

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func newReaders(ctx context.Context, path string) *readers {
	return &readers{base: ctx, path: path, free: make(chan struct{}, maxReaders)}
}

// do runs f with a connection.
func (r *readers) do(ctx context.Context, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case r.free <- struct{}{}:
	default:
		select {
		case r.free <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { <-r.free }()
	c, err := r.take()
	if err != nil {
		return err
	}
	defer r.put(c)
	return f(c)
}

// snapshot runs f with a connection whose statements all see the same instant.
func (r *readers) snapshot(ctx context.Context, f func(*conn) error) error {
	return r.do(ctx, func(c *conn) (err error) {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			_, end := c.exec("COMMIT")
			err = errors.Join(err, end)
		}()
		return f(c)
	})
}

func (r *readers) take() (*conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, store.ErrClosed
	}
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return c, nil
	}
	return r.dial()
}

// dial opens one more connection. Those for listening and checkpoints are outside of the pool.
func (r *readers) dial() (*conn, error) {
	c, err := dial(r.base, r.path, "_busy_timeout=10000")
	if err != nil {
		return nil, err
	}
	if err := c.script("PRAGMA cache_size=-8000;PRAGMA temp_store=MEMORY;PRAGMA wal_autocheckpoint=0"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (r *readers) put(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, c)
}

// close waits for the reads that run.
func (r *readers) close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for range maxReaders {
		r.free <- struct{}{}
	}
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.close())
	}
	for range maxReaders {
		<-r.free
	}
	return errors.Join(errs...)
}
