package openai_test

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/openai"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

var update = flag.Bool("update", false, "write the golden files")

// A wire answers every request with what it returns and sends nothing anywhere.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// streaming answers 200 with an event stream read from body.
func streaming(body io.Reader) wire {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK",
			Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body:   io.NopCloser(body),
		}, nil
	}
}

var at = time.Date(2026, 10, 21, 7, 0, 0, 0, time.UTC)

func client(t *testing.T, w wire) *openai.Client {
	t.Helper()
	c, err := openai.New(openai.Options{
		BaseURL: "http://server.test/v1/", APIKey: "sk-secret",
		Models:     []llm.ModelInfo{{Model: llm.Model{ID: "m"}, ThinkingLevels: []string{"low", "high"}}},
		HTTPClient: &http.Client{Transport: w},
		Now:        func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hello() llm.Request {
	return llm.Request{
		Model:    llm.Model{Provider: "openai", ID: "m"},
		Messages: []message.Message{message.NewUser("hello", 0)},
	}
}

// play returns the message of one stream and checks that its deltas, joined, say the same.
func play(t *testing.T, body io.Reader) message.Assistant {
	t.Helper()
	texts := map[int]string{}
	msg := client(t, streaming(body)).Stream(t.Context(), hello(), func(d llm.Delta) error {
		switch d := d.(type) {
		case llm.TextDelta:
			texts[d.Index] += d.Text
		case llm.ThinkingDelta:
			texts[d.Index] += d.Text
		case llm.ToolCallDelta:
		}
		return nil
	})
	if err := message.Validate(msg); err != nil {
		t.Error(err)
	}
	for i, p := range msg.Content {
		want := ""
		switch p := p.(type) {
		case message.Text:
			want = p.Text
		case message.Thinking:
			want = p.Thinking
		case message.ToolCall:
		}
		if texts[i] != want {
			t.Errorf("deltas of part %d say %q, the part %q", i, texts[i], want)
		}
	}
	return msg
}

func corpus(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	streams := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		streams[strings.TrimSuffix(filepath.Base(path), ".sse")] = data
	}
	return streams
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func indented(t *testing.T, data []byte) []byte {
	t.Helper()
	v := jsontext.Value(data)
	if err := v.Indent(); err != nil {
		t.Fatal(err)
	}
	return append(v, '\n')
}

// Each recorded stream becomes the message beside it.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, data := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := message.Marshal(play(t, bytes.NewReader(data)))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata/streams", name+".json"), indented(t, encoded))
		})
	}
}

// Field report B70: where the network cuts a stream changes nothing, nor do its line endings.
func TestB70_EverySplit(t *testing.T) {
	t.Parallel()
	for name, data := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := play(t, bytes.NewReader(data))
			same := func(how string, body io.Reader) {
				t.Helper()
				if diff := cmp.Diff(want, play(t, body)); diff != "" {
					t.Fatalf("%s (-want +got):\n%s", how, diff)
				}
			}
			same("one byte per read", iotest.OneByteReader(bytes.NewReader(data)))
			same("half reads", iotest.HalfReader(bytes.NewReader(data)))
			same("data with EOF", iotest.DataErrReader(bytes.NewReader(data)))
			if !bytes.Contains(data, []byte("\r")) {
				same("CRLF", bytes.NewReader(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))))
			}
			for i := range data {
				same("split", io.MultiReader(bytes.NewReader(data[:i]), bytes.NewReader(data[i:])))
			}
		})
	}
}

// A stream that ends anywhere gives a whole message, and no tool call unless the response was complete.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	for name, data := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := play(t, bytes.NewReader(data))
			for i := range data {
				msg := play(t, io.MultiReader(bytes.NewReader(data[:i]), iotest.ErrReader(io.ErrUnexpectedEOF)))
				f, failed := llm.FailureOf(msg)
				if failed != (msg.StopReason == message.StopError) {
					t.Fatalf("cut at %d: stop reason %s, failure %+v", i, msg.StopReason, f)
				}
				if failed && len(msg.Calls()) > 0 {
					t.Fatalf("cut at %d: a failed message has calls", i)
				}
				if !failed && cmp.Diff(whole.Content, msg.Content) != "" {
					t.Fatalf("cut at %d: complete with other content:\n%s", i, cmp.Diff(whole.Content, msg.Content))
				}
			}
		})
	}
}

// Whatever a server sends becomes a valid message that can be stored.
func FuzzStream(f *testing.F) {
	paths, _ := filepath.Glob("testdata/streams/*.sse")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg := play(t, bytes.NewReader(data))
		if _, err := message.Marshal(msg); err != nil {
			t.Fatal(err)
		}
	})
}
