package agent_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

const sessionID = "s1"

// A clock is set by hand.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.ms.Store(1_700_000_000_000)
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *clock) millis() object.Millis   { return object.Millis(c.ms.Load()) }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// A world is one session on a memory store, a scripted model, and tools.
type world struct {
	t      *testing.T
	clock  *clock
	mem    *memstore.Store
	player *scripted.Player
	opts   agent.Options
	step   kernel.StepOptions
	*kernel.Session
}

func newWorld(t *testing.T, player *scripted.Player, tools ...tool.Tool) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), player: player}
	w.mem = memstore.New(&memstore.Options{Now: w.clock.now})
	if _, err := w.mem.CreateSession(t.Context(), store.CreateOptions{ID: sessionID, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	w.opts = agent.Options{Models: llm.NewCatalog(player), Tools: set, AbortGrace: 20 * time.Millisecond}
	w.Session = w.open(w.mem)
	w.use(w.opts)
	return w
}

// open returns the session as a process sees it that uses s.
func (w *world) open(s store.Store) *kernel.Session {
	w.t.Helper()
	session, err := s.OpenSession(w.t.Context(), sessionID)
	if err != nil {
		w.t.Fatal(err)
	}
	return kernel.New(session, &kernel.Options{Now: w.clock.now})
}

// process returns the session as a process of its own sees it, whose store calls can be failed and held.
func (w *world) process() (*kernel.Session, *storetest.Faulty) {
	f := storetest.NewFaulty(w.mem.Another())
	return w.open(f), f
}

func (w *world) use(opts agent.Options) {
	w.opts = opts
	turn := agent.New(opts)
	w.step = kernel.StepOptions{
		Head: "main", Turn: turn, Resolve: turn.Resolve,
		Landing: kernel.Landing{Drain: kernel.DrainAll, Lanes: []kernel.LandingLane{
			{Lane: "steer", Lands: kernel.AtBoundary}, {Lane: "queue", Lands: kernel.WhenIdle},
		}},
	}
}

func (w *world) send(lane, text string) {
	w.t.Helper()
	body := object.MessageBody{Message: message.NewUser(text, w.clock.millis())}
	if _, err := w.Submit(w.t.Context(), kernel.SubmitOptions{Head: "main", Lane: lane, Body: body}); err != nil {
		w.t.Fatal(err)
	}
}

// steps takes steps as long as they continue, and returns the first outcome that does not.
func (w *world) steps() kernel.StepOutcome { return w.stepsOn(w.Session) }

func (w *world) stepsOn(s *kernel.Session) kernel.StepOutcome {
	w.t.Helper()
	for range 100 {
		outcome := w.one(s)
		if _, more := outcome.(kernel.StepContinue); !more {
			return outcome
		}
	}
	w.t.Fatal("100 steps did not come to an end")
	return nil
}

func (w *world) one(s *kernel.Session) kernel.StepOutcome {
	w.t.Helper()
	outcome, err := s.Step(w.t.Context(), w.step)
	if err != nil {
		w.t.Fatalf("step: %v", err)
	}
	return outcome
}

// until takes steps until the run is in the named phase.
func (w *world) until(phase string) {
	w.t.Helper()
	for range 20 {
		if run, ok, err := w.CurrentRun(w.t.Context(), "main"); err != nil {
			w.t.Fatal(err)
		} else if ok && object.PhaseName(run.Run.Phase) == phase {
			return
		}
		w.one(w.Session)
	}
	w.t.Fatalf("the run never came to %s", phase)
}

func (w *world) run() object.Run {
	w.t.Helper()
	r, _, err := w.CurrentRun(w.t.Context(), "main")
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Run
}

func (w *world) wantPhase(want string) object.Run {
	w.t.Helper()
	r := w.run()
	if got := object.PhaseName(r.Phase); got != want {
		w.t.Fatalf("phase is %s (%+v), want %s", got, r.Phase, want)
	}
	return r
}

// event waits until a ref has moved for a reason.
func (w *world) event(reason string) {
	w.t.Helper()
	for e, err := range w.WatchEvents(w.t.Context(), 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		if r, ok := e.Body.(store.RefEvent); ok && r.Reason == reason {
			return
		}
	}
}

func (w *world) abort() {
	w.t.Helper()
	outcome, err := w.Abort(w.t.Context(), "main", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, ok := outcome.(kernel.AbortRequested); !ok {
		w.t.Fatalf("abort: %#v", outcome)
	}
}

// messages returns every message on the branch.
func (w *world) messages() []message.Message {
	w.t.Helper()
	oids, err := w.ReadRefs(w.t.Context(), ref.Head("main"))
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := view.LoadContext(w.t.Context(), w.Session, oids[0], view.Context{})
	if err != nil {
		w.t.Fatal(err)
	}
	var out []message.Message
	for _, c := range c.Commits {
		if b, ok := c.Commit.Body.(object.MessageBody); ok {
			out = append(out, b.Message)
		}
	}
	return out
}

// ruleG fails unless every call of what a model would be sent now has its one result, in call order.
func (w *world) ruleG() {
	w.t.Helper()
	var open []message.ToolCall
	for _, m := range w.messages() {
		switch m := m.(type) {
		case message.Assistant:
			if len(open) > 0 {
				w.t.Fatalf("an assistant message follows %d open calls", len(open))
			}
			open = m.Calls()
		case message.User:
			if len(open) > 0 {
				w.t.Fatalf("a user message follows %d open calls", len(open))
			}
		case message.ToolResult:
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				w.t.Fatalf("result %q does not answer the next open call", m.ToolCallID)
			}
			open = open[1:]
		}
	}
	if len(open) > 0 {
		w.t.Fatalf("%d calls are open at the end", len(open))
	}
}

func (w *world) results() []message.ToolResult {
	w.t.Helper()
	var out []message.ToolResult
	for _, m := range w.messages() {
		if r, ok := m.(message.ToolResult); ok {
			out = append(out, r)
		}
	}
	return out
}

// lastAnswer returns the newest assistant message.
func (w *world) lastAnswer() message.Assistant {
	w.t.Helper()
	var last message.Assistant
	for _, m := range w.messages() {
		if a, ok := m.(message.Assistant); ok {
			last = a
		}
	}
	return last
}

func (w *world) effects() []kernel.EffectState {
	w.t.Helper()
	states, err := w.Effects(w.t.Context(), w.run().ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return states
}

func (w *world) effect(callID string) kernel.EffectState {
	w.t.Helper()
	for _, e := range w.effects() {
		if e.Intent.CallID == callID {
			return e
		}
	}
	w.t.Fatalf("call %q has no effect", callID)
	return kernel.EffectState{}
}

func (w *world) reply(callID, value string) kernel.SignalOutcome {
	w.t.Helper()
	return w.replyTo(callID, w.effect(callID).OID, value)
}

func (w *world) replyTo(callID string, waitID object.OID, value string) kernel.SignalOutcome {
	w.t.Helper()
	outcome, err := w.Signal(w.t.Context(), kernel.SignalOptions{
		RunID: w.run().ID, CallID: callID, WaitID: waitID, Signal: jsontext.Value(value),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return outcome
}

func (w *world) events() []store.EventBody {
	w.t.Helper()
	var out []store.EventBody
	for after := store.Seq(0); ; {
		page, err := w.ReadEvents(w.t.Context(), after, 100)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(page) == 0 {
			return out
		}
		for _, e := range page {
			out = append(out, e.Body)
			after = e.Seq
		}
	}
}

// A probe is a tool that counts its executions.
type probe struct {
	mu    sync.Mutex
	calls []tool.Call
	wakes []tool.Wake
}

func (p *probe) runs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

func (p *probe) woken() []tool.Wake {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]tool.Wake(nil), p.wakes...)
}

func (p *probe) seen() []tool.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]tool.Call(nil), p.calls...)
}

