package sqlitestore

import (
	"log/slog"
	"sync"
	"time"
)

// A checkpointer copies the log into the database while nobody writes, so that a busy time begins with an empty log and
// rarely has to stop for it.
type checkpointer struct {
	readers *readers
	log     *slog.Logger

	mu      sync.Mutex
	commits int
	timer   *time.Timer
	closed  bool
	running sync.WaitGroup
}

const (
	checkpointAfter = time.Second // without a commit
	checkpointFrom  = 64          // commits
)

func newCheckpointer(r *readers, log *slog.Logger) *checkpointer {
	return &checkpointer{readers: r, log: log}
}

// written notes one commit.
func (c *checkpointer) written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commits++
	switch {
	case c.commits < checkpointFrom || c.closed:
	case c.timer == nil:
		c.timer = time.AfterFunc(checkpointAfter, c.run)
	default:
		c.timer.Reset(checkpointAfter)
	}
}

func (c *checkpointer) run() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.commits = 0
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()

	conn, err := c.readers.dial()
	if err == nil {
		err = conn.script("PRAGMA wal_checkpoint(PASSIVE)")
		if end := conn.close(); err == nil {
			err = end
		}
	}
	if err != nil {
		c.log.Warn("the log was not copied into the database", slog.Any("error", err))
	}
}

func (c *checkpointer) close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.running.Wait()
}
