package fetch_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin/fetch"
)

const publicAddr = "93.184.215.14"

// A world is a name service and a network: every connection ends at one server, and what was dialled is written down.
type world struct {
	server *httptest.Server

	mu      sync.Mutex
	answers map[string][][]string // host to one answer per look-up, the last repeated
	lookups []string
	dialled []string
}

func newWorld(t *testing.T, handler http.HandlerFunc) *world {
	t.Helper()
	w := &world{server: httptest.NewServer(handler), answers: map[string][][]string{}}
	t.Cleanup(w.server.Close)
	w.answer("example.com", publicAddr)
	return w
}

func (w *world) answer(host string, addrs ...string) {
	w.answers[host] = append(w.answers[host], addrs)
}

func (w *world) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups = append(w.lookups, network+" "+host)
	answers, ok := w.answers[host]
	if !ok {
		return nil, fmt.Errorf("no such host %q", host)
	}
	if len(answers) > 1 {
		w.answers[host] = answers[1:]
	}
	var addrs []netip.Addr
	for _, text := range answers[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(w.server.URL, "http://"))
}

func (w *world) tool(t *testing.T, change func(o *fetch.Options)) tool.Tool {
	t.Helper()
	o := fetch.Options{Allow: []string{"*"}, Resolver: w, Dial: w.dial}
	if change != nil {
		change(&o)
	}
	x, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func get(t *testing.T, x tool.Tool, url string) tool.Done {
	t.Helper()
	set, err := tool.NewSet(x)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.CheckArguments("fetch", args); err != nil {
		t.Fatal(err)
	}
	out, err := x.Execute(t.Context(), tool.Call{Arguments: jsontext.Value(args), Progress: func(tool.Progress) {}})
	if err != nil {
		t.Fatal(err)
	}
	done, ok := out.(tool.Done)
	if !ok {
		t.Fatalf("the outcome is %T", out)
	}
	return done
}

func text(d tool.Done) string { return message.PlainText(d.Content) }

func wantRefused(t *testing.T, d tool.Done, want string) {
	t.Helper()
	if !d.IsError || !strings.Contains(text(d), want) {
		t.Fatalf("got %q (error %v), want an error with %q", text(d), d.IsError, want)
	}
}

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, "hello")
}

// failingOnce is dial, except that the first call fails.
func failingOnce(dial fetch.DialFunc) fetch.DialFunc {
	var once sync.Once
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		failed := false
		once.Do(func() { failed = true })
		if failed {
			return nil, fmt.Errorf("connection to %s refused", address)
		}
		return dial(ctx, network, address)
	}
}
