package lambdahttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	resp, raw := invoke(t, answering(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", "13")
		h.Add("Vary", "Origin")
		h.Add("Vary", "Accept")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2", Expires: time.Unix(1796066345, 0)})
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot)
		h.Set("X-Late", "no")
		_, _ = io.WriteString(w, `{"text":`)
		_, _ = io.WriteString(w, `"λ"}`)
	}), nil, recorded(t, "httpapi"))
	if resp.StatusCode != 201 || resp.Body != `{"text":"λ"}` || resp.IsBase64Encoded {
		t.Errorf("%d %q base64 %t", resp.StatusCode, resp.Body, resp.IsBase64Encoded)
	}
	if diff := cmp.Diff(map[string]string{"Content-Type": "application/json", "Vary": "Origin, Accept"}, resp.Headers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a=1; Path=/", "b=2; Expires=Mon, 30 Nov 2026 19:19:05 GMT"}, resp.Cookies); diff != "" {
		t.Error(diff)
	}
	if bytes.Contains(raw, []byte(`Set-Cookie`)) {
		t.Errorf("cookies twice: %s", raw)
	}
}

func TestAnswerBodies(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, strings.Repeat("text ", 100))
	_ = z.Close()
	for what, c := range map[string]struct {
		body, header, kind string
		base64             bool
	}{
		"text":           {"plain λ 世 \u2028 \x00 \x1f \"quoted\" \\ \r\n", "", "application/octet-stream", false},
		"html":           {"<!DOCTYPE html><p>a&b", "", "text/html; charset=utf-8", false},
		"image":          {"\x89PNG\x0D\x0A\x1A\x0A\x00\xff", "", "image/png", true},
		"bad UTF-8":      {"a\xc3", "text/plain", "text/plain", true},
		"gzip":           {zipped.String(), "application/json", "application/json", true},
		"nothing":        {"", "", "", false},
		"typed, nothing": {"", "text/plain", "text/plain", false},
	} {
		resp, _ := invoke(t, answering(func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("Content-Type", c.header)
			}
			_, _ = io.WriteString(w, c.body)
		}), nil, recorded(t, "functionurl"))
		if got := bodyOf(t, resp); got != c.body || resp.IsBase64Encoded != c.base64 || resp.Headers["Content-Type"] != c.kind || resp.StatusCode != 200 {
			t.Errorf("%s: %d, %q, base64 %t, type %q", what, resp.StatusCode, got, resp.IsBase64Encoded, resp.Headers["Content-Type"])
		}
	}
}

func TestAnswersWithoutBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		status int
		err    error
	}{{"HEAD", 200, nil}, {"GET", 204, http.ErrBodyNotAllowed}, {"GET", 304, http.ErrBodyNotAllowed}} {
		h := answering(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			if _, err := io.WriteString(w, "body"); !errors.Is(err, c.err) {
				t.Errorf("%s %d: %v", c.method, c.status, err)
			}
		})
		resp, _ := invoke(t, h, nil, recorded(t, "functionurl", `"method": "GET"`, `"method": "`+c.method+`"`))
		stream, err := lambdahttp.Stream(h, nil)(t.Context(), request(t, "functionurl", `"method": "GET"`, `"method": "`+c.method+`"`))
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, stream.Body); resp.Body != "" || got != "" || resp.StatusCode != c.status || stream.StatusCode != c.status {
			t.Errorf("%s %d: %+v, stream %d %q", c.method, c.status, resp, stream.StatusCode, got)
		}
	}
}

