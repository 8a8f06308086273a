package stacktest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// running returns the processes of a function of the stack.
func (s *stack) running(function string) (pids []int) {
	s.Helper()
	want := []byte("AWS_LAMBDA_FUNCTION_NAME=" + s.Functions[function])
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.Fatal(err)
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return bytes.Equal(v, want) }) {
			continue // it has ended, or is somebody else's
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends every process of a function at once, and returns when.
func (s *stack) kill(function string) time.Time {
	s.Helper()
	for range 100 {
		if pids := s.running(function); len(pids) > 0 {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatalf("no process of %s is running", function)
	return time.Time{}
}

// Scene 2. The step is killed while a tool runs that must not run twice. The watchdog's message finds the lease expired; the call is answered as
// interrupted, and the run carries on. Whoever watches sees a pause.
func (s *stack) killed(t *testing.T) {
	s = s.in(t)
	c := s.as("acme", "ann")
	id := s.create(c)
	s.send(c, id, "slow-tool 30", "k")
	s.until(c, id, "the tool", func(snap api.Snapshot) bool { return has(snap, "I call a slow tool.") })
	seq := s.intent(c, id)
	s.kill("step")
	snap := s.idle(c, id)
	if !has(snap, "slow: ", "interrupted") {
		t.Errorf("said %q", lines(snap))
	}
	t.Logf("the intent was event %d; the run ends at event %d", seq, snap.Seq)
	s.check(c, id)
}

// intent waits until a call is open, and returns the newest event then.
func (s *stack) intent(c api.Service, id api.SessionID) int64 {
	s.Helper()
	for range 200 {
		refs, err := c.Refs(s.Context(), api.RefsOptions{SessionID: id, Prefix: "refs/effects/"})
		if err != nil {
			s.Fatal(err)
		}
		if len(refs) > 0 {
			snap, err := c.Snapshot(s.Context(), api.HeadOptions{SessionID: id})
			if err != nil {
				s.Fatal(err)
			}
			return snap.Seq
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatal("no call was opened")
	return 0
}

// TestTakeover measures how long a killed step stands still: it is killed in the middle of a model call, and the first new event is waited for. The
// step is asked for over HTTP, since the emulator's one poller of queues waits for a function that was killed. The aim is the lease's 3 s and 2 more; it is
// printed, and only that the run is taken over is asserted.
func TestTakeover(t *testing.T) {
	t.Parallel()
	s := up(t, map[string]string{"wakeOff": "queue,stream,sweep", "pace": "20ms"})
	kills := 20
	var took []time.Duration
	for i := range kills {
		c := s.as("acme", fmt.Sprint("user-", i))
		id := s.create(c)
		s.send(c, id, "long 500", "k")
		if _, err := c.Step(t.Context(), api.HeadOptions{SessionID: id}); err != nil { // lands
			t.Fatal(err)
		}
		go func() { _, _ = c.Step(t.Context(), api.HeadOptions{SessionID: id}) }() // is killed
		s.until(c, id, "the run", func(snap api.Snapshot) bool { return snap.Run != nil && snap.Run.Lease != nil })
		time.Sleep(time.Duration(300+100*i) * time.Millisecond) // at another moment each time
		at := s.kill("step")
		before := s.seq(c, id)
		s.until(c, id, "the takeover", func(snap api.Snapshot) bool { return snap.Seq > before })
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	var all []string
	for _, d := range took {
		all = append(all, d.Round(10*time.Millisecond).String())
	}
	t.Logf("from SIGKILL to the first new event, with a lease of 3 s: median %v, longest %v of %d; aim 5 s; all: %s",
		took[len(took)/2].Round(10*time.Millisecond), took[len(took)-1].Round(10*time.Millisecond), len(took), strings.Join(all, " "))
}

func (s *stack) seq(c api.Service, id api.SessionID) int64 {
	s.Helper()
	snap, err := c.Snapshot(s.Context(), api.HeadOptions{SessionID: id})
	if err != nil {
		s.Fatal(err)
	}
	return snap.Seq
}
