package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A writer runs writes on the one connection that may. There is no goroutine of its own: a caller that finds the writer idle
// runs its call at once, without a hand-over; calls that arrive meanwhile queue up, and when the commit is done the first
// of them runs all of them in one transaction. So calls that arrive together share one COMMIT, which is one fsync, and
// nobody ever waits for company.
type writer struct {
	conn    *conn
	full    bool // synchronous FULL is asked for
	after   func(*tx)
	touched func() // tells that there is something to checkpoint

	relaxed bool // the connection is at synchronous NORMAL now; of the one who runs

	mu      sync.Mutex
	queue   []*task
	running bool
	closed  bool
	idle    chan struct{} // closed when the writer is closed and nobody runs

	commits int64  // of the one who runs
	hold    func() // for tests: called before a batch is taken
}

// A task is one queued call.
type task struct {
	ctx     context.Context //nolint:containedctx // of the one call that waits for the task
	run     func(*tx) error
	durable bool
	ready   chan bool // true: run the queue; false: done
	leads   bool
	err     error
}

// maxBatch bounds how long one transaction keeps other processes waiting.
const maxBatch = 256

// errUndo is returned by a call that wants its changes undone and is not an error.
var errUndo = errors.New("undo")

func newWriter(c *conn, full bool, after func(*tx), touched func()) *writer {
	return &writer{conn: c, full: full, after: after, touched: touched, idle: make(chan struct{})}
}

// do runs run inside a transaction and returns after its COMMIT. If run fails, its changes are undone and nobody else's. A ctx that
// ends while the call is queued withdraws it; once it has started, do waits for the result, so that a known outcome is not turned
// into an unknown one. A call that is not durable may be committed without an fsync of its own.
func (w *writer) do(ctx context.Context, durable bool, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &task{ctx: ctx, run: run, durable: durable}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return store.ErrClosed
	}
	w.queue = append(w.queue, t)
	if !w.running {
		w.running, t.leads = true, true
		w.mu.Unlock()
	} else {
		t.ready = make(chan bool, 1)
		w.mu.Unlock()
		if !w.await(t) {
			return t.err
		}
	}
	w.lead(t)
	return t.err
}

// await waits for t's turn to lead; it returns false when t is done.
func (w *writer) await(t *task) (lead bool) {
	select {
	case lead = <-t.ready:
		return lead
	case <-t.ctx.Done():
	}
	if w.withdraw(t) {
		t.err = t.ctx.Err()
		return false
	}
	return <-t.ready
}

func (w *writer) withdraw(t *task) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, q := range w.queue {
		if q == t && !t.leads {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			return true
		}
	}
	return false
}

// lead runs one batch, with own in it, and passes the lead on.
func (w *writer) lead(own *task) {
	if w.hold != nil {
		w.hold()
	}
	w.mu.Lock()
	n := min(len(w.queue), maxBatch)
	batch := append([]*task(nil), w.queue[:n]...)
	w.queue = append(w.queue[:0], w.queue[n:]...)
	w.mu.Unlock()

	live := batch[:0:len(batch)]
	for _, t := range batch {
		if t.err = t.ctx.Err(); t.err == nil {
			live = append(live, t)
		}
	}
	if len(live) > 0 {
		w.transact(live)
	}

	w.mu.Lock()
	if len(w.queue) > 0 {
		next := w.queue[0]
		next.leads = true
		next.ready <- true
	} else {
		w.running = false
		if w.closed {
			close(w.idle)
		}
	}
	w.mu.Unlock()
	for _, t := range batch {
		if t != own {
			t.ready <- false
		}
	}
}

// transact runs the batch in one transaction. One commit is one fsync: of the log, whose frames the transaction has appended.
func (w *writer) transact(batch []*task) {
	tx := &tx{conn: w.conn}
	err := w.begin(batch)
	if err == nil {
		var write bool
		if write, err = tx.runAll(batch); err == nil {
			err = w.end(tx, write)
		}
		if err != nil {
			_, _ = w.conn.exec("ROLLBACK") // fails when SQLite has rolled back by itself
		}
	}
	for _, t := range batch {
		switch {
		case err != nil && (t.err == nil || errors.Is(t.err, errUndo)):
			t.err = fmt.Errorf("writing to the store: %w", err)
		case errors.Is(t.err, errUndo):
			t.err = nil
		}
	}
	if err == nil {
		w.after(tx)
	}
}

func (w *writer) end(tx *tx, write bool) error {
	if !write {
		_, err := w.conn.exec("ROLLBACK")
		return err
	}
	if err := tx.storePositions(); err != nil {
		return err
	}
	if _, err := w.conn.exec("COMMIT"); err != nil {
		return err
	}
	w.commits++
	w.touched()
	return nil
}

// Another process may hold the write lock. SQLite's own busy handler soon sleeps 100 ms between two tries, which starves a process
// beside one that commits all the time; this one tries every millisecond at least.
const (
	busyTimeout = 10 * time.Second
	firstWait   = 100 * time.Microsecond
	longestWait = time.Millisecond
)

func (w *writer) begin(batch []*task) error {
	durable := false
	for _, t := range batch {
		durable = durable || t.durable
	}
	if err := w.setSync(durable); err != nil {
		return err
	}
	wait := firstWait
	for waited := time.Duration(0); ; waited += wait {
		_, err := w.conn.exec("BEGIN IMMEDIATE")
		if err == nil || !isBusy(err) {
			return err
		}
		if waited > busyTimeout {
			return fmt.Errorf("another process has held the write lock for %v: %w", busyTimeout, err)
		}
		time.Sleep(wait)
		wait = min(2*wait, longestWait)
	}
}

// setSync chooses whether the next commit waits for an fsync.
//
// Transactions of leases alone do not. A lease is liveness and ends with its holder, and all holders run on this machine. If
// the machine dies before the log is synced, a grant and its fence may be forgotten, and the fence given out again; by then
// the earlier holder is dead, and it has left no trace under that fence: any write of its would have been a durable
// commit later in the same log, whose fsync includes the grant. So for every write that survives, fences still only go up, and
// a grant that was forgotten is known to no one. Owners are unique besides, and a fence never counts without its owner.
func (w *writer) setSync(durable bool) error {
	relaxed := w.full && !durable
	if !w.full || relaxed == w.relaxed {
		return nil
	}
	mode := "FULL"
	if relaxed {
		mode = "NORMAL"
	}
	if err := w.conn.script("PRAGMA synchronous=" + mode); err != nil {
		return err
	}
	w.relaxed = relaxed
	return nil
}

// close refuses further calls, ends the queued ones and waits for the running one.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		keep := w.queue[:0]
		for _, t := range w.queue {
			if t.leads {
				keep = append(keep, t)
				continue
			}
			t.err = store.ErrClosed
			t.ready <- false
		}
		w.queue = keep
		if !w.running {
			close(w.idle)
		}
	}
	w.mu.Unlock()
	<-w.idle
}
