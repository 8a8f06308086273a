package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// The test binary, started again with this variable, is another process on the same file. It obeys one command a line.
const childEnv = "STEPWELL_SQLITESTORE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := serve(context.Background(), path, os.Stdin, os.Stdout); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serve(ctx context.Context, path string, in io.Reader, out io.Writer) error {
	st, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	_, _ = fmt.Fprintln(out, "ready")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		word, arg, _ := strings.Cut(lines.Text(), " ")
		if word == "stream" {
			return stream(ctx, st, out)
		}
		answer, err := obey(ctx, st, word, arg)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(out, answer)
	}
	return nil
}

func obey(ctx context.Context, st *sqlitestore.Store, word, arg string) (string, error) {
	switch word {
	case "create":
		_, err := st.CreateSession(ctx, store.CreateOptions{ID: store.SessionID(arg)})
		return "created", err
	case "delete":
		return "deleted", st.DeleteSession(ctx, store.SessionID(arg))
	}
	s, err := st.OpenSession(ctx, "s")
	if err != nil {
		return "", err
	}
	switch word {
	case "acquire":
		out, err := s.AcquireLease(ctx, ref.Name(arg), time.Hour)
		if err != nil {
			return "", err
		}
		l := out.(store.Acquired).Lease
		return fmt.Sprintln(l.Owner, l.Fence), nil
	case "move":
		_, err := s.UpdateRefs(ctx, []store.Update{{Name: ref.Name(arg), To: oid(arg)}}, store.UpdateOptions{Reason: "test"})
		return "moved", err
	case "submit":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return "", err
		}
		return "submitted", submitMany(ctx, s, strconv.Itoa(os.Getpid()), n)
	}
	return "", fmt.Errorf("unknown command %q", word)
}

// submitMany appends to one chain, retrying conflicts.
func submitMany(ctx context.Context, s store.Session, who string, n int) error {
	for i := range n {
		for {
			tip, err := s.ReadRefs(ctx, "refs/queues/main/user/tip")
			if err != nil {
				return err
			}
			c, err := object.Encode(object.Change{Previous: tip[0], At: 1, Key: fmt.Sprint(who, "-", i), Body: object.SummaryBody{Text: who}})
			if err != nil {
				return err
			}
			out, err := s.UpdateRefs(ctx, []store.Update{{Name: "refs/queues/main/user/tip", From: tip[0], To: c.OID}},
				store.UpdateOptions{Reason: "submit", Objects: []object.Encoded{c}})
			if err != nil {
				return err
			}
			if _, ok := out.(store.Updated); ok {
				break
			}
		}
	}
	return nil
}

// stream submits until it is killed and says so after each.
func stream(ctx context.Context, st *sqlitestore.Store, out io.Writer) error {
	s, err := st.OpenSession(ctx, "s")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := submitMany(ctx, s, strconv.Itoa(i), 1); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(out, "submitted", i)
	}
}

// A child is another process.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

func start(t testing.TB, path string) *child {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	c := &child{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if got := c.line(); got != "ready" {
		t.Fatalf("the other process says %q", got)
	}
	return c
}

func (c *child) send(command string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, command)
	must(c.t, err)
}

func (c *child) line() string {
	c.t.Helper()
	for c.out.Scan() {
		if text := c.out.Text(); text != "" {
			return text
		}
	}
	c.t.Fatalf("the other process ended: %v", c.out.Err())
	return ""
}

func (c *child) do(command string) string {
	c.t.Helper()
	c.send(command)
	return c.line()
}

