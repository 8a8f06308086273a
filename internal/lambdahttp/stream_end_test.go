package lambdahttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

// A handler that ends with its context ends the stream cleanly, a margin before the invocation.
func TestStreamEndsBeforeTheInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		start := time.Now()
		resp := open(ctx, t, answering(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			_, _ = io.WriteString(w, "last word")
		}), nil)
		if got := readAll(t, resp.Body); got != "last word" || time.Since(start) != 15*time.Minute-time.Second {
			t.Errorf("%q after %v", got, time.Since(start))
		}
		_ = resp.Close()
	})
}

// A handler that does not look at its context is cut while there is time to report it.
func TestStreamOverdue(t *testing.T) {
	for what, first := range map[string]string{"after the first write": "one", "before the first write": ""} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var log bytes.Buffer
			start := time.Now()
			resp := open(ctx, t, answering(func(w http.ResponseWriter, _ *http.Request) {
				if first != "" {
					_, _ = io.WriteString(w, first)
				}
				time.Sleep(20 * time.Second)
				if _, err := io.WriteString(w, "too late"); err == nil {
					t.Error("a write after the end has no error")
				}
			}), &lambdahttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			got, err := io.ReadAll(resp.Body)
			if first != "" {
				if string(got) != first || err == nil {
					t.Errorf("%s: %q, %v", what, got, err)
				}
			} else if p := problemOf(t, resp.Headers["Content-Type"], string(got)); resp.StatusCode != 504 || p.Code != "deadline" || err != nil {
				t.Errorf("%s: %d %+v, %v", what, resp.StatusCode, p, err)
			}
			if took := time.Since(start); took != 9500*time.Millisecond {
				t.Errorf("%s: cut after %v", what, took)
			}
			_ = resp.Close()
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("%s: closing ended after %v, want with the invocation", what, took)
			}
			if text := log.String(); !strings.Contains(text, "handler overdue") || !strings.Contains(text, "handler outlives") {
				t.Errorf("%s: log %s", what, text)
			}
			time.Sleep(time.Minute)
		})
	}
}

func TestStreamWithoutAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		resp := open(ctx, t, answering(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil)
		if p := problemOf(t, resp.Headers["Content-Type"], readAll(t, resp.Body)); resp.StatusCode != 504 || p.Code != "deadline" {
			t.Errorf("%d %+v", resp.StatusCode, p)
		}
		_ = resp.Close()
	})
}

// A write deadline frees the handler when nobody reads, and the reader then learns that something is missing.
func TestStreamWriteDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 2)
		start := time.Now()
		resp := open(t.Context(), t, answering(func(w http.ResponseWriter, r *http.Request) {
			ctl := http.NewResponseController(w)
			_ = ctl.SetWriteDeadline(time.Now().Add(-time.Second))
			_, err := io.WriteString(w, "passed")
			failed <- err
			_ = ctl.SetWriteDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(w, "one") // read at once; the deadline then passes in silence and harms nothing
			time.Sleep(2 * time.Minute)
			_ = ctl.SetWriteDeadline(time.Now().Add(30 * time.Second))
			_, err = io.WriteString(w, "two")
			failed <- err
		}), nil)
		if got := next(t, resp.Body); got != "one" {
			t.Errorf("%q", got)
		}
		for range 2 {
			if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(start); took != 2*time.Minute+30*time.Second {
			t.Errorf("the write failed after %v", took)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("reading after it: %v", err)
		}
		_ = resp.Close()
	})
}
