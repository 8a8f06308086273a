package scripted

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// The names under which the demonstration is found in a catalog, and the protocol its messages carry.
const (
	ProviderName = "scripted"
	ModelID      = "demo"
	API          = "scripted"
)

// Options configure the demonstration. The zero value streams without delay.
type Options struct {
	Pace time.Duration    // delay before each streamed word
	Now  func() time.Time // the clock of message timestamps, time.Now by default
}

// A Demo is the demonstration model. It is safe for concurrent use.
type Demo struct {
	pace time.Duration
	now  func() time.Time
}

var _ llm.Provider = (*Demo)(nil)

// New returns the demonstration model.
func New(opts Options) *Demo {
	d := &Demo{pace: opts.Pace, now: opts.Now}
	if d.now == nil {
		d.now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	return d
}

// Name returns [ProviderName].
func (*Demo) Name() string { return ProviderName }

// Models returns the one model, [ModelID].
func (*Demo) Models() []llm.ModelInfo { return []llm.ModelInfo{demoInfo()} }

func demoInfo() llm.ModelInfo {
	return llm.ModelInfo{
		Model:         llm.Model{Provider: ProviderName, ID: ModelID},
		API:           API,
		Name:          "Scripted demonstration (not an AI)",
		ContextWindow: 128_000,
		MaxOutput:     8_000,
	}
}

// Stream answers the last user message, or sums up the tool results after it.
func (d *Demo) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	b := llm.NewBuilder(ctx, emit)
	b.Message = message.Assistant{
		API: API, Provider: ProviderName, Model: req.Model.ID, Timestamp: message.MillisOf(d.now()),
	}
	if req.Model.ID != ModelID {
		return b.Fail(llm.Failure{Kind: llm.FailureInvalidRequest},
			"the scripted provider has no model "+req.Model.ID+"; its only model is "+ModelID)
	}
	p := planFor(req)
	b.Message.Usage = p.usage(req)
	if err := d.play(ctx, b, p); err != nil {
		return b.Abort()
	}
	if p.failure.Kind != "" {
		return b.Fail(p.failure, p.failureText)
	}
	return b.Finish(message.StopEnd, "end")
}

func (d *Demo) play(ctx context.Context, b *llm.Builder, p plan) error {
	for _, word := range words(p.thinking) {
		if err := d.wait(ctx); err != nil {
			return err
		}
		if err := b.Thinking(word, ""); err != nil {
			return err
		}
	}
	for _, word := range words(p.text) {
		if err := d.wait(ctx); err != nil {
			return err
		}
		if err := b.Text(word); err != nil {
			return err
		}
	}
	for i, c := range p.calls {
		if err := d.wait(ctx); err != nil {
			return err
		}
		if err := b.Call(i, c.id, c.name, c.arguments); err != nil {
			return err
		}
	}
	return nil
}

// wait lets the pace pass, or returns why ctx ended.
func (d *Demo) wait(ctx context.Context) error {
	if d.pace <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d.pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// usage counts a token for every four characters, so that counters have something to show.
func (p plan) usage(req llm.Request) message.Usage {
	input := utf8.RuneCountInString(req.System)
	for _, m := range req.Messages {
		input += characters(m)
	}
	output := utf8.RuneCountInString(p.text)
	reasoning := utf8.RuneCountInString(p.thinking)
	for _, c := range p.calls {
		output += len(c.name) + len(c.arguments)
	}
	u := message.Usage{Input: tokens(input), Output: tokens(output + reasoning), Reasoning: tokens(reasoning)}
	u.TotalTokens = u.Input + u.Output
	return u
}

func tokens(characters int) int { return (characters + 3) / 4 }

func characters(m message.Message) int {
	switch m := m.(type) {
	case message.User:
		return utf8.RuneCountInString(message.PlainText(m.Content))
	case message.ToolResult:
		return utf8.RuneCountInString(message.PlainText(m.Content))
	case message.Assistant:
		n := 0
		for _, p := range m.Content {
			switch p := p.(type) {
			case message.Text:
				n += utf8.RuneCountInString(p.Text)
			case message.Thinking:
				n += utf8.RuneCountInString(p.Thinking)
			case message.ToolCall:
				n += len(p.Name) + len(p.Arguments)
			}
		}
		return n
	}
	return 0
}
