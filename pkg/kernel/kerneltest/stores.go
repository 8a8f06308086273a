package kerneltest

import (
	"path/filepath"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// Stores runs a test over every embedded store.
func Stores(t *testing.T, test func(t *testing.T, open storetest.Opener)) {
	t.Helper()
	t.Run("mem", func(t *testing.T) { test(t, Memory) })
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite) })
}

// Memory opens sessions in memory. It is a [storetest.Opener].
func Memory(_ testing.TB, clock *storetest.Clock) storetest.Backend {
	return memory{memstore.New(&memstore.Options{Now: clock.Now})}
}

type memory struct{ *memstore.Store }

// Open implements [storetest.Backend].
func (m memory) Open(testing.TB) store.Store { return m.Another() }

// SQLite opens sessions in a file that the test removes. It is a [storetest.Opener].
func SQLite(t testing.TB, clock *storetest.Clock) storetest.Backend {
	return file{filepath.Join(t.TempDir(), "kernel.db"), clock}
}

type file struct {
	path  string
	clock *storetest.Clock
}

// Open implements [storetest.Backend].
func (f file) Open(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), f.path, &sqlitestore.Options{Now: f.clock.Now, Synchronous: sqlitestore.Normal})
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	return s
}
