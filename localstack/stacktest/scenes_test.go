package stacktest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// The four scenes of the design, through the address of the API alone.
func TestScenes(t *testing.T) {
	t.Parallel()
	s := up(t, nil)
	t.Run("1 phones submit at the same moment", func(t *testing.T) { s.crowd(t) })
	t.Run("2 a step is killed in the middle of a tool", func(t *testing.T) { s.killed(t) })
	t.Run("3 a question is answered from another device", func(t *testing.T) { s.parked(t) })
	t.Run("3 an answer races its deadline", func(t *testing.T) { s.raced(t) })
	t.Run("4 every step is a process of its own", func(t *testing.T) { s.alone(t) })
	t.Run("tenants", func(t *testing.T) { s.tenants(t) })
	t.Run("events", func(t *testing.T) { s.events(t) })
}

func (s *stack) in(t *testing.T) *stack { return &stack{s.Stack, t, s.cloud, s.issuer} }

// Scene 1. Every receipt says queued, one chain holds them all, and each is answered in its turn.
func (s *stack) crowd(t *testing.T) {
	s = s.in(t)
	const phones = 6
	first := s.as("acme", "ann")
	id := s.create(first)
	var all sync.WaitGroup
	receipts := make([]api.SendReceipt, phones)
	for i := range phones {
		c := s.as("acme", fmt.Sprint("phone-", i))
		all.Go(func() {
			out, err := c.Send(t.Context(), api.SendOptions{SessionID: id, Content: api.Text(fmt.Sprint("hello from ", i)), Key: fmt.Sprint("hello-", i)})
			if err != nil {
				t.Errorf("phone %d: %v", i, err)
			}
			receipts[i] = out
		})
	}
	all.Wait()
	for i, r := range receipts {
		if _, ok := r.(api.Queued); !ok {
			t.Errorf("phone %d got %#v", i, r)
		}
	}
	snap := s.idle(first, id)
	var asked, answered []string
	for _, line := range lines(snap) {
		if text, ok := strings.CutPrefix(line, "user: "); ok {
			asked = append(asked, text)
		}
		if _, text, ok := strings.Cut(line, "You said: "); ok {
			answered = append(answered, text)
		}
	}
	if len(asked) != phones || !slices.Equal(asked, answered) {
		t.Errorf("asked %q, answered %q: %q", asked, answered, lines(snap))
	}
	slices.Sort(asked)
	if len(slices.Compact(asked)) != phones {
		t.Errorf("messages are missing or doubled: %q", asked)
	}
	s.check(first, id)
}

// Scene 3. The phone that asks is gone; another one answers; nobody's second answer counts. A question that nobody answers expires by itself.
func (s *stack) parked(t *testing.T) {
	s = s.in(t)
	phone, tablet := s.as("acme", "ann"), s.as("acme", "bob")
	id := s.create(phone)
	s.send(phone, id, "ask 3600", "q")
	snap := s.until(phone, id, "the question", func(snap api.Snapshot) bool { return len(snap.Parked) == 1 })
	parked := snap.Parked[0]
	var all sync.WaitGroup
	outcomes := make([]api.ReplyOutcome, 4)
	for i, choice := range []string{"red", "green", "blue", "red"} {
		all.Go(func() {
			out, err := tablet.Reply(t.Context(), api.ReplyOptions{
				SessionID: id, RunID: parked.RunID, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["` + choice + `"]}`),
			})
			if err != nil {
				t.Errorf("reply %d: %v", i, err)
			}
			outcomes[i] = out
		})
	}
	all.Wait()
	won := 0
	for _, o := range outcomes {
		if _, ok := o.(api.Signalled); ok {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d of %d answers won: %#v", won, len(outcomes), outcomes)
	}
	snap = s.idle(phone, id)
	if !has(snap, "ask: Picked: ") {
		t.Errorf("said %q", lines(snap))
	}
	s.check(phone, id)

	id = s.create(phone)
	s.send(phone, id, "ask 2", "q")
	snap = s.idle(phone, id)
	if !slices.ContainsFunc(lines(snap), func(l string) bool { return strings.HasPrefix(l, "ask: ") && !strings.Contains(l, "Picked") }) {
		t.Errorf("the question did not expire: %q", lines(snap))
	}
	s.check(phone, id)
}

// raced answers a question around its deadline, from several devices: of the answers and the expiry one wins, and the transcript has that one.
func (s *stack) raced(t *testing.T) {
	s = s.in(t)
	c := s.as("acme", "ann")
	id := s.create(c)
	s.send(c, id, "ask 3", "q")
	snap := s.until(c, id, "the question", func(snap api.Snapshot) bool { return len(snap.Parked) == 1 })
	parked := snap.Parked[0]
	deadline := time.UnixMilli(int64(parked.Until))
	var all sync.WaitGroup
	var won atomic.Int32
	for i := range 6 {
		all.Go(func() {
			time.Sleep(time.Until(deadline.Add(time.Duration(i-4) * 60 * time.Millisecond)))
			out, err := c.Reply(t.Context(), api.ReplyOptions{
				SessionID: id, RunID: parked.RunID, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["red"]}`),
			})
			if err != nil {
				t.Errorf("reply %d: %v", i, err)
			}
			if _, ok := out.(api.Signalled); ok {
				won.Add(1)
			}
		})
	}
	all.Wait()
	snap = s.idle(c, id)
	if picked := has(snap, "ask: Picked: Red"); won.Load() > 1 || picked != (won.Load() == 1) {
		t.Errorf("%d answers won, and the transcript has one: %v: %q", won.Load(), picked, lines(snap))
	}
	t.Logf("%d of 6 answers around the deadline won", won.Load())
	s.check(c, id)
}

