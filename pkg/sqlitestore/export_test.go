package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Commits returns how many transactions the store has committed. Call it while nobody writes.
func (s *Store) Commits() int64 { return s.writer.commits }

// Queued returns how many calls wait for the writer.
func (s *Store) Queued() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// Hold makes every leader call f before it takes what is queued. Call it before any write.
func (s *Store) Hold(f func()) { s.writer.hold = f }

// A Floor writes rows by hand, with the pragmas of a store.
type Floor struct{ conn *conn }

// OpenFloor opens a file with one plain table.
func OpenFloor(ctx context.Context, path string, level Synchronous) (*Floor, error) {
	c, err := openWriter(ctx, path, level, false)
	if err != nil {
		return nil, err
	}
	return &Floor{conn: c}, c.script("CREATE TABLE rows (a INTEGER, b INTEGER, body BLOB, PRIMARY KEY (a, b)) WITHOUT ROWID")
}

// Exec runs a prepared statement.
func (f *Floor) Exec(query string, args ...driver.Value) error {
	_, err := f.conn.exec(query, args...)
	return err
}

// Close closes the file.
func (f *Floor) Close() error { return f.conn.close() }

// NotifiedOnly switches the safety poll off, so that a watch that wakes was notified. Call it before any watch.
func (s *Store) NotifiedOnly() { s.listener.safety = 24 * time.Hour }

// PackEvent returns the stored row of an event.
func PackEvent(b store.EventBody) ([]byte, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.packEvent(b)
}

// UnpackEvent reads a stored row.
func UnpackEvent(row []byte) (store.EventBody, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.unpackEvent(row)
}

// Subscribe returns what is closed when the session's stream is known to have moved.
func Subscribe(s store.Session) <-chan struct{} {
	h := s.(*session)
	h.store.hub.subscribe(h.key)
	return h.store.hub.after(h.key, 0)
}

// Look does what a touch by another process makes the listener do.
func (s *Store) Look() error {
	l := &look{listener: s.listener}
	defer l.close()
	return l.read()
}

// Unwatchable makes the operating system refuse to notify. Call it before any watch.
func (s *Store) Unwatchable() { s.listener.dir += "-missing" }
