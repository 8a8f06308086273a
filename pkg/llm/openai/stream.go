package openai

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/sse"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A stream is one response being read.
type stream struct {
	client  *Client
	builder *llm.Builder
	calls   callKeys
	finish  string // the server's reason, once it is known
	ended   bool   // the reason is known: what follows is only usage
	some    bool   // anything was produced
	refusal strings.Builder
}

// read plays the event stream r.
func (c *Client) read(ctx context.Context, b *llm.Builder, r io.Reader) message.Assistant {
	s := &stream{client: c, builder: b, calls: callKeys{byIndex: map[int]*openCall{}}}
	events := sse.NewReader(r)
	for {
		e, err := events.Next()
		if err != nil {
			return s.broken(ctx, err)
		}
		data := strings.TrimSpace(e.Data)
		if data == "[DONE]" {
			if !s.ended && !s.some {
				return s.fail(llm.Failure{Kind: llm.FailureCut}, "the response is empty")
			}
			return s.done()
		}
		var ch chunk
		if err := json.Unmarshal([]byte(data), &ch, lenient()); err != nil {
			if e := parseError([]byte(data)); e.found {
				return s.failed(e)
			}
			return s.fail(llm.Failure{Kind: llm.FailureMalformed}, "a frame of the stream is not a chunk: "+start(data))
		}
		if ch.Error.Kind() == '{' || ch.Error.Kind() == '"' || e.Event == "error" {
			return s.failed(parseError([]byte(data)))
		}
		if err := s.chunk(ch); err != nil {
			return b.Abort()
		}
	}
}

// chunk adds what ch brings. Its error means that the response must stop.
func (s *stream) chunk(ch chunk) error {
	m := &s.builder.Message
	if m.ResponseID == "" {
		m.ResponseID = message.CleanText(textOf(ch.ID))
	}
	if m.ResponseModel == "" {
		m.ResponseModel = message.CleanText(textOf(ch.Model))
	}
	if ch.Usage != nil {
		m.Usage = ch.Usage.usage()
	}
	for _, c := range ch.Choices {
		if c.Index != 0 {
			continue // one answer was asked for
		}
		if err := s.delta(c.Delta); err != nil {
			return err
		}
		if reason := textOf(c.FinishReason); reason != "" {
			s.finish, s.ended = reason, true
		}
	}
	return nil
}

func (s *stream) delta(d delta) error {
	reasoning, field := d.reasoning()
	content, refusal := textOf(d.Content), textOf(d.Refusal)
	s.refusal.WriteString(refusal)
	if reasoning != "" || content != "" || refusal != "" || len(d.ToolCalls) > 0 {
		s.some = true
	}
	if err := s.builder.Thinking(reasoning, field); err != nil {
		return err
	}
	if err := s.builder.Text(content); err != nil {
		return err
	}
	if err := s.builder.Text(refusal); err != nil {
		return err
	}
	for _, c := range d.ToolCalls {
		id, name, arguments := textOf(c.ID), textOf(c.Function.Name), c.Function.argumentsText()
		call := s.calls.find(c.Index, id, name)
		call.arguments.WriteString(arguments)
		if err := s.builder.Call(call.key, id, name, arguments); err != nil {
			return err
		}
	}
	return nil
}

// done ends a response that came whole.
func (s *stream) done() message.Assistant {
	s.builder.Message.RawStopReason = message.CleanText(s.finish)
	if s.refusal.Len() > 0 {
		return s.fail(llm.Failure{Kind: llm.FailureRefusal}, "the model refuses: "+s.refusal.String())
	}
	switch s.finish {
	case "length", "max_tokens", "model_length":
		return s.builder.Finish(message.StopLength, s.finish)
	case "content_filter", "refusal", "safety":
		return s.fail(llm.Failure{Kind: llm.FailureRefusal}, "the server's content filter stopped the response ("+s.finish+")")
	case "insufficient_system_resource":
		return s.fail(llm.Failure{Kind: llm.FailureOverloaded}, "the server ran out of resources")
	case "error":
		return s.fail(llm.Failure{Kind: llm.FailureServer}, "the server failed within the response")
	}
	// Servers have many words for a normal end, and some say "stop" after tool calls: the content decides.
	return s.builder.Finish(message.StopEnd, s.finish)
}

// broken ends a response whose stream ended without saying that it is done. Once the reason to stop is known, nothing
// but usage can be missing.
func (s *stream) broken(ctx context.Context, err error) message.Assistant {
	if s.ended {
		return s.done()
	}
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return s.fail(llm.Failure{Kind: llm.FailureStalled}, reason(ctx, err))
	case errors.Is(err, sse.ErrTooLong):
		return s.fail(llm.Failure{Kind: llm.FailureMalformed}, err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return s.fail(llm.Failure{Kind: llm.FailureCut}, "the stream ended in the middle of the response")
	}
	return s.fail(llm.Failure{Kind: llm.FailureCut}, "the stream broke in the middle of the response: "+reason(ctx, err))
}

// failed ends a response with an error that came inside the stream, so it has no HTTP status of its own.
func (s *stream) failed(e serverError) message.Assistant {
	return s.fail(llm.Failure{Kind: e.classify(0)}, e.text(nil))
}

func (s *stream) fail(f llm.Failure, text string) message.Assistant {
	return s.builder.Fail(f, s.client.text(text))
}

// callKeys tells to which call of a response a fragment belongs.
type callKeys struct {
	byIndex map[int]*openCall
	last    *openCall
	count   int
}

type openCall struct {
	key       int
	id, name  string
	arguments strings.Builder
}

// find returns the call of a fragment. Servers number the calls of a response, but some number them all 0 and some not at
// all; then a fragment that brings a name of its own starts a call, unless it only repeats the one that is still open.
func (k *callKeys) find(index *int, id, name string) *openCall {
	call := k.last
	if index != nil {
		call = k.byIndex[*index]
	}
	if call == nil || k.starts(call, index == nil, id, name) {
		call = &openCall{key: k.count}
		k.count++
	}
	if call.id == "" {
		call.id = id
	}
	if call.name == "" {
		call.name = name
	}
	if index != nil {
		k.byIndex[*index] = call
	}
	k.last = call
	return call
}

func (k *callKeys) starts(call *openCall, unnumbered bool, id, name string) bool {
	switch {
	case name == "" || call.name == "":
		return false
	case id != "" && call.id != "" && id != call.id:
		return true
	case !unnumbered:
		return false
	}
	return name != call.name || jsontext.Value(call.arguments.String()).IsValid()
}

// start returns the beginning of junk, enough to recognise what it is.
func start(data string) string {
	const most = 200
	if len(data) > most {
		data = data[:most]
	}
	return strconv.Quote(data)
}
