package agent

import (
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// The defaults of [Options].
const (
	DefaultAbortGrace  = 5 * time.Second
	DefaultHookTimeout = 5 * time.Second
	DefaultSettleAfter = 100 * time.Millisecond
	DefaultMaxCalls    = 256
)

// Options say what a turn works with. The zero value of every member is usable, but a turn without models answers nothing.
type Options struct {
	// Models finds the model of a run.
	Models *llm.Catalog
	// DefaultModel answers when a branch names no model, or one that Models does not know. Zero: the first model of Models.
	DefaultModel llm.Model
	// DefaultThinking is the thinking level of a branch that names none.
	DefaultThinking string
	// Tools are offered to the model; nil offers none.
	Tools *tool.Set
	// System returns the system prompt; nil means none.
	System func(object.Config) string
	// Retry says how often a response that failed is asked for again.
	Retry RetryPolicy
	// AbortGrace is how long a provider or tool may take to stop once its context has ended. Then it is left behind and the turn goes
	// on without it. Default: [DefaultAbortGrace].
	AbortGrace time.Duration
	// Hooks judge and amend tool calls.
	Hooks Hooks
	// HookTimeout bounds each call of a hook. Default: [DefaultHookTimeout].
	HookTimeout time.Duration
	// SettleAfter is how long a result waits for the other calls of its message before it is recorded by itself. When all have ended by then,
	// they are recorded in one write; a crash before it loses the result, as one while the tool runs does. Default: [DefaultSettleAfter].
	SettleAfter time.Duration
	// MaxCalls is how many tool calls of one message are run; the others are answered with an error, so that a batch always fits
	// one transaction of any store. Default: [DefaultMaxCalls].
	MaxCalls int
	// MaxImageBytes bounds the base64 bytes of all images in one request; the oldest beyond it are sent as a remark. Default:
	// [DefaultMaxImageBytes].
	MaxImageBytes int
}

// A Turn asks models and runs tools. It is immutable and safe for concurrent use.
type Turn struct {
	opts Options
}

var _ kernel.Turn = (*Turn)(nil)

// New returns the turn that opts describe.
func New(opts Options) *Turn {
	if opts.Models == nil {
		opts.Models = llm.NewCatalog()
	}
	if opts.Tools == nil {
		opts.Tools = new(tool.Set)
	}
	if opts.AbortGrace <= 0 {
		opts.AbortGrace = DefaultAbortGrace
	}
	if opts.HookTimeout <= 0 {
		opts.HookTimeout = DefaultHookTimeout
	}
	if opts.SettleAfter <= 0 {
		opts.SettleAfter = DefaultSettleAfter
	}
	if opts.MaxCalls <= 0 {
		opts.MaxCalls = DefaultMaxCalls
	}
	if opts.MaxImageBytes <= 0 {
		opts.MaxImageBytes = DefaultMaxImageBytes
	}
	opts.Retry = opts.Retry.withDefaults()
	return &Turn{opts}
}

// Resolve completes a configuration for [kernel.StepOptions]: a model that is missing, or that no provider lists, becomes the default
// one, named with its provider; a missing thinking level becomes the default one. The same input gives the same output. Without
// any usable model the configuration keeps what it has, and the response says why it fails.
func (t *Turn) Resolve(c object.Config) object.Config {
	if c.ThinkingLevel == "" {
		c.ThinkingLevel = t.opts.DefaultThinking
	}
	if c.Model != nil {
		if m, ok := t.find(llm.Model{Provider: c.Model.Provider, ID: c.Model.ID}); ok {
			c.Model = &m
			return c
		}
	}
	if m, ok := t.fallback(); ok {
		c.Model = &m
	}
	return c
}

func (t *Turn) fallback() (object.Model, bool) {
	if t.opts.DefaultModel.ID != "" {
		return t.find(t.opts.DefaultModel)
	}
	for _, info := range t.opts.Models.List() {
		return t.find(info.Model)
	}
	return object.Model{}, false
}

func (t *Turn) find(m llm.Model) (object.Model, bool) {
	provider, info, ok := t.opts.Models.Lookup(m)
	if !ok {
		return object.Model{}, false
	}
	return object.Model{Provider: provider.Name(), ID: info.ID}, true
}
