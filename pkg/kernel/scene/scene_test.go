package scene_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// The four scenes hold on every embedded store, and again in a second session of it.
func TestScenes(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *storetest.Clock) store.Store{
		"mem": func(_ *testing.T, clock *storetest.Clock) store.Store {
			return memstore.New(&memstore.Options{Now: clock.Now})
		},
		"sqlite": func(t *testing.T, clock *storetest.Clock) store.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "scenes.db"),
				&sqlitestore.Options{Now: clock.Now, Synchronous: sqlitestore.Normal})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			st := open(t, clock)
			defer st.Close()
			for n := 1; n <= scene.Count; n++ {
				for range 2 {
					if err := scene.Run(t.Context(), n, st, clock, t.Logf); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

func TestSceneNumber(t *testing.T) {
	clock := storetest.NewClock()
	for _, n := range []int{-1, 0, scene.Count + 1} {
		err := scene.Run(t.Context(), n, memstore.New(nil), clock, t.Logf)
		if !isInvalid(err) {
			t.Errorf("scene %d: got error %v, want %v", n, err, kernel.ErrInvalid)
		}
	}
}

func isInvalid(err error) bool { return errors.Is(err, kernel.ErrInvalid) }
