package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/sse"
)

func readAll(r io.Reader) ([]sse.Event, error) {
	reader := sse.NewReader(r)
	var events []sse.Event
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stream string
		want         []sse.Event
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []sse.Event{{Data: "a"}}},
		{"no space", "data:a\n\n", []sse.Event{{Data: "a"}}},
		{"one space is taken", "data:  a \n\n", []sse.Event{{Data: " a "}}},
		{"lines joined", "data: a\ndata:\ndata: b\n\n", []sse.Event{{Data: "a\n\nb"}}},
		{"name only", "data\ndata\n\n", []sse.Event{{Data: "\n"}}},
		{"empty data is not dispatched", "event: x\ndata\n\ndata: b\n\n", []sse.Event{{Data: "b"}}},
		{"type", "event: ping\ndata: 1\n\ndata: 2\n\n", []sse.Event{{Event: "ping", Data: "1"}, {Data: "2"}}},
		{"id stays", "id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []sse.Event{{ID: "7", Data: "a"}, {ID: "7", Data: "b"}, {Data: "c"}}},
		{"id with NUL is ignored", "id: 1\nid: 2\x003\ndata: a\n\n", []sse.Event{{ID: "1", Data: "a"}}},
		{"comments", ":\n: keep-alive\ndata: a\n:\n\n: x\n\n", []sse.Event{{Data: "a"}}},
		{"unknown fields", "foo: bar\nDATA: no\ndata: a\n\n", []sse.Event{{Data: "a"}}},
		{"colon in value", "data: a: b\n\n", []sse.Event{{Data: "a: b"}}},
		{"BOM", "\uFEFFdata: a\n\n", []sse.Event{{Data: "a"}}},
		{"only the first BOM", "\uFEFF\uFEFFdata: a\n\ndata: b\n\n", []sse.Event{{Data: "b"}}},
		{"unfinished event is dropped", "data: a\n\ndata: b\n", []sse.Event{{Data: "a"}}},
		{"unfinished line is dropped", "data: a\n\ndata: b", []sse.Event{{Data: "a"}}},
		{"mixed endings", "data: a\r\rdata: b\r\n\ndata: c\n\r\n", []sse.Event{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
		{"characters", "data: é 😀\n\n", []sse.Event{{Data: "é 😀"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readAll(strings.NewReader(test.stream))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Field report B70: chunk borders and line endings change nothing.
func TestB70_ChunksAndEndings(t *testing.T) {
	t.Parallel()
	const stream = "\uFEFF: hi\nid: 1\nevent: é\ndata: 日本\ndata: 😀\n\n\ndata: {\"a\":\"ü\"}\n\n"
	want := []sse.Event{{ID: "1", Event: "é", Data: "日本\n😀"}, {ID: "1", Data: `{"a":"ü"}`}}
	for _, ending := range []string{"\n", "\r\n", "\r"} {
		text := strings.ReplaceAll(stream, "\n", ending)
		readers := map[string]io.Reader{"one byte per read": iotest.OneByteReader(strings.NewReader(text))}
		for i := range len(text) {
			readers["split at "+text[:i]] = io.MultiReader(strings.NewReader(text[:i]), strings.NewReader(text[i:]))
		}
		for name, r := range readers {
			got, err := readAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("ending %q, %s (-want +got):\n%s", ending, name, diff)
			}
		}
	}
}

// An event that ends in CRs is complete without waiting for the byte after them.
func TestNextDoesNotWaitAfterCR(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	defer pw.Close()
	go func() { _, _ = pw.Write([]byte("data: a\r\r")) }()
	got, err := sse.NewReader(pr).Next()
	if err != nil || got.Data != "a" {
		t.Fatalf("Next() = %v, %v", got, err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"line": "data: " + strings.Repeat("x", 100),
		"data": strings.Repeat("data: xxxxxxxxxx\n", 10),
	} {
		r := sse.NewReader(strings.NewReader(stream))
		r.SetLimit(50)
		if _, err := r.Next(); !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%s: %v, want ErrTooLong", name, err)
		}
	}
	r := sse.NewReader(strings.NewReader(strings.Repeat(": a comment\n", 100) + "data: x\n\n"))
	r.SetLimit(50)
	if e, err := r.Next(); err != nil || e.Data != "x" {
		t.Errorf("many comments: %v, %v", e, err)
	}
}

func TestErrorsPass(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	events, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(events) != 1 {
		t.Fatalf("%v, %v", events, err)
	}
}

func TestRetryAndLastID(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("retry: 1500\nretry: -1\nretry: soon\nretry: 99999999999999999999\nid: 9\n\n"))
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if r.Retry() != 1500*time.Millisecond || r.LastID() != "9" {
		t.Errorf("retry %v, last id %q", r.Retry(), r.LastID())
	}
}

// A stream gives the same events however its bytes are cut, and no event has empty data.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "\uFEFFid: 1\r\ndata\r\rdata:x\n\n", ":c\nevent: é\ndata: 1\ndata: 2\n\n", "\xff\x00\r\n\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		whole, err := readAll(strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		bytewise, err := readAll(iotest.OneByteReader(strings.NewReader(stream)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range whole {
			if e.Data == "" || strings.ContainsAny(e.Data, "\r") {
				t.Fatalf("event %+v", e)
			}
		}
	})
}
