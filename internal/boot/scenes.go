package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// SceneCount is the number of scenes that [PlayScene] has.
const SceneCount = scene.Count

// SceneTitle returns scene n in one line.
func SceneTitle(n int) string { return scene.Titles()[n] }

// PlayScene plays scene n on a new store, which it throws away, and tells every step to say. In memory says which store. The
// scene's clock starts at start and is moved, so that nobody waits.
func PlayScene(ctx context.Context, n int, inMemory bool, start time.Time, say func(format string, args ...any)) (err error) {
	clock := &movedClock{at: start}
	if inMemory {
		st := memstore.New(&memstore.Options{Now: clock.Now})
		defer func() { err = errors.Join(err, st.Close()) }()
		return scene.Run(ctx, n, store.Store(st), clock, say)
	}
	dir, err := os.MkdirTemp("", "stepwell-scene-")
	if err != nil {
		return fmt.Errorf("making a directory for the scene's store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := sqlitestore.Open(ctx, filepath.Join(dir, "scene.db"), &sqlitestore.Options{Now: clock.Now})
	if err != nil {
		return fmt.Errorf("opening the scene's store: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return scene.Run(ctx, n, st, clock, say)
}

// A movedClock stands still until it is moved.
type movedClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *movedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *movedClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
