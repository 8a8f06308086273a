package stacktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// Each wake path of the deployed stack off alone, and all off but one: every run ends all the same, and what ran once runs once. The paths are played
// in all their disorder by TestWake in localstack/cloudtest.
func TestWakePaths(t *testing.T) {
	t.Parallel()
	for _, off := range []string{
		"queue", "stream", "schedule", "watchdog", "sweep",
		"queue,watchdog,sweep",           // the stream, and deadlines, which are in no record of it
		"queue,stream,schedule,watchdog", // the sweep alone
	} {
		t.Run("without "+off, func(t *testing.T) {
			t.Parallel()
			s := up(t, map[string]string{"wakeOff": off})
			if !strings.Contains(off, "sweep") {
				s.tick()
			}
			c := s.as("acme", "ann")
			id := s.create(c)
			start := time.Now()
			s.send(c, id, "fail", "1")
			s.send(c, id, "tools", "2")
			s.idle(c, id)
			s.send(c, id, "ask 3600", "3")
			snap := s.until(c, id, "the question", func(snap api.Snapshot) bool { return len(snap.Parked) == 1 })
			parked := snap.Parked[0]
			if out, err := c.Reply(t.Context(), api.ReplyOptions{
				SessionID: id, RunID: parked.RunID, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["red"]}`),
			}); out != (api.Signalled{}) {
				t.Errorf("the reply is %#v, %v", out, err)
			}
			snap = s.idle(c, id)
			for _, words := range []string{"Attempt 2 worked", "note: Noted", "ask: Picked: Red"} {
				if !has(snap, words) {
					t.Errorf("nothing says %q in %q", words, lines(snap))
				}
			}
			s.check(c, id)
			t.Logf("without %s: %v", off, time.Since(start).Round(100*time.Millisecond))
		})
	}
}

// tick sweeps every second, as the platform does every minute, until the test ends. What is forged beside it changes nothing.
func (s *stack) tick() {
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				s.invoke("alarm", `{"sweep":true}`)
				s.invoke("alarm", `{"tenant":"acme","session":"none","head":"main"}`)
			}
		}
	}()
	s.Cleanup(func() { close(stop); <-ended })
}

// Whatever reaches the functions that nobody of ours sent changes nothing, and is told from a failure.
func TestForgedPayloads(t *testing.T) {
	t.Parallel()
	s := up(t, nil)
	c := s.as("acme", "ann")
	id := s.create(c)
	s.send(c, id, "hello", "k")
	before := s.idle(c, id).Seq
	for _, function := range []string{"alarm", "step"} {
		for payload, refused := range map[string]bool{
			`{"tenant":"acme","session":"` + string(id) + `","head":"main"}`:            false, // stale: there is nothing to do
			`{"tenant":"acme","session":"` + string(id) + `","head":"no-such-head"}`:    false,
			`{"tenant":"other","session":"` + string(id) + `"}`:                         false,
			`{"tenant":"acme","session":"none"}`:                                        false,
			`{"Records":[{"eventSource":"aws:sqs","messageId":"1","body":"not json"}]}`: false, // again would be the same
			`{"tenant":"acme","session":"../../x"}`:                                     true,
			`{}`:                                                                        true,
			`[]`:                                                                        true,
		} {
			if out := s.invoke(function, payload); strings.HasPrefix(out, "error: ") != refused {
				t.Errorf("%s answers %s with %s; want it refused: %v", function, payload, out, refused)
			}
		}
	}
	if now := s.seq(c, id); now != before {
		t.Errorf("%d events came of it", now-before)
	}
	s.check(c, id)
}