func (c *child) kill() {
	c.t.Helper()
	must(c.t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // it was killed
}

func TestProcesses_KilledHolderIsTakenOverAtOnce(t *testing.T) {
	path := newPath(t)
	st := open(t, path, nil)
	s := create(t, st, "s")
	const name = ref.Name("refs/heads/main")
	other := start(t, path)
	var theirs store.Lease
	if _, err := fmt.Sscan(other.do("acquire "+string(name)), &theirs.Owner, &theirs.Fence); err != nil {
		t.Fatal(err)
	}
	theirs.Name = name

	out, err := s.AcquireLease(t.Context(), name, time.Hour)
	must(t, err)
	held, ok := out.(store.Held)
	if !ok || held.Holder.Owner != theirs.Owner {
		t.Fatalf("while the holder lives AcquireLease = %#v, want Held by %s", out, theirs.Owner)
	}
	if _, ok, err := s.ReadLease(t.Context(), name); err != nil || !ok {
		t.Fatalf("while the holder lives ReadLease = %v, %v", ok, err)
	}

	other.kill()
	if _, ok, err := s.ReadLease(t.Context(), name); err != nil || ok {
		t.Errorf("the lease of a dead process is shown as live: %v, %v", ok, err)
	}
	out, err = s.AcquireLease(t.Context(), name, time.Hour)
	must(t, err)
	got, ok := out.(store.Acquired)
	if !ok || got.Lease.Fence <= theirs.Fence || !got.Takeover {
		t.Fatalf("AcquireLease = %#v, want a takeover with a fence above %d", out, theirs.Fence)
	}
	fenced, err := s.UpdateRefs(t.Context(), []store.Update{{Name: name, To: oid("x")}}, store.UpdateOptions{Reason: "test", Lease: &theirs})
	must(t, err)
	if _, ok := fenced.(store.Fenced); !ok {
		t.Errorf("an update under the dead process's lease = %#v, want Fenced", fenced)
	}
}

func TestProcesses_CommitWakesWatches(t *testing.T) {
	path := newPath(t)
	st := open(t, path, nil)
	st.NotifiedOnly()
	s := create(t, st, "s")
	other := start(t, path)

	events := make(chan store.Event)
	ended := make(chan error, 1)
	go func() {
		for e, err := range s.WatchEvents(t.Context(), 0) {
			if err != nil {
				ended <- err
				return
			}
			events <- e
		}
		ended <- nil
	}()
	sessions := make(chan store.SessionID)
	go func() {
		for id, err := range st.WatchSessions(t.Context()) {
			if err != nil {
				return
			}
			sessions <- id
		}
	}()
	if got := <-sessions; got != "s" {
		t.Fatalf("first session is %q, want s", got)
	}

	for i := range 20 {
		name := fmt.Sprintf("refs/r/%d", i)
		other.send("move " + name)
		e := <-events
		if body, ok := e.Body.(store.RefEvent); !ok || string(body.Name) != name || e.Seq != store.Seq(i+1) {
			t.Fatalf("event %#v, want the move of %s at %d", e, name, i+1)
		}
		other.line()
	}
	other.do("create later")
	if got := <-sessions; got != "later" {
		t.Errorf("next session is %q, want later", got)
	}
	other.do("delete s")
	if err := <-ended; !errors.Is(err, store.ErrUnknownSession) {
		t.Errorf("the watch of a removed session ended with %v, want ErrUnknownSession", err)
	}
}

func TestProcesses_InterleaveOnOneChain(t *testing.T) {
	const each = 500
	path := newPath(t)
	st := open(t, path, nil)
	s := create(t, st, "s")
	a, b := start(t, path), start(t, path)
	a.send(fmt.Sprint("submit ", each))
	b.send(fmt.Sprint("submit ", each))
	a.line()
	b.line()

	tip, err := s.ReadRefs(t.Context(), "refs/queues/main/user/tip")
	must(t, err)
	chain, err := s.Chain(t.Context(), tip[0], object.OID{}, 3*each)
	must(t, err)
	keys := make(map[string]bool)
	for _, e := range chain {
		keys[e.Object.(object.Change).Key] = true
	}
	if len(chain) != 2*each || len(keys) != 2*each {
		t.Errorf("the chain has %d entries with %d keys, want %d", len(chain), len(keys), 2*each)
	}
	events, err := s.ReadEvents(t.Context(), 0, 3*each)
	must(t, err)
	if len(events) != 2*each {
		t.Errorf("%d events, want %d", len(events), 2*each)
	}
	must(t, st.IntegrityCheck(t.Context()))
}

func TestProcesses_KilledWriterLosesNothingItAnswered(t *testing.T) {
	path := newPath(t)
	st := open(t, path, nil)
	s := create(t, st, "s")
	other := start(t, path)
	other.send("stream")
	const answered = 100
	for range answered {
		other.line()
	}
	other.kill()

	tip, err := s.ReadRefs(t.Context(), "refs/queues/main/user/tip")
	must(t, err)
	chain, err := s.Chain(t.Context(), tip[0], object.OID{}, 1<<20)
	must(t, err)
	last, err := s.LastSeq(t.Context())
	must(t, err)
	if len(chain) < answered || int(last) != len(chain) {
		t.Errorf("%d entries and %d events after %d answers; want as many entries as events, and no fewer than answers",
			len(chain), last, answered)
	}
	must(t, submitMany(t.Context(), s, "next", 1)) // nothing is left locked
	must(t, st.IntegrityCheck(t.Context()))
}

func TestHandles_ClosedHolderIsTakenOverAtOnce(t *testing.T) {
	path := newPath(t)
	st := open(t, path, nil)
	s := create(t, st, "s")
	holder, err := sqlitestore.Open(t.Context(), path, nil)
	must(t, err)
	out, err := reopen(t, holder, "s").AcquireLease(t.Context(), "refs/heads/main", time.Hour)
	must(t, err)
	first := out.(store.Acquired)
	if first.Takeover {
		t.Error("a first grant is called a takeover")
	}
	if out, err = s.AcquireLease(t.Context(), "refs/heads/main", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, ok := out.(store.Held); !ok {
		t.Fatalf("AcquireLease = %#v, want Held", out)
	}
	must(t, holder.Close())
	out, err = s.AcquireLease(t.Context(), "refs/heads/main", time.Hour)
	must(t, err)
	if got, ok := out.(store.Acquired); !ok || got.Lease.Fence != first.Lease.Fence+1 || !got.Takeover {
		t.Errorf("AcquireLease = %#v, want a takeover with fence %d", out, first.Lease.Fence+1)
	}
}