type execute = func(ctx context.Context, call tool.Call) (tool.Outcome, error)

// tool returns the probe as a tool that does what f says.
func (p *probe) tool(name string, replay tool.Replay, f execute) tool.Tool {
	return tool.Tool{
		Name: name, Description: "a probe", Parameters: jsontext.Value(`{"type":"object"}`), Replay: replay,
		Execute: func(ctx context.Context, call tool.Call) (tool.Outcome, error) {
			p.mu.Lock()
			p.calls = append(p.calls, call)
			p.mu.Unlock()
			return f(ctx, call)
		},
	}
}

// waking adds a wake handler to t.
func (p *probe) waking(t tool.Tool, f func(ctx context.Context, w tool.Wake) (tool.Outcome, error)) tool.Tool {
	t.Wake = func(ctx context.Context, w tool.Wake) (tool.Outcome, error) {
		p.mu.Lock()
		p.wakes = append(p.wakes, w)
		p.mu.Unlock()
		return f(ctx, w)
	}
	return t
}

func says(text string) execute {
	return func(context.Context, tool.Call) (tool.Outcome, error) { return tool.Text(text), nil }
}

func waits(w tool.Wait) execute {
	return func(context.Context, tool.Call) (tool.Outcome, error) { return w, nil }
}

func textOf(r message.ToolResult) string { return message.PlainText(r.Content) }

func (w *world) tip() object.OID {
	w.t.Helper()
	oids, err := w.ReadRefs(w.t.Context(), ref.Head("main"))
	if err != nil {
		w.t.Fatal(err)
	}
	return oids[0]
}

// move puts the head where a participant wants it.
func (w *world) move(to object.OID) {
	w.t.Helper()
	outcome, err := w.UpdateRefs(w.t.Context(), []store.Update{{Name: ref.Head("main"), From: w.tip(), To: to}}, store.UpdateOptions{Reason: "move"})
	if _, ok := outcome.(store.Updated); !ok || err != nil {
		w.t.Fatalf("move: %#v, %v", outcome, err)
	}
}

// effectMoved reports whether e is the write of an effect ref.
func effectMoved(e store.EventBody) bool {
	r, ok := e.(store.RefEvent)
	return ok && strings.HasPrefix(string(r.Name), "refs/effects/")
}
