package stacktest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A turn is what a reference turn asks of a model: two responses with two calls each, and an answer, of 200 tokens each at 80 tokens a second.
const (
	tokensEach = 200
	tokenPause = time.Second / 80
)

// model is an OpenAI-compatible server that plays reference turns.
func model(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct {
				Role string `json:"role"`
			} `json:"messages"`
		}
		if err := json.UnmarshalRead(r.Body, &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answers := 0 // since the newest message of the user
		for _, m := range req.Messages {
			switch m.Role {
			case "user":
				answers = 0
			case "assistant":
				answers++
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(delta any, finish any) {
			frame, err := json.Marshal(map[string]any{"id": "x", "model": "m", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
			if err != nil {
				t.Error(err)
			}
			_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
			_ = http.NewResponseController(w).Flush()
		}
		for i := range tokensEach {
			send(map[string]any{"content": fmt.Sprint("word", i*7919%1000, " ")}, nil)
			time.Sleep(tokenPause)
		}
		if answers == 2 {
			send(map[string]any{}, "stop")
		} else {
			for i, name := range []string{"clock", "note"} {
				send(map[string]any{"tool_calls": []any{map[string]any{
					"index": i, "id": fmt.Sprintf("call_%d_%d_%d", len(req.Messages), answers, i), "type": "function",
					"function": map[string]any{"name": name, "arguments": map[string]string{"clock": "{}", "note": `{"text":"a note"}`}[name]},
				}}}, nil)
			}
			send(map[string]any{}, "tool_calls")
		}
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTurn prints what a reference turn takes through the whole stack: a message of 1 KB over the API, six steps in new processes, two tool calls twice,
// 600 tokens streamed, and what the alarm function does beside it. A process of Lambda stays warm, so this is the most that it takes.
func TestTurn(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	s := up(t, map[string]string{
		"endpointUrl": g.url, "model": "openai/m", "openaiBaseUrl": model(t) + "/v1", "openaiApiKey": "none", "leaseTtl": "30s",
	})
	c := s.as("acme", "ann")
	id := s.create(c)
	for turn := range 3 {
		s.quiet(g)
		g.Reset()
		steps, alarms := g.messages(s.StepsQueue), g.messages(s.AlarmsQueue)
		s.send(c, id, strings.Repeat("a message of one kilobyte ", 39), fmt.Sprint(turn))
		// Whoever looks is not counted: it asks through the gateway as well, so this waits without asking.
		time.Sleep(12 * time.Second)
		s.quiet(g)
		counts := g.Counts()
		snap := s.idle(c, id)
		if n := len(lines(snap)); n != (turn+1)*8 {
			t.Errorf("%d lines after turn %d: %q", n, turn, lines(snap))
		}
		dollars := 0.625*(counts.WriteUnits+counts.IndexUnits) + 0.125*counts.ReadUnits
		t.Logf("reference turn %d through the stack: %d invocations of step, %d messages to alarms, %d requests, %g write units and %g of the index, %g read units, $%.0f per million for the table",
			turn, g.messages(s.StepsQueue)-steps, g.messages(s.AlarmsQueue)-alarms, counts.Total(), counts.WriteUnits, counts.IndexUnits, counts.ReadUnits, dollars)
		if counts.WriteUnits > 150 {
			t.Errorf("turn %d takes %g write units", turn, counts.WriteUnits)
		}
	}
}

// quiet waits until nothing is asked any more.
func (s *stack) quiet(g *gateway) {
	s.Helper()
	for last := -1; ; {
		now := g.Counts().Total()
		if now == last {
			return
		}
		last = now
		time.Sleep(3 * time.Second)
	}
}

// An abort reaches a step that is under way in another process within about a second.
func TestAbort(t *testing.T) {
	t.Parallel()
	s := up(t, map[string]string{"pace": "20ms", "leaseTtl": "30s"})
	c := s.as("acme", "ann")
	for _, text := range []string{"long 5000", "slow-tool 60"} {
		id := s.create(c)
		s.send(c, id, text, "k")
		s.until(c, id, "the call", func(snap api.Snapshot) bool {
			return snap.Run != nil && snap.Run.Lease != nil || has(snap, "slow tool")
		})
		if strings.HasPrefix(text, "slow") {
			s.intent(c, id)
		}
		time.Sleep(time.Second)
		start := time.Now()
		if _, err := c.Abort(t.Context(), api.AbortOptions{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		snap := s.idle(c, id)
		t.Logf("%s: aborted after %v", text, time.Since(start).Round(10*time.Millisecond))
		if name := phase(snap); name != "aborted" {
			t.Errorf("%s ends %s", text, name)
		}
		s.check(c, id)
	}
}

func phase(snap api.Snapshot) string {
	if snap.Run == nil {
		return ""
	}
	return object.PhaseName(snap.Run.Phase)
}
