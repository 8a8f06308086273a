package cloudtest_test

import (
	"fmt"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// The four scenes hold in the cloud, and again in a second session.
func TestScenes(t *testing.T) {
	clock := storetest.NewClock()
	play(t, cloudtest.New(t, clock, cloudtest.Options{}), clock)
}

// And whatever a caller must outlast happens meanwhile.
func TestScenesUnderFaults(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			clock := storetest.NewClock()
			b := cloudtest.New(t, clock, cloudtest.Options{Faults: awsfault.Storm(0.03), Seed: seed})
			play(t, b, clock)
			t.Logf("met %v", b.Faults())
		})
	}
}

func play(t *testing.T, b *cloudtest.Backend, clock *storetest.Clock) {
	t.Helper()
	st := b.Process(t)
	defer st.Close()
	for n := 1; n <= scene.Count; n++ {
		for range 2 {
			if err := scene.Run(t.Context(), n, st, clock, t.Logf); err != nil {
				t.Error(err)
			}
		}
	}
}
