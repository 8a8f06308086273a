package lambdahttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

// open starts a stream and returns its response. Tests run it in a bubble, which fails if a goroutine stays behind.
func open(ctx context.Context, t *testing.T, h http.Handler, o *lambdahttp.Options) *events.LambdaFunctionURLStreamingResponse {
	t.Helper()
	resp, err := lambdahttp.Stream(h, o)(ctx, request(t, "functionurl"))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// next reads what one write of the handler sent.
func next(t *testing.T, r io.Reader) string {
	t.Helper()
	p := make([]byte, 1<<10)
	n, err := r.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(p[:n])
}

func TestStreamSendsAsTheHandlerWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		resp := open(t.Context(), t, answering(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Length", "99")
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			w.WriteHeader(http.StatusAccepted)
			w.Header().Set("X-Late", "no")
			time.Sleep(time.Second)
			ctl := http.NewResponseController(w)
			if err := ctl.Flush(); err != nil {
				t.Error(err)
			}
			for _, event := range []string{"one", "two", "three"} {
				time.Sleep(time.Second)
				if err := ctl.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
					t.Error(err)
				}
				if n, err := io.WriteString(w, event); n != len(event) || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				if err := ctl.Flush(); err != nil {
					t.Error(err)
				}
			}
			if err := errors.Join(ctl.SetWriteDeadline(time.Time{}), ctl.SetReadDeadline(time.Time{})); err != nil {
				t.Error(err)
			}
		}), nil)
		if took := time.Since(start); took != time.Second {
			t.Errorf("the response came after %v, want with the first flush", took)
		}
		if resp.StatusCode != 202 {
			t.Errorf("status %d", resp.StatusCode)
		}
		if diff := cmp.Diff(map[string]string{"Content-Type": "text/event-stream"}, resp.Headers); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"a=1", "b=2"}, resp.Cookies); diff != "" {
			t.Error(diff)
		}
		for i, want := range []string{"one", "two", "three"} {
			if got := next(t, resp.Body); got != want || time.Since(start) != time.Duration(i+2)*time.Second {
				t.Errorf("%q after %v, want %q", got, time.Since(start), want)
			}
		}
		if rest := readAll(t, resp.Body); rest != "" {
			t.Errorf("rest %q", rest)
		}
		if err := resp.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestStreamFirstWrite(t *testing.T) {
	for what, c := range map[string]struct {
		h    func(w http.ResponseWriter, r *http.Request)
		want string
		kind string
		code int
	}{
		"write":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "<html>", "text/html; charset=utf-8", 200},
		"flush":        {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); _, _ = io.WriteString(w, "x") }, "x", "", 200},
		"status only":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, "", "", 418},
		"nothing":      {func(http.ResponseWriter, *http.Request) {}, "", "", 200},
		"empty writes": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); _, _ = w.Write([]byte{}) }, "", "", 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			resp := open(t.Context(), t, answering(c.h), nil)
			if got := readAll(t, resp.Body); got != c.want || resp.StatusCode != c.code || resp.Headers["Content-Type"] != c.kind {
				t.Errorf("%s: %d %q, type %q", what, resp.StatusCode, got, resp.Headers["Content-Type"])
			}
			_ = resp.Close()
		})
	}
}

// When Lambda stops reading, the handler's context ends and its writes fail; closing waits for it.
func TestStreamReaderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended, writeFailed atomic.Bool
		resp := open(t.Context(), t, answering(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "one")
			_, err := io.WriteString(w, "nobody reads this")
			writeFailed.Store(err != nil)
			<-r.Context().Done()
			time.Sleep(100 * time.Millisecond) // cleaning up
			ended.Store(true)
		}), nil)
		if got := next(t, resp.Body); got != "one" {
			t.Errorf("%q", got)
		}
		if err := resp.Close(); err != nil {
			t.Error(err)
		}
		if !ended.Load() || !writeFailed.Load() {
			t.Errorf("closed: handler ended %t, write failed %t", ended.Load(), writeFailed.Load())
		}
		_ = resp.Close() // a second time does no harm
	})
}

func TestStreamReaderLeavesBeforeReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp := open(t.Context(), t, answering(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "tick")
				time.Sleep(time.Second)
			}
		}), nil)
		time.Sleep(time.Minute)
		_ = resp.Close()
	})
}

func TestStreamPanics(t *testing.T) {
	for what, c := range map[string]struct {
		p     any
		typed bool
	}{"panic": {"boom", true}, "abort": {http.ErrAbortHandler, false}} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			o := &lambdahttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
			resp := open(t.Context(), t, answering(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "half")
				panic(c.p)
			}), o)
			got, err := io.ReadAll(resp.Body)
			var p *lambdahttp.PanicError
			if string(got) != "half" || err == nil || errors.As(err, &p) != c.typed {
				t.Errorf("%s: %q, %v", what, got, err)
			}
			_ = resp.Close()
			if strings.Contains(log.String(), "boom") != c.typed {
				t.Errorf("%s: log %s", what, log.String())
			}

			resp = open(t.Context(), t, answering(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Half", "done")
				w.WriteHeader(http.StatusOK)
				panic(c.p)
			}), o)
			if pr := problemOf(t, resp.Headers["Content-Type"], readAll(t, resp.Body)); resp.StatusCode != 500 || pr.Code != "internal" || resp.Headers["X-Half"] != "" {
				t.Errorf("%s before the first byte: %d %+v %v", what, resp.StatusCode, pr, resp.Headers)
			}
			_ = resp.Close()
		})
	}
}

// The value is what Lambda's runtime streams: a prelude, eight zero bytes, and the body.
func TestStreamAsLambdaReadsIt(t *testing.T) {
	t.Parallel()
	h := answering(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") })
	for what, handler := range map[string]any{"stream": lambdahttp.Stream(h, nil), "either": lambdahttp.Either(nil, h, nil)} {
		out, err := lambda.NewHandler(handler).Invoke(t.Context(), recorded(t, "functionurl"))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"statusCode":200,"headers":{"Content-Type":"text/plain; charset=utf-8"}}` + strings.Repeat("\x00", 8) + "body"
		if string(out) != want {
			t.Errorf("%s: %q", what, out)
		}
	}
	out, err := lambda.NewHandler(lambdahttp.Either(h, nil, nil)).Invoke(t.Context(), recorded(t, "httpapi"))
	if err != nil || !bytes.Contains(out, []byte(`"statusCode":200`)) || !bytes.Contains(out, []byte(`"body":"body"`)) {
		t.Errorf("gateway: %s, %v", out, err)
	}
}
