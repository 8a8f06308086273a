package inittest_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// patience is how long a function may take to start before the test gives up.
	patience = 30 * time.Second
	// linger is how long a traced function goes on after it has asked for an invocation, in case it asks others for something then.
	linger = 50 * time.Millisecond
	// listed is how many of the slowest packages are printed.
	listed = 5
)

// parameter is what the world answers: a parameter's value, for whoever asks for one.
const parameter = `{"Parameter":{"Value":"key"}}`

// A platform plays the runtime of the platform, which never has an invocation, and the world, where everything that is asked is counted.
type platform struct {
	runtime, world *httptest.Server
	ready          chan time.Time // a function has asked for an invocation
	asked          atomic.Int64
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{ready: make(chan time.Time, 1)}
	p.runtime = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		if r.URL.Path != "/2018-06-01/runtime/invocation/next" {
			http.NotFound(w, r)
			return
		}
		select {
		case p.ready <- now:
		default:
		}
		<-r.Context().Done() // the function is ended
	}))
	t.Cleanup(p.runtime.Close)
	p.world = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		_, _ = io.WriteString(w, parameter)
	}))
	t.Cleanup(p.world.Close)
	return p
}

// start starts a function and ends it. It returns how long it took to ask for its first invocation, and the CPU time that it used.
func (p *platform) start(t *testing.T, binary string) (took, used time.Duration) {
	t.Helper()
	took, used, _ = p.run(t, binary, 0)
	return took, used
}

func (p *platform) run(t *testing.T, binary string, linger time.Duration, env ...string) (took, used time.Duration, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-p.ready: // of a function that is gone
	default:
	}
	cmd := exec.CommandContext(ctx, binary)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env(env...), &out, &out
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case at := <-p.ready:
		took = at.Sub(begun)
	case err := <-ended:
		t.Fatalf("%s ended before it asked for an invocation: %v\n%s", binary, err, out.String())
	}
	time.Sleep(linger)
	_ = cmd.Process.Kill()
	<-ended
	return took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out.String()
}

// An inits is what the packages of a function did before its main, as GODEBUG=inittrace=1 tells. Packages with nothing to do are not told of.
type inits struct {
	packages, bytes, allocs int
	took                    time.Duration
	slowest                 []string
}

// trace starts a function that says what its packages do.
func (p *platform) trace(t *testing.T, binary string) inits {
	t.Helper()
	_, _, said := p.run(t, binary, linger, "GODEBUG=inittrace=1")
	type one struct {
		name string
		ms   float64
	}
	var all []one
	var out inits
	for line := range strings.Lines(said) {
		rest, ok := strings.CutPrefix(line, "init ")
		if !ok {
			continue
		}
		var i one
		var at float64
		var size, allocs int
		if _, err := fmt.Sscanf(rest, "%s @%f ms, %f ms clock, %d bytes, %d allocs", &i.name, &at, &i.ms, &size, &allocs); err != nil {
			t.Fatalf("reading the trace line %q: %v", line, err)
		}
		all = append(all, i)
		out.packages++
		out.bytes += size
		out.allocs += allocs
		out.took += time.Duration(i.ms * float64(time.Millisecond))
	}
	if len(all) == 0 {
		t.Fatalf("%s traced no package:\n%s", binary, said)
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(b.ms, a.ms) })
	for _, i := range all[:min(listed, len(all))] {
		out.slowest = append(out.slowest, number(i.ms)+" ms "+i.name)
	}
	return out
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

func ms(d time.Duration) string { return number(float64(d) / 1e6) }

func whole(n int) string { return strconv.Itoa(n) }
