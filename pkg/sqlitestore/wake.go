package sqlitestore

import (
	"database/sql/driver"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A listener hears of the commits of other Stores and wakes the watches whose session has moved. It runs from the first watch
// to the close of the Store.
//
// Every Store touches its own file in the owners directory after a commit, and the listener watches the directory. So one watch
// covers all Stores, also future ones, and the touches of this Store are told from others by name and cost nothing. A touch
// says only that something has changed; what, the listener reads from the database. Should a touch be lost, a slow look at the
// database's change counter finds the change.
type listener struct {
	readers *readers
	hub     *hub
	owner   *owner
	log     *slog.Logger
	dir     string        // watched for touches
	safety  time.Duration // how often to look without a touch

	mu      sync.Mutex
	started bool
	closed  bool
	stop    chan struct{}
	done    chan struct{}
}

const (
	safetyPoll = time.Second
	// pollAlone is the pace when the operating system refuses to watch the directory.
	pollAlone = 25 * time.Millisecond
)

func newListener(r *readers, h *hub, o *owner, log *slog.Logger) *listener {
	return &listener{readers: r, hub: h, owner: o, log: log, dir: o.dir, safety: safetyPoll, stop: make(chan struct{}), done: make(chan struct{})}
}

// start makes sure that the listener runs. What is committed after it returns is heard.
func (l *listener) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started || l.closed {
		return
	}
	l.started = true
	pace := l.safety
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(l.dir); err != nil {
			_ = w.Close()
			w = nil
		}
	}
	if err != nil {
		l.log.Warn("the file system cannot be watched; polling for commits of other processes", slog.Any("error", err))
		w, pace = nil, pollAlone
	}
	go l.run(w, pace)
}

func (l *listener) close() {
	l.mu.Lock()
	started := l.started
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	if started {
		<-l.done
	}
}

func (l *listener) run(w *fsnotify.Watcher, pace time.Duration) {
	defer close(l.done)
	var touched chan fsnotify.Event
	var lost chan error
	if w != nil {
		defer func() { _ = w.Close() }()
		touched, lost = w.Events, w.Errors
	}
	look := &look{listener: l}
	defer look.close()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	own := l.owner.id + lockSuffix
	for {
		select {
		case <-l.stop:
			return
		case e, ok := <-touched:
			switch {
			case !ok:
				touched = nil
				tick.Reset(pollAlone)
			case e.Has(fsnotify.Write) && filepath.Base(e.Name) != own:
				look.now()
			}
		case _, ok := <-lost: // such as an overflow of the queue
			if !ok {
				lost = nil
			}
			look.now()
		case <-tick.C:
			look.ifChanged()
		}
	}
}

// A look reads what has changed, on a connection of its own.
type look struct {
	*listener
	conn    *conn
	version int64
}

func (l *look) close() {
	if l.conn != nil {
		_ = l.conn.close()
	}
}

// now wakes the watches whose session has moved. A failure is only logged: the next look repeats it.
func (l *look) now() {
	if err := l.read(); err != nil {
		l.log.Warn("looking for commits of other processes", slog.Any("error", err))
	}
}

func (l *look) ifChanged() {
	if l.conn != nil {
		version, _, err := l.conn.number("PRAGMA data_version")
		if err == nil && version == l.version {
			return
		}
		l.version = version
	}
	l.now()
}

func (l *look) read() (err error) {
	if l.conn == nil {
		if l.conn, err = l.readers.dial(); err != nil {
			return err
		}
	}
	for _, key := range l.hub.watched() {
		last, ok, err := lastSeq(l.conn, key)
		switch {
		case err != nil:
			return err
		case ok:
			l.hub.advance(key, last)
		default:
			l.hub.vanish(key)
		}
	}
	_, err = l.conn.one("SELECT max(key) FROM sessions", func(row []driver.Value) error {
		if key, ok := row[0].(int64); ok {
			l.hub.appear(key)
		}
		return nil
	})
	return err
}

func lastSeq(c *conn, session int64) (last store.Seq, ok bool, err error) {
	next, ok, err := c.number("SELECT next_seq FROM sessions WHERE key=?", session)
	return store.Seq(next) - 1, ok, err
}
