package cloudtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// The four scenes hold in the cloud, and again in a second session.
func TestScenes(t *testing.T) {
	clock := storetest.NewClock()
	play(t, cloudtest.New(t, clock, cloudtest.Options{}), clock)
}

// And whatever a caller must outlast happens meanwhile.
func TestScenesUnderFaults(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			clock := storetest.NewClock()
			b := cloudtest.New(t, clock, cloudtest.Options{Faults: awsfault.Storm(0.03), Seed: seed})
			play(t, b, clock)
			t.Logf("met %v", b.Faults())
		})
	}
}

// apart opens every session in a process of its own, so that nothing is shared but the cloud.
type apart struct {
	*cloudtest.Process

	t *testing.T
	b *cloudtest.Backend
}

// OpenSession implements [store.Store].
func (a apart) OpenSession(ctx context.Context, id store.SessionID) (store.Session, error) {
	return a.b.Process(a.t).OpenSession(ctx, id)
}

func play(t *testing.T, b *cloudtest.Backend, clock *storetest.Clock) {
	t.Helper()
	st := apart{b.Process(t), t, b}
	for n := 1; n <= scene.Count; n++ {
		for range 2 {
			if err := scene.Run(t.Context(), n, st, clock, t.Logf); err != nil {
				t.Error(err)
			}
		}
	}
}
