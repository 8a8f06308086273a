package scripted_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestPlay(t *testing.T) {
	t.Parallel()
	p := scripted.Play(
		scripted.Thinking("hm"), scripted.Text("a"), scripted.Text("b"),
		scripted.Call("x", "T", `{"n":1}`), scripted.RawCall("x", "T", `{"n":`),
		scripted.Usage(message.Usage{TotalTokens: 7}), scripted.End(message.StopToolUse),
		scripted.Text("partial"), scripted.RawCall("y", "T", "{}"), scripted.Err(llm.Failure{Kind: llm.FailureRateLimit, RetryAfterMs: 5}),
		scripted.Cut(),
		scripted.Text("cut off"), scripted.End(message.StopLength),
		scripted.Text("done"),
	).Clock(func() time.Time { return time.UnixMilli(9) })

	got := p.Stream(t.Context(), request(1, user("one")), nil)
	want := message.Assistant{
		API: "scripted", Provider: "scripted", Model: "demo", Timestamp: 9,
		Usage: message.Usage{TotalTokens: 7}, StopReason: message.StopToolUse, RawStopReason: "toolUse",
		Content: []message.Part{
			message.Thinking{Thinking: "hm"},
			message.Text{Text: "ab"},
			message.ToolCall{ID: "x", Name: "T", Arguments: jsontext.Value(`{"n":1}`)},
			message.ToolCall{ID: "x", Name: "T", Arguments: jsontext.Value(`{}`), RawArguments: `{"n":`},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first response (-want +got):\n%s", diff)
	}

	failed := p.Stream(t.Context(), request(2, user("two")), nil)
	if f, _ := llm.FailureOf(failed); f != (llm.Failure{Kind: llm.FailureRateLimit, RetryAfterMs: 5}) || text(failed) != "partial" || len(failed.Calls()) != 0 {
		t.Errorf("second response %+v", failed)
	}
	if f, _ := llm.FailureOf(p.Stream(t.Context(), request(3), nil)); f.Kind != llm.FailureCut {
		t.Errorf("third response %+v", f)
	}
	if cut := p.Stream(t.Context(), request(4), nil); cut.StopReason != message.StopLength {
		t.Errorf("fourth response %+v", cut)
	}
	if p.Done() {
		t.Error("Done before the last response")
	}
	if last := p.Stream(t.Context(), request(5), nil); last.StopReason != message.StopEnd || text(last) != "done" || !p.Done() {
		t.Errorf("last response %+v", last)
	}

	over := p.Stream(t.Context(), request(6), nil)
	if f, _ := llm.FailureOf(over); f.Kind != llm.FailureInvalidRequest {
		t.Errorf("beyond the script: %+v", over)
	}
	p.Then(scripted.Text("more"))
	if more := p.Stream(t.Context(), request(7), nil); text(more) != "more" {
		t.Errorf("after Then: %+v", more)
	}
	var attempts []int
	for _, r := range p.Requests() {
		attempts = append(attempts, r.Attempt)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7}, attempts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestPlayGate(t *testing.T) {
	t.Parallel()
	reached, open := make(chan struct{}), make(chan struct{})
	p := scripted.Play(scripted.Text("a"), scripted.Do(func() { close(reached) }), scripted.Gate(open), scripted.Text("b"))
	done := make(chan message.Assistant)
	go func() { done <- p.Stream(t.Context(), request(1), nil) }()
	<-reached
	close(open)
	if msg := <-done; text(msg) != "ab" {
		t.Errorf("got %+v", msg)
	}
}

func TestPlayStops(t *testing.T) {
	t.Parallel()
	full := errors.New("fenced")
	for name, last := range map[string]scripted.Step{"stall": scripted.Stall(), "gate": scripted.Gate(nil)} {
		ctx, cancel := context.WithCancel(t.Context())
		p := scripted.Play(scripted.Text("a"), scripted.RawCall("x", "T", `{"p":`), scripted.Do(cancel), last)
		if msg := p.Stream(ctx, request(1), nil); msg.StopReason != message.StopAborted || text(msg) != "a" || len(msg.Calls()) != 0 {
			t.Errorf("%s: %+v", name, msg)
		}
	}
	p := scripted.Play(scripted.Text("a"), scripted.Text("b"))
	if msg := p.Stream(t.Context(), request(1), func(llm.Delta) error { return full }); msg.StopReason != message.StopAborted || text(msg) != "a" {
		t.Errorf("emit error: %+v", msg)
	}
}

func TestPlayAs(t *testing.T) {
	t.Parallel()
	a := llm.ModelInfo{Model: llm.Model{Provider: "p", ID: "a"}, API: "api-a"}
	b := llm.ModelInfo{Model: llm.Model{Provider: "p", ID: "b"}, API: "api-b"}
	p := scripted.Play(scripted.Text("x")).As(a, b)
	_, info, ok := llm.NewCatalog(p).Lookup(b.Model)
	if !ok || info.API != "api-b" {
		t.Fatalf("Lookup = %+v, %v", info, ok)
	}
	msg := p.Stream(t.Context(), llm.Request{Model: b.Model}, nil)
	if msg.Provider != "p" || msg.Model != "b" || msg.API != "api-b" {
		t.Errorf("got %+v", msg)
	}
}

func TestPlayConcurrently(t *testing.T) {
	t.Parallel()
	const n = 50
	p := scripted.Play()
	for range n {
		p.Then(scripted.Text("x"), scripted.End(message.StopEnd))
	}
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if msg := p.Stream(t.Context(), request(1), nil); text(msg) != "x" {
				t.Errorf("got %+v", msg)
			}
		})
	}
	group.Wait()
	if !p.Done() || len(p.Requests()) != n {
		t.Errorf("%d requests, done %v", len(p.Requests()), p.Done())
	}
}

func TestCallRefusesBadArguments(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Call takes arguments that are not an object")
		}
	}()
	scripted.Call("a", "T", `{"n":`)
}
