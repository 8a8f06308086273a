package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

const events = "/v1/sessions/s/events"

func text(seq int64, delta string) api.Event {
	return api.Event{Seq: seq, Body: api.TextDeltaEvent{RunID: "r", Attempt: 1, Delta: delta}}
}

// listen starts a stream inside a bubble and returns what it writes; stop makes the client leave.
func listen(t *testing.T, h http.Handler, path string, headers ...string) (out *tape, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	out = &tape{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		obeying(t, h).ServeHTTP(out, r)
	}()
	synctest.Wait()
	return out, func() {
		cancel()
		<-done
	}
}

func wantBytes(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestStreamFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{watch: script(
			api.Event{Seq: 4, More: true, Body: api.HeadMovedEvent{Head: "main", From: oidA, To: oidB, Reason: "land"}},
			api.Event{Seq: 4, Body: api.LandedEvent{Head: "main", Change: oidA}},
			api.Event{Seq: 4, Body: api.SyncedEvent{}},
			api.Event{Seq: 5, Body: api.DiagnosticEvent{Level: "info", Owner: "o", Message: "line\nbreak"}},
			api.Event{Seq: 6, Body: api.UnknownEvent{Kind: "a\nb", Raw: raw(`{"seq":6,"kind":"a\nb"}`)}},
		)}
		out, stop := listen(t, httpapi.New(f, nil), events+"?after=3")
		defer stop()
		moved := `{"seq":4,"more":true,"kind":"head_moved","head":"main","from":"` + oidA.String() + `","to":"` + oidB.String() + `","reason":"land"}`
		wantBytes(t, "stream", out.next(), ": open\nretry: 1500\n\n"+
			"event: head_moved\ndata: "+moved+"\n\n"+
			"id: 4\nevent: landed\ndata: {\"seq\":4,\"kind\":\"landed\",\"head\":\"main\",\"change\":\""+oidA.String()+"\"}\n\n"+
			"event: synced\ndata: {\"seq\":4,\"kind\":\"synced\"}\n\n"+
			"id: 5\nevent: diagnostic\ndata: {\"seq\":5,\"kind\":\"diagnostic\",\"level\":\"info\",\"owner\":\"o\",\"message\":\"line\\nbreak\"}\n\n"+
			"id: 6\ndata: {\"seq\":6,\"kind\":\"a\\nb\"}\n\n")
		if out.status != 200 {
			t.Errorf("status %d", out.status)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Origin",
		} {
			if got := out.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if f.watched.AfterSeq == nil || *f.watched.AfterSeq != 3 {
			t.Errorf("watched after %v", f.watched.AfterSeq)
		}
	})
}

func TestStreamUnnamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, stop := listen(t, httpapi.New(&fake{watch: script(api.Event{Seq: 1, Body: api.DeletedEvent{}})}, nil), events+"?named=0")
		defer stop()
		wantBytes(t, "stream", out.next(), ": open\nretry: 1500\n\nid: 1\ndata: {\"seq\":1,\"kind\":\"deleted\"}\n\n")
	})
}

func TestStreamCursor(t *testing.T) {
	nine := int64(9)
	for _, tt := range []struct {
		path, header string
		want         api.WatchOptions
	}{
		{events, "X: y", api.WatchOptions{SessionID: "s"}},
		{events + "?live=true", "X: y", api.WatchOptions{SessionID: "s", Live: true}},
		{events + "?after=3", "Last-Event-ID: 9", api.WatchOptions{SessionID: "s", AfterSeq: &nine}},
		{events + "?live=true", "Last-Event-ID: 9", api.WatchOptions{SessionID: "s", AfterSeq: &nine}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{watch: script(api.Event{Seq: 1, Body: api.SyncedEvent{}})}
			_, stop := listen(t, httpapi.New(f, nil), tt.path, tt.header)
			stop()
			if diff := cmp.Diff(tt.want, f.watched); diff != "" {
				t.Errorf("%s %s:\n%s", tt.path, tt.header, diff)
			}
		})
	}
	wantProblem(t, call(t, httpapi.New(&fake{}, nil), "GET", events, "", "Last-Event-ID: -1"), 422, "validation", "#/afterSeq")
	wantProblem(t, call(t, httpapi.New(&fake{}, nil), "GET", events, "", "Last-Event-ID: x"), 422, "validation", "#/Last-Event-ID")
}

