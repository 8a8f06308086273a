package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin/fetch"
)

func TestNew_refusesBadOptions(t *testing.T) {
	for _, tc := range []struct {
		options fetch.Options
		want    string
	}{
		{fetch.Options{}, "fetch: allow is empty"},
		{fetch.Options{Allow: []string{"example.com", ""}}, `fetch: allow[1] "" is not a host`},
		{fetch.Options{Allow: []string{"https://example.com"}}, "is not a host"},
		{fetch.Options{Allow: []string{"example.com:80"}}, "is not a host"},
		{fetch.Options{Allow: []string{"*example.com"}}, "is not a host"},
		{fetch.Options{Allow: []string{"a.*.com"}}, "is not a host"},
		{fetch.Options{Allow: []string{"*."}}, "is not a host"},
		{fetch.Options{Allow: []string{"example.com."}}, "is not a host"},
		{fetch.Options{Allow: []string{"*"}, MaxBytes: -1}, "fetch: maxBytes is -1"},
		{fetch.Options{Allow: []string{"*"}, Timeout: -1}, "fetch: timeout is -1ns"},
	} {
		if _, err := fetch.New(tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%+v): got %v, want %q", tc.options, err, tc.want)
		}
	}
}

func TestAllow(t *testing.T) {
	w := newWorld(t, hello)
	for _, host := range []string{"api.example.com", "a.b.example.com", "notexample.com", "example.com.evil.test", "www.other.test", "other.test"} {
		w.answer(host, publicAddr)
	}
	x := w.tool(t, func(o *fetch.Options) { o.Allow = []string{"Example.com", "*.EXAMPLE.com", "*.other.test"} })
	for url, ok := range map[string]bool{
		"http://example.com/":           true,
		"http://EXAMPLE.COM./":          true,
		"http://api.example.com/":       true,
		"http://a.b.example.com/":       true,
		"http://www.other.test/":        true,
		"http://other.test/":            false,
		"http://notexample.com/":        false,
		"http://example.com.evil.test/": false,
		"http://93.184.215.14/":         false,
	} {
		if done := get(t, x, url); done.IsError == ok {
			t.Errorf("%s: %s", url, text(done))
		}
	}
	if x.Replay != tool.ReplaySafe {
		t.Errorf("replay is %q", x.Replay)
	}
}

func TestResult(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Host != "example.com" {
			t.Errorf("the request is %s for %s", r.Method, r.Host)
		}
		kind := r.URL.Query().Get("type")
		w.Header()["Content-Type"] = nil // no sniffing by the server
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/text?type=text/plain", http.StatusMovedPermanently)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "no such page")
		case "/empty":
		case "/binary":
			w.Write([]byte("\x89PNG\r\n\x1a\n\x00"))
		case "/latin1":
			w.Write([]byte("gr\xfcn"))
		default:
			fmt.Fprint(w, "grün 🙂\n\n")
		}
	})
	x := w.tool(t, nil)
	const at = "http://example.com"
	for _, tc := range []struct {
		path, want, details string
		isError             bool
	}{
		{
			"/text?type=text/plain", "HTTP 200 OK, text/plain, " + at + "/text?type=text/plain\n\ngrün 🙂\n\n",
			`{"url":"http://example.com/text?type=text/plain","status":200,"contentType":"text/plain","bytes":12}`, false,
		},
		{
			"/moved", "HTTP 200 OK, text/plain, " + at + "/text?type=text/plain\n\ngrün 🙂\n\n",
			`{"url":"http://example.com/text?type=text/plain","status":200,"contentType":"text/plain","bytes":12}`, false,
		},
		{"/sniffed", "HTTP 200 OK, text/plain; charset=utf-8, " + at + "/sniffed\n\ngrün 🙂\n\n", "", false},
		{"/a?type=application/problem%2Bjson", "HTTP 200 OK, application/problem+json, " + at + "/a?type=application/problem%2Bjson\n\ngrün 🙂\n\n", "", false},
		{"/latin1?type=text/html", "HTTP 200 OK, text/html, " + at + "/latin1?type=text/html\n\ngr\uFFFDn", "", false},
		{"/empty?type=text/plain", "HTTP 200 OK, text/plain, " + at + "/empty?type=text/plain, without a body", "", false},
		{"/missing?type=text/plain", "HTTP 404 Not Found, text/plain, " + at + "/missing?type=text/plain\n\nno such page", "", true},
		{"/binary", at + "/binary is image/png, which is not text", "", true},
		{"/a?type=application/octet-stream", at + "/a?type=application/octet-stream is application/octet-stream, which is not text", "", true},
		{"/a?type=application/pdf%3Bx", at + "/a?type=application/pdf%3Bx is application/pdf;x, which is not text", "", true},
	} {
		t.Run(tc.path, func(t *testing.T) {
			done := get(t, x, at+tc.path)
			if diff := cmp.Diff(tc.want, text(done)); diff != "" || done.IsError != tc.isError {
				t.Errorf("error %v, text (-want +got):\n%s", done.IsError, diff)
			}
			if tc.details != "" && string(done.Details) != tc.details {
				t.Errorf("details are %s", done.Details)
			}
		})
	}
}

