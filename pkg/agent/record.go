package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// maxDelta is the longest delta of one event, in bytes.
const maxDelta = 16 << 10

// errOver refuses what a provider emits after it was left behind.
var errOver = errors.New("the response is over")

// A recorder streams what a provider emits and keeps the text, for the case that the provider never returns its message.
type recorder struct {
	ctx context.Context //nolint:containedctx // a recorder lives for one call of Respond
	in  kernel.TurnInput

	mu    sync.Mutex
	over  bool
	parts map[int]*recorded
}

type recorded struct {
	part store.DeltaPart
	text strings.Builder
}

func (r *recorder) emit(d llm.Delta) error {
	switch d := d.(type) {
	case llm.TextDelta:
		return r.stream(d.Index, store.TextPart, d.Text)
	case llm.ThinkingDelta:
		return r.stream(d.Index, store.ThinkingPart, d.Text)
	case llm.ToolCallDelta:
		// A call is shown once it is whole: only the committed message says what will run.
	}
	return r.check()
}

func (r *recorder) stream(index int, part store.DeltaPart, text string) error {
	text = message.CleanText(text)
	if err := r.keep(index, part, text); err != nil {
		return err
	}
	for len(text) > 0 {
		piece := cut(text, maxDelta)
		text = text[len(piece):]
		err := r.in.Emit(r.ctx, store.DeltaEvent{
			RunID: r.in.Run.ID, Attempt: r.in.Attempt, Index: index, Part: part, Delta: piece,
		})
		if err != nil {
			return err
		}
	}
	return r.check()
}

func (r *recorder) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	return context.Cause(r.ctx)
}

func (r *recorder) keep(index int, part store.DeltaPart, text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	if r.parts == nil {
		r.parts = make(map[int]*recorded)
	}
	if r.parts[index] == nil {
		r.parts[index] = &recorded{part: part}
	}
	r.parts[index].text.WriteString(text)
	return nil
}

// leave ends the recording and returns head with what was streamed so far.
func (r *recorder) leave(head message.Assistant) message.Assistant {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	var order []int
	for i := range r.parts {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		p := r.parts[i]
		switch p.part {
		case store.TextPart:
			head.Content = append(head.Content, message.Text{Text: p.text.String()})
		case store.ThinkingPart:
			head.Content = append(head.Content, message.Thinking{Thinking: p.text.String()})
		}
	}
	return head
}

// cut returns the longest start of s of at most limit bytes that ends on a code point.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
