package deploy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/localstack/deploy"
)

// An invocation is what a stub told of one.
type invocation struct {
	Function string            `json:"function"`
	Event    jsontext.Value    `json:"event"`
	Env      map[string]string `json:"env"`
	ID       string            `json:"id"`
	Count    int               `json:"count"` // how many this process had
	PID      int               `json:"pid"`
	Deadline string            `json:"deadline"`
	At       int64             `json:"at"`
}

// A recorder has every invocation of the stubs.
type recorder struct {
	mu  sync.Mutex
	all []invocation
}

func (r *recorder) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	var i invocation
	if err == nil {
		err = json.Unmarshal(text, &i)
	}
	if err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, i)
}

// find returns the invocations of a function whose event is what is looked for.
func (r *recorder) find(function string, is func(event string) bool) []invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []invocation
	for _, i := range r.all {
		if i.Function == function && is(string(i.Event)) {
			out = append(out, i)
		}
	}
	return out
}

// wait waits until a function was invoked with what is looked for, and returns the first such invocation.
func (r *recorder) wait(t *testing.T, atMost time.Duration, function string, is func(event string) bool) invocation {
	t.Helper()
	for end := time.Now().Add(atMost); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if found := r.find(function, is); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatalf("%s was not invoked with it in %v", function, atMost)
	return invocation{}
}

// start deploys stubs for all functions.
func start(t *testing.T) (*deploy.Stack, *deploy.Issuer, *recorder) {
	t.Helper()
	issuer, err := deploy.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = issuer.Close() })
	rec := &recorder{}
	server := httptest.NewServer(rec)
	t.Cleanup(server.Close)
	begin := time.Now()
	s := deploy.Start(t, deploy.Options{Dist: stubs(t, server.URL), Context: map[string]string{
		"jwtIssuer": issuer.URL, "jwtAudience": audience, "tenantClaim": "org", "model": "stub", "openaiApiKey": "sk-test",
		"leaseTtl": "20s", "wakeOff": "watchdog",
	}})
	t.Logf("deployed in %v", time.Since(begin).Round(time.Millisecond))
	return s, issuer, rec
}

// stubs builds a stub for each function.
func stubs(t *testing.T, recorder string) string {
	t.Helper()
	dist := t.TempDir()
	bootstrap := filepath.Join(dist, "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bootstrap, "./testdata/stub")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the stub: %v\n%s", err, out)
	}
	for _, name := range []string{"submit", "step", "snapshot", "events", "alarm", "collect"} {
		dir := filepath.Join(dist, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(bootstrap, filepath.Join(dir, "bootstrap")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "recorder"), []byte(recorder), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dist
}
