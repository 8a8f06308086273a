package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

// A process is a command that is running, with its output by lines.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	said  *bytes.Buffer // stderr
}

func start(t *testing.T, store string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), "stepwell", args...), lines: make(chan string, 10_000), said: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), boot.EnvStore+"="+store, boot.EnvPace+"=0s", "USER=ann")
	p.cmd.Stderr = p.said
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// await returns the lines up to the one that contains text.
func (p *process) await(t *testing.T, text string) []string {
	t.Helper()
	var got []string
	limit := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatalf("the process ended before it said %q:\n%s\n%s", text, strings.Join(got, "\n"), p.said)
			}
			got = append(got, line)
			if strings.Contains(line, text) {
				return got
			}
		case <-limit:
			t.Fatalf("there is still no %q:\n%s", text, strings.Join(got, "\n"))
		}
	}
}

func serveOn(t *testing.T, store, addr string) (*process, string) {
	t.Helper()
	p := start(t, store, "serve", "--json", "--addr", addr)
	var ready readyLine
	line := p.await(t, `"kind":"ready"`)
	if err := api.Unmarshal([]byte(line[len(line)-1]), &ready); err != nil {
		t.Fatal(err)
	}
	return p, strings.TrimPrefix(ready.URL, "http://")
}

// A watch outlives its server: when another one takes the address it comes back with its cursor, and shows every event once.
func TestWatch_outlivesItsServer(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "s.db")
	server, addr := serveOn(t, store, "127.0.0.1:0")
	if err := start(t, store, "send", "--wait", "one").cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	w := start(t, store, "watch", "--json", "--all")
	lines := w.await(t, `"kind":"synced"`)
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.cmd.Wait()
	serveOn(t, store, addr)
	if err := start(t, store, "send", "--wait", "two").cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	lines = append(lines, w.await(t, "You said: two")...)

	whole := start(t, store, "watch", "--json", "--all", "--no-follow").await(t, `"kind":"synced"`)
	want := map[string]bool{}
	for _, line := range whole {
		want[line] = true
	}
	seen := map[string]bool{}
	last := int64(0)
	for _, line := range lines {
		var e api.Event
		if err := api.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if streams(e.Body) {
			continue // deltas are merged as they come: how they are cut may differ
		}
		if e.Seq < last || seen[line] {
			t.Errorf("after seq %d came again: %s", last, line)
		}
		if !want[line] {
			t.Errorf("the history does not have: %s", line)
		}
		seen[line], last = true, e.Seq
	}
	for _, line := range whole {
		var e api.Event
		if err := api.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if !streams(e.Body) && e.Seq <= last && !seen[line] {
			t.Errorf("the watch missed: %s", line)
		}
	}
}

// A screen is what a person at a terminal sees.
type screen struct {
	mu  sync.Mutex
	all strings.Builder
	new chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	select {
	case s.new <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// await waits until text is on the screen n times.
func (s *screen) await(t *testing.T, n int, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		now := s.shown()
		if strings.Count(now, text) >= n {
			return
		}
		select {
		case <-s.new:
		case <-limit:
			t.Fatalf("there is still no %q on the screen:\n%s", text, now)
		}
	}
}

// A person types at a chat.
type person struct {
	*screen
	keys io.WriteCloser
	left chan int
}

func (p *person) types(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.keys, line); err != nil {
		t.Fatal(err)
	}
}

// leaves closes the terminal and returns the exit code.
func (p *person) leaves(t *testing.T) int {
	t.Helper()
	if err := p.keys.Close(); err != nil {
		t.Fatal(err)
	}
	return <-p.left
}

func sits(t *testing.T, store, name string, args ...string) *person {
	t.Helper()
	in, keys := io.Pipe()
	p := &person{screen: &screen{new: make(chan struct{}, 1)}, keys: keys, left: make(chan int, 1)}
	env := map[string]string{boot.EnvStore: store, boot.EnvPace: "0s", "USER": name}
	a := &app{
		in: in, out: p.screen, err: p.screen, typed: true, now: time.Now, pid: os.Getpid(),
		env: func(name string) string { return env[name] },
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() { p.left <- a.execute(ctx, append([]string{"chat"}, args...)) }()
	p.await(t, 1, "/help lists commands")
	return p
}

// Two people at two terminals talk in one session: each sees what the other says, the answer as it streams, and the question
// that either of them may answer.
func TestChat_twoPeople(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "s.db")
	serveOn(t, store, "127.0.0.1:0")
	ann := sits(t, store, "ann")
	bob := sits(t, store, "bob")
	ann.types(t, "hello from here")
	bob.await(t, 1, "ann: hello from here")
	bob.await(t, 1, "You said: hello from here")
	ann.await(t, 1, "You said: hello from here")

	bob.types(t, "ask")
	ann.await(t, 1, "3) Blue")
	bob.await(t, 1, "3) Blue")
	ann.types(t, "3")
	bob.await(t, 1, "ask says: Picked: Blue (blue)")
	ann.await(t, 1, "ask says: Picked: Blue (blue)")

	ann.types(t, "slow-tool 3600")
	bob.await(t, 1, "1 of 3600 seconds")
	bob.types(t, "/queue later")
	ann.await(t, 1, "by bob: later")
	ann.types(t, "/pending")
	ann.await(t, 1, "1  ")
	ann.types(t, "/cancel 1")
	bob.await(t, 1, "withdrawn")
	carol := sits(t, store, "carol")
	carol.await(t, 1, "2 of 3600 seconds") // she joins in the middle
	ann.types(t, "/abort")
	bob.await(t, 1, "the run was aborted")
	carol.await(t, 1, "the run was aborted")

	if strings.Contains(ann.shown(), "ann: hello from here") {
		t.Error("what ann typed is repeated on her terminal")
	}
	for _, p := range []*person{ann, bob, carol} {
		if code := p.leaves(t); code != exitOK {
			t.Errorf("a chat that is left exits with %d", code)
		}
	}
}