// What is sent never has more bytes than the limit, and nothing that fits is refused by more than the frame's margin.
func TestAnswerLimit(t *testing.T) {
	t.Parallel()
	for what, piece := range map[string]string{
		"letters": "abcdefgh", "quotes": `"\`, "controls": "\x01\n", "separators": "\u2028\u2029 x", "other E2": "€\u2027", "binary": "\xff\x00\xe2\x80",
	} {
		body := strings.Repeat(piece, 2000)
		h := answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Quoted", `"a"`)
			w.Header().Add("Set-Cookie", `c="d"`)
			_, _ = io.WriteString(w, body)
		})
		resp, raw := invoke(t, h, nil, recorded(t, "httpapi"))
		if bodyOf(t, resp) != body {
			t.Fatalf("%s: body differs", what)
		}
		_, sent := invoke(t, h, &lambdahttp.Options{Limit: len(raw) + 256}, recorded(t, "httpapi"))
		if !bytes.Equal(sent, raw) {
			t.Errorf("%s: refused with a limit of %d for %d bytes: %.200s", what, len(raw)+256, len(raw), sent)
		}
		for limit := len(raw) - 4000; limit <= len(raw)+256; limit += 64 {
			resp, sent := invoke(t, h, &lambdahttp.Options{Limit: limit}, recorded(t, "httpapi"))
			if resp.StatusCode == 200 && (len(sent) > limit || bodyOf(t, resp) != body) {
				t.Fatalf("%s: %d bytes for a limit of %d", what, len(sent), limit)
			}
			if resp.StatusCode != 200 {
				wantProblem(t, resp, 500, "answer-too-large")
			}
		}
	}
}

func TestLambdasOwnLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, body string
		status     int
		base64     bool
	}{
		{"6 MB less a little", strings.Repeat("x", 6<<20-1000), 200, false},
		{"6 MB and a little", strings.Repeat("x", 6<<20+1), 500, false},
		{"text that doubles as JSON fits as base64", strings.Repeat(`"`, 4<<20), 200, true},
		{"binary of 4.4 MB", strings.Repeat("\xff", 44e5), 200, true},
		{"binary of 5 MB", strings.Repeat("\xff", 5e6), 500, false},
	} {
		var log bytes.Buffer
		resp, raw := invoke(t, answering(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) }),
			&lambdahttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, recorded(t, "httpapi"))
		if resp.StatusCode != c.status || resp.IsBase64Encoded != c.base64 || len(raw) > 6<<20 {
			t.Errorf("%s: %d, base64 %t, %d bytes", c.what, resp.StatusCode, resp.IsBase64Encoded, len(raw))
		}
		if c.status == 500 {
			p := wantProblem(t, resp, 500, "answer-too-large")
			if p.RequestID != "ATfSmjLgPHcESJw" || !strings.Contains(p.Detail, "6291456") || !strings.Contains(log.String(), "answer too large") {
				t.Errorf("%s: %+v, log %s", c.what, p, log.String())
			}
		} else if bodyOf(t, resp) != c.body {
			t.Errorf("%s: body differs", c.what)
		}
	}
}

func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		p      any
		logged bool
	}{"panic": {errors.New("boom"), true}, "abort": {http.ErrAbortHandler, false}} {
		var log bytes.Buffer
		resp, _ := invoke(t, answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Half", "done")
			_, _ = io.WriteString(w, "half")
			panic(c.p)
		}), &lambdahttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, recorded(t, "httpapi"))
		p := wantProblem(t, resp, 500, "internal")
		if strings.Contains(resp.Body, "boom") || resp.Headers["X-Half"] != "" || p.Instance != "urn:request:ATfSmjLgPHcESJw" {
			t.Errorf("%s: %+v", what, resp)
		}
		if got := strings.Contains(log.String(), "boom") && strings.Contains(log.String(), "serve_test.go"); got != c.logged {
			t.Errorf("%s: log %s", what, log.String())
		}
	}
}

// The handler's context ends before the invocation, and before API Gateway hangs up.
func TestTimeOfARequest(t *testing.T) {
	for _, c := range []struct {
		what       string
		invocation time.Duration
		opts       lambdahttp.Options
		want       time.Duration
	}{
		{"invocation", 10 * time.Second, lambdahttp.Options{}, 9 * time.Second},
		{"margin", 10 * time.Second, lambdahttp.Options{Margin: 3 * time.Second}, 7 * time.Second},
		{"gateway", 900 * time.Second, lambdahttp.Options{}, 28 * time.Second},
		{"own timeout", 900 * time.Second, lambdahttp.Options{Timeout: 5 * time.Second}, 5 * time.Second},
		{"no timeout", 900 * time.Second, lambdahttp.Options{Timeout: -1}, 899 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.invocation)
			defer cancel()
			start := time.Now()
			resp, err := lambdahttp.Serve(answering(func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				if !errors.Is(r.Context().Err(), context.DeadlineExceeded) {
					t.Errorf("%s: %v", c.what, r.Context().Err())
				}
			}), &c.opts)(ctx, request(t, "httpapi"))
			if took := time.Since(start); took != c.want || err != nil {
				t.Errorf("%s: %v after %v, want %v", c.what, err, took, c.want)
			}
			wantProblem(t, resp, 504, "deadline")
		})
	}
}

func TestFlushIsNotOffered(t *testing.T) {
	t.Parallel()
	invoke(t, answering(func(w http.ResponseWriter, _ *http.Request) {
		ctl := http.NewResponseController(w)
		for what, err := range map[string]error{"flush": ctl.Flush(), "deadline": ctl.SetWriteDeadline(time.Time{})} {
			if !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}), nil, recorded(t, "httpapi"))
}
