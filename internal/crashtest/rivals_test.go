package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// Rivals are two runner processes on one file. Each is killed at a call drawn from a seed and started again, until there were enough kills.
type rivals struct {
	dir    string
	enough int
	draw   *rand.Rand

	mu      sync.Mutex
	kills   int
	stopped bool
	inputs  map[int]io.Closer // of the living, by place
}

// TestRivalRunners submits messages while two runners are killed and started again. All are answered once, in their order.
func TestRivalRunners(t *testing.T) {
	seeds := 4
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { rivalRunners(t, uint64(seed)) })
	}
}

func rivalRunners(t *testing.T, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const messages, enough = 40, 20
	dir := t.TempDir()
	phone, err := openProcess(ctx, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = phone.Close() }()
	if err := create(ctx, phone); err != nil {
		t.Fatal(err)
	}
	r := &rivals{dir: dir, enough: enough, draw: rand.New(rand.NewPCG(seed, 1)), inputs: map[int]io.Closer{}}
	errs := make([]error, 2)
	var places sync.WaitGroup
	for place := range errs {
		places.Go(func() { errs[place] = r.keepAlive(ctx, place) })
	}
	said, err := submitWhile(ctx, phone, messages, func() bool { return r.count() < enough })
	r.stop()
	places.Wait()
	if err := errors.Join(append(errs, err, phone.Close())...); err != nil {
		t.Fatalf("after %d kills and %d messages: %v", r.kills, len(said), err)
	}

	got, err := examine(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	got.judgeAll(said)
	for _, p := range got.problems {
		t.Error(p)
	}
	t.Logf("%d messages, kills: %d", len(said), r.kills)
}

// submitWhile submits messages, at least so many and as long as more is true, and lets a few pile up each time. Every third is submitted
// twice, as by somebody who did not get the receipt.
func submitWhile(ctx context.Context, phone *process, atLeast int, more func() bool) (said []string, err error) {
	for i := 0; i < atLeast || more(); i++ {
		text := fmt.Sprintf("hello %d", i+1)
		if i%4 == 1 {
			text = "use pay"
		}
		send := api.SendOptions{SessionID: session, Lane: sdk.QueueLane, Content: api.Text(text), Key: fmt.Sprint("key ", i)}
		receipt, err := phone.Send(ctx, send)
		if err != nil {
			return said, err
		}
		queued, ok := receipt.(api.Queued)
		if !ok {
			return said, fmt.Errorf("message %d: the receipt is %#v, want it queued", i, receipt)
		}
		said = append(said, text)
		if i%3 == 0 {
			again, err := phone.Send(ctx, send)
			if err != nil {
				return said, err
			}
			if want := api.Duplicate(queued); again != want {
				return said, fmt.Errorf("message %d, once more: the receipt is %#v, want %#v", i, again, want)
			}
		}
		if i%5 == 4 {
			if err := idle(ctx, phone); err != nil {
				return said, err
			}
		}
	}
	return said, idle(ctx, phone)
}

func idle(ctx context.Context, p *process) error {
	outcome, err := p.WaitRun(ctx, api.HeadOptions{SessionID: session})
	if _, idle := outcome.(api.Idle); err == nil && !idle {
		err = fmt.Errorf("the head came to rest as %#v", outcome)
	}
	return err
}

func (r *rivals) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kills
}

// keepAlive runs a process in its place, and another when it is killed, until the rivals are stopped.
func (r *rivals) keepAlive(ctx context.Context, place int) error {
	for {
		r.mu.Lock()
		o := order{Dir: r.dir, Scene: serves}
		if r.kills < r.enough {
			o.doom = doom{N: 8 + r.draw.IntN(60), At: storetest.Before + storetest.Moment(r.draw.IntN(2))}
		}
		c, err := start(ctx, o)
		if err == nil {
			r.inputs[place] = c.in
			if r.stopped {
				err = c.in.Close()
			}
		}
		r.mu.Unlock()
		if err != nil {
			return err
		}
		f, err := c.wait()
		if err != nil {
			return err
		}
		r.mu.Lock()
		if f.killed != "" {
			r.kills++
		}
		stopped := r.stopped
		r.mu.Unlock()
		if f.killed == "" && !stopped {
			return errors.New("a runner ended by itself")
		}
		if stopped {
			return nil
		}
	}
}

// stop lets the living end.
func (r *rivals) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for _, in := range r.inputs {
		_ = in.Close()
	}
}

// judgeAll compares r with the messages that were submitted: each landed once, in order, and has its answer behind it.
func (r *record) judgeAll(said []string) {
	rest := r.lines
	next := func() string {
		if len(rest) == 0 {
			return ""
		}
		first := rest[0]
		rest = rest[1:]
		return first
	}
	want := func(i int, line string) {
		if got := next(); got != line {
			r.problem("message %d: the branch says %q, want %q", i+1, got, line)
		}
	}
	for i, text := range said {
		want(i, "user: "+text)
		if text != "use pay" {
			want(i, "assistant: re: "+text)
			continue
		}
		want(i, "assistant: "+dots+" calls pay")
		result, runs := paid, r.runs[fmt.Sprint("pay ", i+1)]
		if len(rest) > 0 && rest[0] == "pay: "+view.Interrupted {
			result = view.Interrupted
		}
		want(i, "pay: "+result)
		want(i, "assistant: done: "+result)
		if runs > 1 || result == paid && runs != 1 {
			r.problem("message %d: the tool that must not run twice ran %d times, its result is %q", i+1, runs, result)
		}
	}
	if len(rest) > 0 {
		r.problem("the branch goes on with %q", rest)
	}
	if n := r.reasons["ref.QueueRef submit"]; n != len(said) {
		r.problem("%d changes were submitted, want %d", n, len(said))
	}
}