// TestB63_CutsOnCodePoints proves that no character is halved at the limit, whatever the limit is.
func TestB63_CutsOnCodePoints(t *testing.T) {
	const body = "aé日🙂z"
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, body)
	})
	for limit := 1; limit <= len(body); limit++ {
		x := w.tool(t, func(o *fetch.Options) { o.MaxBytes = int64(limit) })
		got := text(get(t, x, "http://example.com/"))
		if !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
			t.Fatalf("limit %d: %q", limit, got)
		}
		_, got, _ = strings.Cut(got, "\n\n")
		kept, note, cut := strings.Cut(got, "\n\n")
		if limit == len(body) {
			if cut || got != body {
				t.Errorf("limit %d: got %q", limit, got)
			}
			continue
		}
		want := body[:limit]
		for !utf8.ValidString(want) {
			want = want[:len(want)-1]
		}
		if kept != want || note != fmt.Sprintf("[cut after %d bytes; the body is longer]", len(want)) {
			t.Errorf("limit %d: got %q and %q", limit, kept, note)
		}
	}
}

func TestDefaultLimit(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		chunk := []byte(strings.Repeat("x", 64<<10))
		for range 64 {
			w.Write(chunk)
		}
	})
	got := text(get(t, w.tool(t, nil), "http://example.com/"))
	if !strings.HasSuffix(got, "xx\n\n[cut after 262144 bytes; the body is longer]") {
		t.Fatalf("the result ends in %q", got[max(0, len(got)-80):])
	}
}

func TestRedirectLimit(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	wantRefused(t, get(t, w.tool(t, nil), "http://example.com/"), "more than 5 redirects")
	if len(w.dialled) != 6 {
		t.Errorf("dialled %d times, want 6", len(w.dialled))
	}
	none := w.tool(t, func(o *fetch.Options) { o.MaxRedirects = -1 })
	wantRefused(t, get(t, none, "http://example.com/"), "more than 0 redirects")
}

func TestFailuresAreErrorResults(t *testing.T) {
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	})
	w.answer("nowhere.test")
	x := w.tool(t, nil)
	wantRefused(t, get(t, x, "http://unknown.test/"), `http://unknown.test/ cannot be fetched: resolving unknown.test: no such host`)
	wantRefused(t, get(t, x, "http://nowhere.test/"), "it has no address")
	wantRefused(t, get(t, x, "http://example.com/cut"), "http://example.com/cut cannot be fetched: ")
	hasty := w.tool(t, func(o *fetch.Options) { o.Timeout = time.Millisecond })
	wantRefused(t, get(t, hasty, "http://example.com/hang"), "gave no complete answer within 1ms")
}

func TestAbortIsAnError(t *testing.T) {
	aborted := errors.New("aborted")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(aborted)
		<-r.Context().Done()
	})
	_, err := w.tool(t, nil).Execute(ctx, tool.Call{
		Arguments: jsontext.Value(`{"url":"http://example.com/"}`), Progress: func(tool.Progress) {},
	})
	if !errors.Is(err, aborted) {
		t.Fatalf("got %v, want the cause of the abort", err)
	}
}

func TestTriesTheNextAddress(t *testing.T) {
	w := newWorld(t, hello)
	w.answer("two.test", "93.184.215.15", publicAddr)
	x := w.tool(t, func(o *fetch.Options) {
		o.Dial = failingOnce(w.dial)
	})
	if done := get(t, x, "http://two.test/"); done.IsError {
		t.Fatal(text(done))
	}
	if diff := cmp.Diff([]string{publicAddr + ":80"}, w.dialled); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}
