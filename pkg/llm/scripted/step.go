package scripted

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Step is one thing a [Player] does. [End], [Err], [Cut] and [Stall] end a response; the step after them belongs to
// the next.
type Step struct {
	play func(*response) error
	ends func(*response) message.Assistant
}

// A response is one call of Stream under way.
type response struct {
	ctx     context.Context //nolint:containedctx // lives for one call of Stream
	builder *llm.Builder
	calls   int
}

// Text streams s as one delta of answer text. Text after text continues the same part.
func Text(s string) Step {
	return Step{play: func(r *response) error { return r.builder.Text(s) }}
}

// Thinking streams s as one delta of reasoning.
func Thinking(s string) Step {
	return Step{play: func(r *response) error { return r.builder.Thinking(s, "") }}
}

// Call makes a tool call with the arguments object args. It panics when args is not one, which is a mistake in the test;
// use [RawCall] to make such a call on purpose.
func Call(id, name, args string) Step {
	if llm.NewCall(id, name, args).RawArguments != "" {
		panic(fmt.Sprintf("scripted.Call(%q, %q): the arguments are not an I-JSON object: %s", id, name, args))
	}
	return RawCall(id, name, args)
}

// RawCall makes a tool call with the arguments text args, whatever it is.
func RawCall(id, name, args string) Step {
	return Step{play: func(r *response) error {
		r.calls++
		return r.builder.Call(r.calls, id, name, args)
	}}
}

// Usage sets what the response reports to have used.
func Usage(u message.Usage) Step {
	return Step{play: func(r *response) error {
		r.builder.Message.Usage = u
		return nil
	}}
}

// Do calls f, for example to tell the test that the stream has come this far.
func Do(f func()) Step {
	return Step{play: func(*response) error {
		f()
		return nil
	}}
}

// Gate blocks until open is closed or sends, or the response is stopped.
func Gate(open <-chan struct{}) Step {
	return Step{play: func(r *response) error {
		select {
		case <-open:
			return nil
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}}
}

// End ends a response that came whole. Whether [message.StopEnd] or [message.StopToolUse] is given, the content decides
// between them.
func End(stop message.StopReason) Step {
	return Step{ends: func(r *response) message.Assistant { return r.builder.Finish(stop, string(stop)) }}
}

// Err ends a response with the failure f, keeping the text before it.
func Err(f llm.Failure) Step {
	return Step{ends: func(r *response) message.Assistant {
		return r.builder.Fail(f, "scripted failure: "+string(f.Kind))
	}}
}

// Cut ends a response as a connection does that closes in the middle.
func Cut() Step { return Err(llm.Failure{Kind: llm.FailureCut}) }

// Stall is silent until the response is stopped.
func Stall() Step {
	return Step{ends: func(r *response) message.Assistant {
		<-r.ctx.Done()
		return r.builder.Abort()
	}}
}