// Scene 4. A run with a retry, three tools and a pause is advanced by nothing but invocations.
func (s *stack) alone(t *testing.T) {
	s = s.in(t)
	c := s.as("acme", "ann")
	id := s.create(c)
	for i, text := range []string{"fail", "tools", "sleep 2"} {
		s.send(c, id, text, fmt.Sprint(i))
	}
	snap := s.idle(c, id)
	for _, words := range [][]string{{"Attempt 2 worked"}, {"note: Noted"}, {"I sleep for 2 seconds"}} {
		if !has(snap, words...) {
			t.Errorf("nothing says %q in %q", words, lines(snap))
		}
	}
	s.check(c, id)
}

// Another tenant's session is not there, whatever it is asked; a request without a token reaches nothing.
func (s *stack) tenants(t *testing.T) {
	s = s.in(t)
	ann, eve := s.as("acme", "ann"), s.as("evil", "eve")
	id := s.create(ann)
	s.send(ann, id, "hello", "k")
	s.idle(ann, id)
	ctx, opts := t.Context(), api.HeadOptions{SessionID: id}
	for what, err := range map[string]error{
		"snapshot": second(eve.Snapshot(ctx, opts)),
		"send":     second(eve.Send(ctx, api.SendOptions{SessionID: id, Content: api.Text("hi")})),
		"step":     second(eve.Step(ctx, opts)),
		"abort":    second(eve.Abort(ctx, api.AbortOptions{SessionID: id})),
		"collect":  second(eve.Collect(ctx, api.CollectOptions{SessionID: id})),
	} {
		if !isNotFound(err) {
			t.Errorf("%s by another tenant: %v, want not found", what, err)
		}
	}
	if page, err := eve.ListSessions(ctx, api.ListSessionsOptions{}); err != nil || len(page.Items) != 0 {
		t.Errorf("another tenant lists %+v, %v", page, err)
	}
	if err := eve.DeleteSession(ctx, api.DeleteSessionOptions{SessionID: id}); err != nil && !isNotFound(err) {
		t.Errorf("another tenant deletes: %v", err)
	}
	if snap, err := ann.Snapshot(ctx, opts); err != nil || !has(snap, "You said: hello") {
		t.Errorf("after that it is %q, %v", lines(snap), err)
	}
	for what, token := range map[string]string{"none": "", "another issuer's": "eyJhbGciOiJub25lIn0.e30."} {
		if status, _ := s.get(s.APIURL+"/v1/sessions", token, "application/json"); status != http.StatusUnauthorized {
			t.Errorf("the token %s is answered %d, want 401", what, status)
		}
	}
	if err := ann.DeleteSession(ctx, api.DeleteSessionOptions{SessionID: id}); err != nil {
		t.Error(err)
	}
	if _, err := ann.Snapshot(ctx, opts); !isNotFound(err) {
		t.Errorf("the deleted session: %v", err)
	}
}
