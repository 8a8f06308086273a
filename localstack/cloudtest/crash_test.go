package cloudtest_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// sampled is every how many requests a short run cuts.
const sampled = 5

// openQuiet opens a backend whose watches ask when something happens, not when time passes: so a process makes the same requests every time,
// but for the order of those that a watch makes beside.
func openQuiet(t testing.TB, clock *storetest.Clock) storetest.Backend {
	t.Helper()
	return cloudtest.New(t, clock, cloudtest.Options{Poll: time.Hour})
}

// A way is what can happen to a process at its nth request.
type way struct {
	name string
	plan func(n int) awsfault.Plan
}

// deaths are the ends of a process at a request.
func deaths() []way {
	return []way{
		{"before", func(n int) awsfault.Plan { return awsfault.Kill(n, false) }},
		{"after", func(n int) awsfault.Plan { return awsfault.Kill(n, true) }},
	}
}

// losses are what keeps one answer from coming.
func losses() []way {
	one := func(e awsfault.Effect) func(int) awsfault.Plan {
		return func(n int) awsfault.Plan { return awsfault.Plan{{What: e, Nth: n}} }
	}
	return []way{
		{"request lost", one(awsfault.LoseRequest{})},
		{"response lost", one(awsfault.LoseResponse{})},
		{"request late", one(awsfault.Late{After: 2})},
	}
}

// scenarios are those of the kernel, and those that differ where large objects are kept apart.
func scenarios() []kerneltest.Scenario {
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 20<<10)
	_, _ = random.Read(noise) // it never fails
	text := hex.EncodeToString(noise)
	loose := make([]object.Encoded, 3)
	return append(kerneltest.Scenarios(), kerneltest.Scenario{
		Name: "a large message and its answer",
		Act: func(k *kerneltest.Kit, s *kernel.Session) error {
			opts := kernel.SubmitOptions{Head: kerneltest.Head, Lane: kerneltest.Queue, Body: k.User(text), Key: "large"}
			if _, err := s.Submit(k.Ctx, opts); err != nil {
				return err
			}
			return kerneltest.Drive(k, s)
		},
		Texts: [][]string{{"u:" + text, "a:re: " + text}},
	}, kerneltest.Scenario{
		Name: "collect large garbage",
		Setup: func(k *kerneltest.Kit) {
			kerneltest.Stepped(text, 2)(k)
			for i := range loose {
				loose[i] = kerneltest.Must(object.Encode(object.Blob{Value: jsontext.Value(fmt.Sprintf(`"%d %s"`, i, text))}))(k)
			}
			if err := k.PutObjects(k.Ctx, loose); err != nil {
				k.Fatal(err)
			}
			k.Clock.Advance(2 * kerneltest.Grace)
		},
		Act: func(k *kerneltest.Kit, s *kernel.Session) error {
			if _, err := s.Collect(k.Ctx, kerneltest.Grace); err != nil {
				return err
			}
			for _, o := range loose {
				_, there, err := s.GetObject(k.Ctx, o.OID)
				if err != nil {
					return err
				}
				if there {
					k.Errorf("garbage is still there after it was collected")
				}
			}
			return nil
		},
		Texts: [][]string{{"u:" + text, "a:re: " + text}},
	})
}

// everyRequest plays scenarios, as change makes them, each way at every request of theirs.
func everyRequest(t *testing.T, ways []way, change func(sc *kerneltest.Scenario) (play bool)) {
	t.Helper()
	var total atomic.Int64
	t.Cleanup(func() { t.Logf("%d in all", total.Load()) })
	for i := range scenarios() {
		sc := scenarios()[i] // of its own: they remember what they do
		if !change(&sc) {
			continue
		}
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			step := 1
			if testing.Short() {
				step = sampled
			}
			places := 0
			for n, reached := 1, true; reached; n += step {
				for _, w := range ways {
					t.Run(fmt.Sprintf("%d %s", n, w.name), func(t *testing.T) {
						reached = sc.Play(t, openQuiet, func(k *kerneltest.Kit, _ kerneltest.Process) func() bool {
							b, ok := k.Backend.(*cloudtest.Backend)
							if !ok {
								t.Fatalf("the backend is %T", k.Backend)
							}
							p := b.Last()
							p.Meet(w.plan(n))
							return p.Met
						})
						if reached {
							places++
						}
					})
				}
			}
			total.Add(int64(places))
			t.Logf("%d at %d requests", places, (places+len(ways)-1)/len(ways))
		})
	}
}

// Whatever request a process dies in, before or after it was carried out, others carry on: nothing is lost, done twice or left behind. What got
// no answer is done again by a process that has just started; the rest is done by the one that was there before and remembers an older state.
func TestCrash_EveryRequest(t *testing.T) {
	everyRequest(t, deaths(), func(sc *kerneltest.Scenario) bool {
		act := sc.Act
		sc.Act = func(k *kerneltest.Kit, s *kernel.Session) error {
			if s == k.Session {
				s = k.Process().Session
			}
			return act(k, s)
		}
		return true
	})
}

// Whatever request gets no answer, whether it was carried out or not or is yet to be, the store finds out what became of it: nobody sees an
// error, and all is as if nothing had happened. Scenarios that put others together are left out, for the time they take.
func TestNoAnswer_EveryRequest(t *testing.T) {
	composed := []string{"wake", "abort while waiting", "retry", "create, work, merge"}
	everyRequest(t, losses(), func(sc *kerneltest.Scenario) bool {
		act := sc.Act
		if sc.Name != "abort in flight" { // of which either outcome is one without faults
			sc.Texts = sc.Texts[:1]
		}
		sc.Act = func(k *kerneltest.Kit, s *kernel.Session) error {
			err := act(k, s)
			if err != nil {
				k.Errorf("a lost answer came through: %v", err)
			}
			return err
		}
		return !strings.HasPrefix(sc.Name, "scene ") && !slices.Contains(composed, sc.Name)
	})
}