// TestB82_CursorExpired: an expired cursor is a status before the stream opens and an event after.
func TestB82_CursorExpired(t *testing.T) {
	expired := &api.CursorExpiredError{Floor: 40}
	f := &fake{watch: func(_ context.Context, yield func(api.Event, error) bool) { yield(api.Event{}, expired) }}
	h := httpapi.New(f, nil)
	for _, path := range []string{events + "?after=3", events + "?after=3&wait=5"} {
		p := wantProblem(t, call(t, h, "GET", path, ""), 410, "cursor-expired", "")
		if p.Floor == nil || *p.Floor != 40 || p.Snapshot != "/v1/sessions/s/snapshot" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	f.watch = func(_ context.Context, yield func(api.Event, error) bool) {
		if yield(api.Event{Seq: 4, Body: api.DeletedEvent{}}, nil) && yield(text(5, "held"), nil) {
			yield(api.Event{}, expired)
		}
	}
	w := call(t, h, "GET", events+"?after=3", "")
	wantBytes(t, "stream", w.Body.String(), ": open\nretry: 1500\n\nid: 4\nevent: deleted\ndata: {\"seq\":4,\"kind\":\"deleted\"}\n\n"+
		"id: 5\nevent: text_delta\ndata: {\"seq\":5,\"kind\":\"text_delta\",\"runId\":\"r\",\"attempt\":1,\"index\":0,\"delta\":\"held\"}\n\n"+
		"event: cursor_expired\ndata: {\"kind\":\"cursor_expired\",\"floor\":40}\n\n")
}

func TestStreamOtherErrors(t *testing.T) {
	f := &fake{watch: func(_ context.Context, yield func(api.Event, error) bool) { yield(api.Event{}, api.ErrSessionNotFound) }}
	h := httpapi.New(f, nil)
	wantProblem(t, call(t, h, "GET", events, ""), 404, "session-not-found", "")
	f.watch = func(_ context.Context, yield func(api.Event, error) bool) {
		if yield(api.Event{Seq: 4, Body: api.DeletedEvent{}}, nil) {
			yield(api.Event{}, api.ErrSessionNotFound)
		}
	}
	w := call(t, h, "GET", events, "")
	if !strings.HasSuffix(w.Body.String(), "event: problem\ndata: {\"kind\":\"problem\",\"code\":\"session-not-found\",\"status\":404,\"title\":\"There is no such session\",\"detail\":\"session not found\"}\n\n") {
		t.Errorf("got %s", w.Body)
	}
	f.watch = func(context.Context, func(api.Event, error) bool) { panic("boom") }
	wantProblem(t, call(t, h, "GET", events, ""), 500, "internal", "")
}

func TestStreamKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tick := make(chan api.Event)
		f := &fake{watch: func(ctx context.Context, yield func(api.Event, error) bool) {
			for {
				select {
				case e := <-tick:
					if !yield(e, nil) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}}
		out, stop := listen(t, httpapi.New(f, nil), events)
		defer stop()
		// A store that says nothing must not keep the client waiting for the first byte.
		wantBytes(t, "at once", out.next(), "")
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		wantBytes(t, "after the grace", out.next(), ": open\nretry: 1500\n\n")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		wantBytes(t, "after a quiet time", out.next(), ": keep-alive\n\n")
		time.Sleep(10 * time.Second)
		tick <- api.Event{Seq: 1, Body: api.DeletedEvent{}}
		synctest.Wait()
		wantBytes(t, "an event", out.next(), "id: 1\nevent: deleted\ndata: {\"seq\":1,\"kind\":\"deleted\"}\n\n")
		time.Sleep(14 * time.Second)
		synctest.Wait()
		wantBytes(t, "less than a quiet time later", out.next(), "")
		time.Sleep(time.Second)
		synctest.Wait()
		wantBytes(t, "a quiet time later", out.next(), ": keep-alive\n\n")
	})
}

func TestStreamCoalescesDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := api.Event{Seq: 4, Body: api.TextDeltaEvent{RunID: "r", Attempt: 2, Delta: "new"}}
		big := strings.Repeat("x", 2<<10)
		f := &fake{watch: script(text(1, "a"), text(2, "b"), text(3, "c"), other, api.Event{Seq: 5, Body: api.DeletedEvent{}}, text(6, big), text(7, "rest"))}
		out, stop := listen(t, httpapi.New(f, nil), events+"?named=0")
		defer stop()
		delta := func(id, attempt, text string) string {
			return "id: " + id + "\ndata: {\"seq\":" + id + ",\"kind\":\"text_delta\",\"runId\":\"r\",\"attempt\":" + attempt + ",\"index\":0,\"delta\":\"" + text + "\"}\n\n"
		}
		wantBytes(t, "at once", out.next(), ": open\nretry: 1500\n\n"+delta("3", "1", "abc")+delta("4", "2", "new")+
			"id: 5\ndata: {\"seq\":5,\"kind\":\"deleted\"}\n\n"+delta("6", "1", big))
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		wantBytes(t, "after the hold", out.next(), delta("7", "1", "rest"))
	})
}

func TestStreamPlannedEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := httpapi.New(&fake{watch: script(text(8, "a"))}, &httpapi.Options{MaxStream: time.Minute, Coalesce: -1})
		out, stop := listen(t, h, events)
		time.Sleep(time.Minute)
		synctest.Wait() // or the client leaves first
		stop()
		if got := out.next(); !strings.HasSuffix(got, "event: reconnect\ndata: {\"kind\":\"reconnect\",\"seq\":8}\n\n") {
			t.Errorf("got %s", got)
		}
		h = httpapi.New(&fake{watch: script(text(8, "held"))}, nil)
		out, stop = listen(t, h, events)
		h.Close()
		synctest.Wait()
		if got := out.next(); !strings.Contains(got, `"held"`) || !strings.HasSuffix(got, "event: reconnect\ndata: {\"kind\":\"reconnect\",\"seq\":8}\n\n") {
			t.Errorf("on close: %s", got)
		}
		stop()
	})
}

// A client that is gone ends its watch, or watches would pile up.
func TestStreamEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		f := &fake{watch: func(ctx context.Context, yield func(api.Event, error) bool) {
			defer func() { ended = true }()
			script(api.Event{Seq: 1, Body: api.SyncedEvent{}})(ctx, yield)
		}}
		out, stop := listen(t, httpapi.New(f, nil), events)
		out.mu.Lock()
		out.broken = true
		out.mu.Unlock()
		time.Sleep(15 * time.Second) // the next keep-alive finds out
		synctest.Wait()
		if !ended {
			t.Error("the watch goes on")
		}
		stop()
	})
}

func TestPoll(t *testing.T) {
	moved := api.Event{Seq: 2, More: true, Body: api.HeadMovedEvent{Head: "main", Reason: "land"}}
	landed := api.Event{Seq: 2, Body: api.LandedEvent{Head: "main", Change: oidA}}
	synced := func(seq int64) api.Event { return api.Event{Seq: seq, Body: api.SyncedEvent{}} }
	late := func(d time.Duration, e ...api.Event) func(context.Context, func(api.Event, error) bool) {
		return func(ctx context.Context, yield func(api.Event, error) bool) {
			if yield(synced(1), nil) {
				time.Sleep(d)
				script(e...)(ctx, yield)
			}
		}
	}
	for _, tt := range []struct {
		name, query string
		watch       func(context.Context, func(api.Event, error) bool)
		events      []api.Event
		next        int64
		synced      bool
		took        time.Duration
	}{
		{"replay", "?after=0&wait=0", script(text(1, "a"), moved, landed, synced(2)), []api.Event{text(1, "a"), moved, landed}, 2, true, 0},
		{"limit never splits a seq", "?after=0&limit=2", script(text(1, "a"), moved, landed, text(3, "b"), synced(3)), []api.Event{text(1, "a"), moved, landed}, 2, false, 0},
		{"nothing there", "?after=1&wait=0", script(synced(1)), []api.Event{}, 1, true, 0},
		{"nothing comes", "?after=1&wait=20", script(synced(1)), []api.Event{}, 1, true, 20 * time.Second},
		{"something comes", "?after=1&wait=20", late(3*time.Second, moved, landed, text(3, "c")), []api.Event{moved, landed}, 2, true, 3 * time.Second},
		{"wait is bounded", "?after=1&wait=2000", script(synced(1)), []api.Event{}, 1, true, 25 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				w := call(t, httpapi.New(&fake{watch: tt.watch}, nil), "GET", events+tt.query, "")
				var page httpapi.EventPage
				if err := api.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
					t.Fatalf("%d %s %v", w.Code, w.Body, err)
				}
				if diff := cmp.Diff(httpapi.EventPage{Events: tt.events, Next: tt.next, Synced: tt.synced}, page); diff != "" {
					t.Error(diff)
				}
				if got := time.Since(start); got != tt.took {
					t.Errorf("took %v, want %v", got, tt.took)
				}
			})
		})
	}
	w := call(t, httpapi.New(&fake{watch: script(synced(1))}, nil), "GET", events, "", "Accept: application/json")
	if w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("Accept was not heard: %v", w.Header())
	}
}
