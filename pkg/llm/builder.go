package llm

import (
	"context"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Builder turns the fragments of one response into deltas and, at the end, into the whole message. It holds the rules
// every provider shares, so that they are the same for all: characters cut by a fragment border are put together again,
// texts are clean UTF-8, and what ends badly has no tool calls. It is for one goroutine.
//
// Its adding methods return an error when the response must stop: ctx has ended or emit failed. The response then ends
// with [Builder.Abort].
type Builder struct {
	// Message is filled in by the provider, except for the members that the finishing methods set: content, stop reason,
	// error message and failure.
	Message message.Assistant

	ctx   context.Context //nolint:containedctx // a Builder lives for one call of Stream
	emit  func(Delta) error
	parts []*draft
	calls map[int]*draft
	err   error
}

// NewBuilder returns a builder that sends deltas to emit, which may be nil, until ctx ends.
func NewBuilder(ctx context.Context, emit func(Delta) error) *Builder {
	if emit == nil {
		emit = func(Delta) error { return nil }
	}
	return &Builder{ctx: ctx, emit: emit, calls: map[int]*draft{}}
}

// Text adds s to the text part that is being written, or starts one.
func (b *Builder) Text(s string) error {
	if s == "" {
		return b.check()
	}
	return b.add(b.open(textPart), s)
}

// Thinking adds s to the thinking part that is being written, or starts one. A signature that is not empty becomes the
// part's.
func (b *Builder) Thinking(s, signature string) error {
	if s == "" {
		return b.check()
	}
	d := b.open(thinkingPart)
	if signature != "" {
		d.signature = message.CleanText(signature)
	}
	return b.add(d, s)
}

// Call adds a fragment of a tool call. The provider gives each call of the response its own key. The first id and name
// that are not empty stay; arguments is added to the arguments text.
func (b *Builder) Call(key int, id, name, arguments string) error {
	d := b.calls[key]
	if d == nil {
		d = b.start(callPart)
		b.calls[key] = d
	}
	if d.id == "" {
		d.id = message.CleanText(id)
	}
	if d.name == "" {
		d.name = message.CleanText(name)
	}
	return b.add(d, arguments)
}

// Finish ends a response that came whole, for the provider's own reason raw. A stop reason that contradicts the content
// is put right: calls make [message.StopEnd] a [message.StopToolUse] and the reverse. A call without a name makes the
// response a failure, for nothing could answer it.
func (b *Builder) Finish(stop message.StopReason, raw string) message.Assistant {
	b.Message.RawStopReason = message.CleanText(raw)
	if b.flush() != nil {
		return b.Abort()
	}
	if slices.ContainsFunc(b.parts, func(d *draft) bool { return d.kind == callPart && d.name == "" }) {
		return b.Fail(Failure{Kind: FailureMalformed}, "the provider sent a tool call without a name")
	}
	switch stop {
	case message.StopEnd, message.StopToolUse:
		stop = message.StopEnd
		if len(b.calls) > 0 {
			stop = message.StopToolUse
		}
	case message.StopPending, message.StopLength, message.StopError, message.StopAborted, message.StopDeferred:
	}
	a := b.message()
	if stop == message.StopError || stop == message.StopAborted {
		a.Content = withoutCalls(a.Content)
	}
	a.StopReason = stop
	return a
}

// Fail ends a response that failed, with an [ErrorMessage] of what was produced.
func (b *Builder) Fail(f Failure, text string) message.Assistant {
	if b.flush() != nil {
		return b.Abort()
	}
	return ErrorMessage(b.message(), f, text)
}

// Abort ends a response that was stopped from our side, with an [AbortedMessage] of what was produced.
func (b *Builder) Abort() message.Assistant { return AbortedMessage(b.message()) }

func (b *Builder) message() message.Assistant {
	a := b.Message
	a.Content = make([]message.Part, 0, len(b.parts))
	for _, d := range b.parts {
		// A text whose only character stayed incomplete is empty, and an empty block may not reach a model.
		if d.kind == callPart || d.text.Len() > 0 {
			a.Content = append(a.Content, d.part())
		}
	}
	return a
}

// open returns the part being written if it is of that kind, or starts one.
func (b *Builder) open(kind partKind) *draft {
	if n := len(b.parts); n > 0 && b.parts[n-1].kind == kind {
		return b.parts[n-1]
	}
	return b.start(kind)
}

func (b *Builder) start(kind partKind) *draft {
	d := &draft{kind: kind, index: len(b.parts)}
	b.parts = append(b.parts, d)
	return d
}

func (b *Builder) add(d *draft, fragment string) error {
	if d.kind == callPart {
		d.raw.WriteString(fragment)
	}
	return b.send(d, d.buffer.next(fragment))
}

// flush sends what characters were still incomplete.
func (b *Builder) flush() error {
	for _, d := range b.parts {
		if rest := d.buffer.rest(); rest != "" {
			_ = b.send(d, rest)
		}
	}
	return b.check()
}

func (b *Builder) send(d *draft, ready string) error {
	d.text.WriteString(ready)
	if ready == "" && d.kind != callPart {
		return b.check()
	}
	if err := b.check(); err != nil {
		return err
	}
	b.err = b.emit(d.delta(ready))
	return b.err
}

func (b *Builder) check() error {
	if b.err == nil {
		b.err = context.Cause(b.ctx)
	}
	return b.err
}
