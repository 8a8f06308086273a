package crashtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// TestRestart starts a process again that was killed in the middle of its tools, and prints how long the run stood still: from the start of
// the new process to its first durable step. The aim is 0.1 s; only that it carries on is asserted.
func TestRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	samples := 15
	if testing.Short() {
		samples = 3
	}
	var still []time.Duration
	for range samples {
		still = append(still, restart(ctx, t))
	}
	slices.Sort(still)
	t.Logf("a killed run's next durable step after the restart of its process: median %v, longest %v (%d restarts, synchronous=FULL)",
		still[len(still)/2], still[len(still)-1], len(still))
}

func restart(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	dir := t.TempDir()
	s := scenes()[0]
	first, err := start(ctx, order{Dir: dir, Full: true, Scene: s.name, doom: doom{Call: "UpdateRefs effect#1", At: storetest.After}})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := first.wait(); err != nil || f.killed == "" {
		t.Fatalf("the first process ended as %+v, error %v, want it killed", f, err)
	}
	since := time.Now()
	second, err := start(ctx, order{Dir: dir, Full: true, Scene: serves})
	if err != nil {
		t.Fatal(err)
	}
	if err := play(ctx, dir, true, idle); err != nil {
		t.Fatal(err)
	}
	if err := second.in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.wait(); err != nil {
		t.Fatal(err)
	}
	r, err := examine(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	r.judge(s)
	for _, p := range r.problems {
		t.Error(p)
	}
	after, ok := firstStep(r.events, since)
	if !ok {
		t.Fatalf("head %s did not move after the restart", sdk.DefaultHead)
	}
	return after
}
