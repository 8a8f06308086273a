package lambdahttp_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

// No emulator streams, so these tests play Lambda's Runtime API for the real runtime client in a process of its own.

const toldVar = "LAMBDAHTTP_TEST_TOLD" // where the process tells that a handler's context has ended

// TestRuntimeProcess is not a test: it is the process.
func TestRuntimeProcess(t *testing.T) {
	told := os.Getenv(toldVar)
	if told == "" {
		t.Skip("runs for the tests of the runtime")
	}
	h := answering(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "one")
		switch r.URL.Path {
		case "/panic":
			panic("boom")
		case "/hold":
			<-r.Context().Done()
		case "/ticks":
			for r.Context().Err() == nil {
				time.Sleep(20 * time.Millisecond)
				_, _ = io.WriteString(w, ".")
			}
			if resp, err := http.Get(told); err == nil {
				_ = resp.Body.Close()
			}
		}
	})
	lambda.Start(lambdahttp.Either(h, h, nil))
}

// A runtimeAPI is Lambda for one process.
type runtimeAPI struct {
	*httptest.Server
	next    chan []byte
	answers chan runtimeAnswer
	told    chan struct{}
	process *exec.Cmd
	output  bytes.Buffer
}

// A runtimeAnswer is an answer of the process while it comes.
type runtimeAnswer struct {
	*http.Request
	done chan<- bool // true: it was read to the end; false: Lambda hangs up
}

func startRuntime(t *testing.T, deadline time.Duration) *runtimeAPI {
	t.Helper()
	a := &runtimeAPI{next: make(chan []byte), answers: make(chan runtimeAnswer), told: make(chan struct{}, 1)}
	const path = "/2018-06-01/runtime/invocation/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path+"next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-a.next:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "id")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(deadline).UnixMilli(), 10))
			_, _ = w.Write(event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST "+path+"id/{kind}", func(w http.ResponseWriter, r *http.Request) {
		done := make(chan bool)
		a.answers <- runtimeAnswer{r, done}
		if !<-done {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("GET /told", func(http.ResponseWriter, *http.Request) { a.told <- struct{}{} })
	a.Server = httptest.NewServer(mux)
	a.process = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRuntimeProcess$")
	a.process.Env = append(os.Environ(), toldVar+"="+a.URL+"/told", "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(a.URL, "http://"))
	a.process.Stdout, a.process.Stderr = &a.output, &a.output
	if err := a.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = a.process.Process.Kill()
		_ = a.process.Wait()
		a.CloseClientConnections()
		a.Close()
		if t.Failed() {
			t.Logf("process:\n%s", a.output.String())
		}
	})
	return a
}

// invoke sends an event for a path and returns the answer that begins.
func (a *runtimeAPI) invoke(t *testing.T, path string) runtimeAnswer {
	t.Helper()
	select {
	case a.next <- recorded(t, "functionurl", "/v1/sessions/a%2Fb/events", path):
	case <-time.After(time.Minute):
		t.Fatal("the process asks for no event")
	}
	select {
	case r := <-a.answers:
		return r
	case <-time.After(time.Minute):
		t.Fatal("the process does not answer")
	}
	return runtimeAnswer{}
}

const prelude = `{"statusCode":200,"headers":{"Content-Type":"text/event-stream"}}` + "\x00\x00\x00\x00\x00\x00\x00\x00"

func (r runtimeAnswer) begins(t *testing.T) {
	t.Helper()
	want := prelude + "one"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r.Body, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestRuntimeStreams(t *testing.T) {
	t.Parallel()
	a := startRuntime(t, 4*time.Second)
	start := time.Now()
	r := a.invoke(t, "/hold")
	if kind := r.Header.Get("Content-Type"); kind != "application/vnd.awslambda.http-integration-response" || r.PathValue("kind") != "response" {
		t.Errorf("%s of type %q", r.PathValue("kind"), kind)
	}
	r.begins(t)
	// The handler waits for the end of its context, and its first words are here.
	if took := time.Since(start); took > 2900*time.Millisecond {
		t.Errorf("the first words came after %v", took)
	}
	if rest := readAll(t, r.Body); rest != "" || r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "" {
		t.Errorf("rest %q, trailer %v", rest, r.Trailer)
	}
	if took := time.Since(start); took < 2*time.Second || took > 4*time.Second {
		t.Errorf("ended after %v, want a second before the invocation", took)
	}
	r.done <- true
	// The process serves on.
	r = a.invoke(t, "/")
	r.begins(t)
	_ = readAll(t, r.Body)
	r.done <- true
}

func TestRuntimeReportsPanics(t *testing.T) {
	t.Parallel()
	a := startRuntime(t, time.Minute)
	r := a.invoke(t, "/panic")
	r.begins(t)
	if rest := readAll(t, r.Body); rest != "" {
		t.Errorf("rest %q", rest)
	}
	message, err := base64.StdEncoding.DecodeString(r.Trailer.Get("Lambda-Runtime-Function-Error-Body"))
	if r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "PanicError" || !bytes.Contains(message, []byte("the handler panicked: boom")) {
		t.Errorf("trailer %v, message %s, %v", r.Trailer, message, err)
	}
	r.done <- true
	r = a.invoke(t, "/")
	r.begins(t)
	_ = readAll(t, r.Body)
	r.done <- true
}

// When Lambda hangs up, the handler's context ends at its next write, long before the invocation would.
func TestRuntimeHangsUp(t *testing.T) {
	t.Parallel()
	a := startRuntime(t, 10*time.Minute)
	r := a.invoke(t, "/ticks")
	r.begins(t)
	r.done <- false
	select {
	case <-a.told:
	case <-time.After(time.Minute):
		t.Error("the handler was not told")
	}
}
