package kernel_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// numbered reports whether a call counts as a place to cut: watching changes nothing, and when it begins is not determined.
func numbered(c storetest.Call) bool {
	return c.Op != storetest.OpWatchEvents && c.Op != storetest.OpReadEvents
}

// killAt plans the death of p at its nth numbered call.
func killAt(p kerneltest.Process, n int, at storetest.Moment) (reached func() bool) {
	count := new(atomic.Int64)
	p.Hook(at, func(c storetest.Call) {
		if numbered(c) && count.Add(1) == int64(n) {
			p.KillNow()
		}
	})
	return func() bool { return count.Load() >= int64(n) }
}

// failAt plans one error at p's nth numbered call, and reports which call it was.
func failAt(p kerneltest.Process, n int, at storetest.Moment) (reached func() bool) {
	count := new(atomic.Int64)
	p.FailNext(at, func(c storetest.Call) bool {
		return numbered(c) && count.Add(1) == int64(n)
	})
	return func() bool { return count.Load() >= int64(n) }
}

// killOne and failOne plan it for the process of a scenario.
func killOne(n int, at storetest.Moment) func(*kerneltest.Kit, kerneltest.Process) func() bool {
	return func(_ *kerneltest.Kit, p kerneltest.Process) func() bool { return killAt(p, n, at) }
}

func failOne(n int, at storetest.Moment) func(*kerneltest.Kit, kerneltest.Process) func() bool {
	return func(_ *kerneltest.Kit, p kerneltest.Process) func() bool { return failAt(p, n, at) }
}

// Whatever call a process dies in, before or after it took effect, others carry on: nothing is lost, done twice or left behind.
func TestCrash_EveryCallEveryCut(t *testing.T) {
	cuts := 0
	for _, sc := range kerneltest.Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			n, before := 1, cuts
			for reached := true; reached; n++ {
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					t.Run(fmt.Sprintf("%d %v", n, at), func(t *testing.T) {
						reached = sc.Play(t, kerneltest.Memory, killOne(n, at))
						if reached {
							cuts++
						}
					})
				}
				if n > 1000 {
					t.Fatal("a scenario of a thousand calls")
				}
			}
			t.Logf("%d cuts", cuts-before)
		})
	}
	t.Logf("%d cuts in %d scenarios", cuts, len(kerneltest.Scenarios()))
}

// The same on a file, for the scene about dying.
func TestCrash_Scene2OnSQLite(t *testing.T) {
	cuts := 0
	for _, sc := range kerneltest.Scenarios() {
		if !strings.HasPrefix(sc.Name, "scene 2") {
			continue
		}
		for n, reached := 1, true; reached; n++ {
			for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
				t.Run(fmt.Sprintf("%s/%d %v", sc.Name, n, at), func(t *testing.T) {
					reached = sc.Play(t, kerneltest.SQLite, killOne(n, at))
				})
				if reached {
					cuts++
				}
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// One call fails and the process lives on. Pieces of the stream may be missing, and the publish says so: the commit has it all.
func TestCrash_EverySingleFault(t *testing.T) {
	faults := 0
	for _, sc := range kerneltest.Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			n, before := 1, faults
			for reached := true; reached; n++ {
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					t.Run(fmt.Sprintf("%d %v", n, at), func(t *testing.T) {
						reached = sc.Play(t, kerneltest.Memory, failOne(n, at))
						if reached {
							faults++
						}
					})
				}
			}
			t.Logf("%d faults", faults-before)
		})
	}
	t.Logf("%d faults in %d scenarios", faults, len(kerneltest.Scenarios()))
}

// A second process dies too, while it recovers from the death of the first.
func TestCrash_PairsOfCuts(t *testing.T) {
	pairs := 0
	for _, sc := range kerneltest.Scenarios() {
		if sc.Name != "tool batch" && sc.Name != "expiry" {
			continue
		}
		for n, reached := 1, true; reached; n++ {
			for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
				for m, again := 1, true; again; m++ {
					t.Run(fmt.Sprintf("%s/%d and %d %v", sc.Name, n, m, at), func(t *testing.T) {
						var second func() bool
						twice := sc
						twice.Act = func(k *kerneltest.Kit, s *kernel.Session) error {
							if s != k.Session { // the first process
								return sc.Act(k, s)
							}
							p := k.Process()
							second = killAt(p, m, at)
							if err := sc.Act(k, p.Session); err == nil {
								return nil
							}
							k.SettleBusy()
							return sc.Act(k, s)
						}
						reached = twice.Play(t, kerneltest.Memory, killOne(n, at))
						again = second != nil && second()
					})
					if again {
						pairs++
					}
				}
			}
		}
	}
	t.Logf("%d pairs of cuts", pairs)
}
