package scripted

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Player is a provider that plays the steps it was given. It is safe for concurrent use: each call of Stream takes the
// next response.
type Player struct {
	infos []llm.ModelInfo
	now   func() time.Time

	mu       sync.Mutex
	steps    []Step
	requests []llm.Request
	served   int
}

var _ llm.Provider = (*Player)(nil)

// Play returns a provider that serves one response for each run of steps up to a step that ends it. At the end of the
// script the ending may be left out and is then [End]. A request beyond the script is answered by a failure of kind
// [llm.FailureInvalidRequest] that says so.
//
//	p := scripted.Play(
//		scripted.Text("I look."), scripted.Call("a", "search", `{"q":"x"}`), scripted.End(message.StopToolUse),
//		scripted.Text("Found."),
//	)
func Play(steps ...Step) *Player {
	return &Player{
		infos: []llm.ModelInfo{demoInfo()},
		now:   time.Now, //nolint:forbidigo // the default of the injected clock
		steps: slices.Clone(steps),
	}
}

// As makes p serve the given models instead of scripted/demo and returns p. The first one names the provider. Call it
// before the first request.
func (p *Player) As(first llm.ModelInfo, more ...llm.ModelInfo) *Player {
	p.infos = append([]llm.ModelInfo{first}, more...)
	return p
}

// Clock sets the clock of message timestamps, which is time.Now otherwise, and returns p. Call it before the first
// request.
func (p *Player) Clock(now func() time.Time) *Player {
	p.now = now
	return p
}

// Then adds steps at the end of the script.
func (p *Player) Then(steps ...Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, steps...)
}

// Requests returns the requests received so far, in order.
func (p *Player) Requests() []llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Done reports whether the whole script has been handed out.
func (p *Player) Done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.steps) == 0
}

// Name returns the provider of the first model.
func (p *Player) Name() string { return p.infos[0].Provider }

// Models returns scripted/demo, or what [Player.As] was given.
func (p *Player) Models() []llm.ModelInfo { return slices.Clone(p.infos) }

// Stream plays the next response.
func (p *Player) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	steps, served := p.next(req)
	r := &response{ctx: ctx, builder: llm.NewBuilder(ctx, emit)}
	r.builder.Message = p.head(req)
	if len(steps) == 0 {
		return r.builder.Fail(llm.Failure{Kind: llm.FailureInvalidRequest},
			fmt.Sprintf("the script has ended: it has %d response(s) and this request is one more", served))
	}
	for _, s := range steps {
		if s.ends != nil {
			return s.ends(r)
		}
		if s.play(r) != nil {
			return r.builder.Abort()
		}
	}
	return r.builder.Finish(message.StopEnd, string(message.StopEnd))
}

// next records req and takes the steps of one response off the script.
func (p *Player) next(req llm.Request) (steps []Step, served int) {
	req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, req)
	n := len(p.steps)
	if i := slices.IndexFunc(p.steps, func(s Step) bool { return s.ends != nil }); i >= 0 {
		n = i + 1
	}
	steps, p.steps = p.steps[:n:n], p.steps[n:]
	if n > 0 {
		p.served++
	}
	return steps, p.served
}

// head returns the members of the message that come from the request.
func (p *Player) head(req llm.Request) message.Assistant {
	info := p.infos[0]
	for _, candidate := range p.infos {
		if candidate.ID == req.Model.ID {
			info = candidate
		}
	}
	return message.Assistant{
		API: info.API, Provider: p.Name(), Model: info.ID, Timestamp: message.MillisOf(p.now()),
	}
}
