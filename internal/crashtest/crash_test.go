package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// patience is how long anything may take before the test gives up. Nothing is asserted about time.
const patience = 30 * time.Second

// TestKilledAtEveryStoreCall plays every scene again and again. Each time one process is killed at the next store call, before or after the
// call took effect; another opens the file at once, without waiting for a lease to expire, and carries on.
func TestKilledAtEveryStoreCall(t *testing.T) {
	total := 0
	for _, full := range []bool{false, true} {
		for _, s := range scenes() {
			if full && (testing.Short() || s.name == "parks" || s.name == "steps") {
				continue // these write as the other scenes do
			}
			name := s.name
			if full {
				name += "/full"
			}
			t.Run(name, func(t *testing.T) {
				v := &survey{scene: s, full: full, stride: 1, stage: t.TempDir(), killed: map[doom]int{}, outcomes: map[string]int{}}
				if testing.Short() {
					v.stride = 9
				}
				v.run(t)
				total += v.kills
			})
		}
	}
	t.Logf("kills in all scenes: %d", total)
}

// A survey enumerates the store calls of a scene's process.
type survey struct {
	scene
	full   bool
	stride int    // every call, or one of so many
	stage  string // what was there before the scene, to be copied for each kill

	mu          sync.Mutex
	kills       int
	outlived    int            // a watch that saw nothing has no moment after
	calls       int            // of a process that was not killed, at most
	killed      map[doom]int   // by name and moment
	writes      []string       // of a process that was not killed
	outcomes    map[string]int // of the tool that must not run twice
	interrupted int
	restarts    []time.Duration
}

func (v *survey) run(t *testing.T) {
	for _, before := range v.before {
		if err := play(t.Context(), v.stage, v.full, before); err != nil {
			t.Fatalf("before the scene: %v", err)
		}
	}
	for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
		v.each(t, func(i int) (doom, bool) { return doom{N: 1 + i*v.stride, At: at}, true })
	}
	if v.stride == 1 && !t.Failed() {
		// Goroutines of a process take turns as they like, so that a call may have another number each time. No write is left out for that.
		var missed []doom
		for _, name := range slices.Concat(v.writes, v.scene.writes) {
			for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
				if d := (doom{Call: name, At: at}); v.killed[d] == 0 && !slices.Contains(missed, d) {
					missed = append(missed, d)
				}
			}
		}
		v.each(t, func(i int) (doom, bool) {
			if i < len(missed) {
				return missed[i], true
			}
			return doom{}, false
		})
		for _, name := range v.scene.writes {
			for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
				if v.killed[doom{Call: name, At: at}] == 0 {
					t.Errorf("no process was killed %s %s", at, name)
				}
			}
		}
		if v.interrupts && v.interrupted == 0 {
			t.Error("no kill interrupted the tool that must not run twice")
		}
		if v.kills < v.floor {
			t.Errorf("%d kills, want at least %d", v.kills, v.floor)
		}
	}
	slices.Sort(v.restarts)
	if len(v.restarts) > 0 {
		t.Logf("a successor's first durable step: median %v, longest %v after it began to open the file (%d restarts)",
			v.restarts[len(v.restarts)/2], v.restarts[len(v.restarts)-1], len(v.restarts))
	}
	t.Logf("%d calls at most, outlived %d, the never tool: %v", v.calls, v.outlived, v.outcomes)
	t.Logf("%s", strings.Join(slices.Sorted(maps.Keys(names(v.killed))), ", "))
	t.Logf("kills: %d", v.kills)
}

func names(killed map[doom]int) map[string]int {
	out := make(map[string]int)
	for d, n := range killed {
		out[d.Call] += n
	}
	return out
}

// each plays the scene for every doom, two at a time, until there is none or several processes made fewer calls than their doom asks for.
func (v *survey) each(t *testing.T, next func(i int) (doom, bool)) {
	var workers sync.WaitGroup
	const several = 4
	i, beyond := 0, 0
	for range 2 {
		workers.Go(func() {
			for {
				v.mu.Lock()
				d, ok := next(i)
				i++
				stop := beyond >= several || !ok || t.Failed()
				v.mu.Unlock()
				if stop {
					return
				}
				f, err := v.kill(t, d)
				if err != nil {
					t.Errorf("killed %v: %v", d, err)
				}
				v.mu.Lock()
				if err == nil && f.killed == "" && f.n < d.N {
					beyond++
				}
				v.mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// kill plays the scene once with a process that d kills, and judges what came of it.
func (v *survey) kill(t *testing.T, d doom) (fate, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, err := copyDir(v.stage)
	if err != nil {
		return fate{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := start(ctx, order{Dir: dir, Full: v.full, Scene: v.name, doom: d})
	if err != nil {
		return fate{}, err
	}
	f, err := c.wait()
	if err != nil {
		return f, err
	}
	restart := time.Now()
	if f.killed != "" {
		if err := play(ctx, dir, v.full, v.act); err != nil {
			return f, fmt.Errorf("#%d %s: the successor: %w", f.n, f.killed, err)
		}
	}
	if v.after != nil {
		if err := play(ctx, dir, v.full, v.after); err != nil {
			return f, fmt.Errorf("#%d %s: afterwards: %w", f.n, f.killed, err)
		}
	}
	r, err := examine(ctx, dir)
	if err != nil {
		return f, fmt.Errorf("#%d %s: %w", f.n, f.killed, err)
	}
	outcome := r.judge(v.scene)
	if len(r.problems) > 0 {
		return f, fmt.Errorf("#%d %s: %s", f.n, f.killed, strings.Join(r.problems, "; "))
	}
	v.count(d, f, r, outcome, restart)
	return f, nil
}

func (v *survey) count(d doom, f fate, r *record, outcome string, restart time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case f.killed != "":
		v.kills++
		v.killed[doom{Call: f.killed, At: d.At}]++
		if after, ok := firstStep(r.events, restart); ok {
			v.restarts = append(v.restarts, after)
		}
	case f.n >= d.N && d.Call == "":
		v.outlived++
		fallthrough
	default:
		v.calls = max(v.calls, f.n)
		v.writes = f.writes
	}
	if outcome == view.Interrupted {
		outcome = "interrupted"
		v.interrupted++
	}
	v.outcomes[fmt.Sprintf("%s, ran %d times", outcome, r.runs["pay 1"])]++
}

// firstStep returns how long after since a runner published.
func firstStep(events []store.Event, since time.Time) (time.Duration, bool) {
	for _, e := range events {
		b, ok := e.Body.(store.RefEvent)
		if ok && b.Reason != "submit" && b.Reason != "signal" && b.Reason != "fact" && e.At.Time().After(since) {
			return e.At.Time().Sub(since), true
		}
	}
	return 0, false
}

// play lets a process that ends well play its part.
func play(ctx context.Context, dir string, full bool, do part) error {
	p, err := openProcess(ctx, dir, full)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, p), p.Close())
}

// copyDir copies the plain files of dir, those of a store that is closed, into a new directory below it.
func copyDir(dir string) (string, error) {
	to, err := os.MkdirTemp(dir, "copy")
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), data, 0o600); err != nil {
			return "", err
		}
	}
	return to, nil
}
