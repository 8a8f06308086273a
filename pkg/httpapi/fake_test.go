package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

var (
	oidA = object.Hash([]byte("a"))
	oidB = object.Hash([]byte("b"))
)

// fake answers what a test tells it to; everything else panics. It stands for a service only where the protocol itself is
// under test.
type fake struct {
	api.Service
	err      error
	sent     api.SendOptions
	receipt  api.SendReceipt
	created  api.CreateSessionOptions
	moved    api.MoveHeadOptions
	move     api.MoveOutcome
	merged   api.MergeHeadOptions
	snapshot api.Snapshot
	heads    []api.HeadInfo
	stored   api.StoredObject
	wait     func(context.Context) (api.WaitOutcome, error)
	watched  api.WatchOptions
	watch    func(ctx context.Context, yield func(api.Event, error) bool)
	panics   bool
}

func (f *fake) Send(_ context.Context, o api.SendOptions) (api.SendReceipt, error) {
	if f.panics {
		panic("boom")
	}
	f.sent = o
	return f.receipt, f.err
}

func (f *fake) CreateSession(_ context.Context, o api.CreateSessionOptions) (api.CreateSessionOutcome, error) {
	f.created = o
	return api.SessionExists{Session: api.SessionInfo{SessionID: "s", Heads: []string{"main"}}}, f.err
}

func (f *fake) ListSessions(context.Context, api.ListSessionsOptions) (api.SessionPage, error) {
	return api.SessionPage{Items: []api.SessionInfo{}, Next: "n", HasMore: true}, f.err
}

func (f *fake) MoveHead(_ context.Context, o api.MoveHeadOptions) (api.MoveOutcome, error) {
	f.moved = o
	return f.move, f.err
}

func (f *fake) MergeHead(_ context.Context, o api.MergeHeadOptions) (api.MergeOutcome, error) {
	f.merged = o
	return api.Stale{}, f.err
}

func (f *fake) ListHeads(context.Context, api.SessionOptions) ([]api.HeadInfo, error) {
	return f.heads, f.err
}

func (f *fake) Snapshot(_ context.Context, o api.HeadOptions) (api.Snapshot, error) {
	s := f.snapshot
	s.Session.SessionID = o.SessionID
	return s, f.err
}

func (f *fake) Object(context.Context, api.ObjectOptions) (api.StoredObject, error) {
	return f.stored, f.err
}

func (f *fake) Step(context.Context, api.HeadOptions) (api.StepOutcome, error) {
	return api.Idle{}, f.err
}

func (f *fake) WaitRun(ctx context.Context, _ api.HeadOptions) (api.WaitOutcome, error) {
	return f.wait(ctx)
}

func (f *fake) Watch(ctx context.Context, o api.WatchOptions) iter.Seq2[api.Event, error] {
	f.watched = o
	return func(yield func(api.Event, error) bool) { f.watch(ctx, yield) }
}

// script yields events and then waits for the end of ctx.
func script(events ...api.Event) func(context.Context, func(api.Event, error) bool) {
	return func(ctx context.Context, yield func(api.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// call makes one request. Headers are "Name: value" lines.
func call(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Content-Type" {
			r.Header.Del(name)
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	obeying(t, h).ServeHTTP(w, r)
	return w
}

// wantProblem checks a problem answer and returns it.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, code, pointer string) httpapi.Problem {
	t.Helper()
	var p httpapi.Problem
	if err := api.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %s is no problem: %v", w.Code, w.Body, err)
	}
	if w.Code != status || p.Status != status || p.Code != code || p.Type != httpapi.ProblemBase+code || p.Title == "" {
		t.Errorf("got %d %s, want %d %s", w.Code, w.Body, status, code)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	if p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("request id %q, header %q", p.RequestID, w.Header().Get("X-Request-Id"))
	}
	if pointer != "" && (len(p.Errors) != 1 || p.Errors[0].Pointer != pointer || p.Errors[0].Detail == "") {
		t.Errorf("errors %+v, want one at %s", p.Errors, pointer)
	}
	return p
}

// A tape is a response writer that can be read while it is written.
type tape struct {
	mu     sync.Mutex
	header http.Header
	status int
	buf    bytes.Buffer
	broken bool
}

func (w *tape) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *tape) WriteHeader(status int) { w.status = status }
func (w *tape) Flush()                 {}

func (w *tape) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return 0, io.ErrClosedPipe
	}
	return w.buf.Write(p)
}

// next returns what was written since the last call.
func (w *tape) next() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.buf.String()
	w.buf.Reset()
	return s
}

func raw(s string) jsontext.Value { return jsontext.Value(s) }
