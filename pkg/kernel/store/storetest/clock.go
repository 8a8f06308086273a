package storetest

import (
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Clock is a clock that stands still until a test moves it. It may be used from many goroutines.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at the start of 2026, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Millis returns the clock's time as a store writes it.
func (c *Clock) Millis() store.Millis { return store.Millis(c.Now().UnixMilli()) }

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set moves the clock to t, also backwards.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
