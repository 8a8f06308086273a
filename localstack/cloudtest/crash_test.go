package cloudtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// sampled is every how many requests a short run cuts.
const sampled = 5

// openQuiet opens a backend whose watches ask when something happens, not when time passes: so the requests of a process are always the same.
func openQuiet(t testing.TB, clock *storetest.Clock) storetest.Backend {
	t.Helper()
	return cloudtest.New(t, clock, cloudtest.Options{Poll: time.Hour})
}

// Whatever request a process dies in, before or after it was carried out, others carry on: nothing is lost, done twice or left behind. What got
// no answer is done again by a process that has just started; the rest is done by the one that was there before and remembers an older state.
func TestCrash_EveryRequest(t *testing.T) {
	cuts := 0
	for _, sc := range kerneltest.Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			act := sc.Act
			sc.Act = func(k *kerneltest.Kit, s *kernel.Session) error {
				if s == k.Session {
					s = k.Process().Session
				}
				return act(k, s)
			}
			step := 1
			if testing.Short() {
				step = sampled
			}
			before := cuts
			for n, reached := 1, true; reached; n += step {
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					t.Run(fmt.Sprintf("%d %v", n, at), func(t *testing.T) {
						reached = sc.Play(t, openQuiet, func(k *kerneltest.Kit, _ kerneltest.Process) func() bool {
							b, ok := k.Backend.(*cloudtest.Backend)
							if !ok {
								t.Fatalf("the backend is %T", k.Backend)
							}
							p := b.Last()
							p.Kill(n, at)
							return p.Killed
						})
						if reached {
							cuts++
						}
					})
				}
			}
			t.Logf("%d cuts", cuts-before)
		})
	}
	t.Logf("%d cuts in %d scenarios", cuts, len(kerneltest.Scenarios()))
}
