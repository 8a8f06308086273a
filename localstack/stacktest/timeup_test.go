package stacktest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// slowAtFirst is an OpenAI-compatible server whose first answer takes longer than an invocation, word by word, and whose others come at once.
func slowAtFirst(t *testing.T) string {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(text, finish string) {
			_, _ = fmt.Fprintf(w, `data: {"id":"x","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", text, finish)
			_ = http.NewResponseController(w).Flush()
		}
		if asked.Add(1) == 1 {
			for i := 0; r.Context().Err() == nil && i < 600; i++ {
				say(fmt.Sprint("slow-", i, " "), "null")
				time.Sleep(100 * time.Millisecond)
			}
			return
		}
		say("The whole answer.", `"stop"`)
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A model call that does not fit into an invocation is cut ahead of its end; what was said stays on the branch, and the next invocation asks again.
func TestTimeUp(t *testing.T) {
	t.Parallel()
	s := up(t, map[string]string{
		"stepSeconds": "15", "model": "openai/m", "openaiBaseUrl": slowAtFirst(t) + "/v1", "openaiApiKey": "none", "leaseTtl": "30s",
	})
	c := s.as("acme", "ann")
	id := s.create(c)
	start := time.Now()
	s.send(c, id, "hello", "k")
	s.until(c, id, "the cut", func(snap api.Snapshot) bool { return has(snap, "slow-1 ") })
	cut := time.Since(start)
	snap := s.idle(c, id)
	if !has(snap, "The whole answer.") || phase(snap) != "done" || snap.Run.Attempts != 2 {
		t.Errorf("the run is %+v, %s, and says %q", snap.Run, phase(snap), lines(snap))
	}
	t.Logf("an answer of a minute is kept after %v of an invocation of 15 s, and the next one ends the run after %v", cut.Round(100*time.Millisecond), time.Since(start).Round(100*time.Millisecond))
	s.check(c, id)
}
