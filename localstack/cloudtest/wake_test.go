package cloudtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// A placement plays the functions of a deployment in virtual time: every invocation is a new process over the emulated table, and queues, schedules,
// the stream and sweeps deliver when their time has come, or not at all.
type placement struct {
	*testing.T

	cloud   emulator.Endpoint
	table   string
	clock   *storetest.Clock
	failed  atomic.Bool // the provider, once
	tools   *tool.Set
	paid    atomic.Int32 // how often the tool ran that must not run twice
	off     wake.Paths
	hour    bool // the question has a deadline
	unruly  bool // messages are lost, repeated and out of order
	mortal  bool // invocations die
	random  *rand.Rand
	pending []delivery
	swept   time.Time
	took    map[string]int // invocations by what was delivered
}

const theSession = api.SessionID(kerneltest.Session)

// A delivery is on its way.
type delivery struct {
	to   string // steps, alarms or sweep
	at   time.Time
	body []byte
	name string // of a schedule, which another one of that name replaces
}

func newPlacement(t *testing.T, off ...wake.Path) *placement {
	t.Helper()
	p := &placement{
		T: t, cloud: emulator.Start(t), table: emulator.Name(t), clock: storetest.NewClock(), off: make(wake.Paths),
		random: rand.New(rand.NewPCG(1, 2)), took: map[string]int{},
	}
	for _, path := range off {
		p.off[path] = true
	}
	type input struct{}
	pay := kerneltest.Must(tool.Typed("pay", "Pays.", tool.ReplayNever, func(context.Context, tool.Call, input) (tool.Outcome, error) {
		p.paid.Add(1)
		return tool.Text("paid"), nil
	}))(t)
	p.tools = kerneltest.Must(tool.NewSet(pay, builtin.Ask()))(t)
	if err := dynstore.CreateTable(t.Context(), p.cloud.DynamoDB(), p.table); err != nil {
		t.Fatal(err)
	}
	p.swept = p.clock.Now()
	return p
}

// A wired process is one invocation's: a host, and what it sends with.
type wired struct {
	*sdk.Stepwell

	store *dynstore.Store
}

func (w wired) Mark(ctx context.Context, session api.SessionID, head string) (wake.Mark, error) {
	m, err := w.store.Mark(ctx, store.SessionID(session), head)
	return wake.Mark(m), err
}

func (w wired) Settle(ctx context.Context, session api.SessionID, seq int64, at object.Millis) (bool, error) {
	return w.store.Settle(ctx, store.SessionID(session), store.Seq(seq), at)
}

func (w wired) Host(context.Context, string) (wake.Host, error) { return w, nil }

type sender struct {
	p  *placement
	to string
}

func (s sender) Send(_ context.Context, body []byte, delay time.Duration) error {
	s.p.deliver(delivery{to: s.to, at: s.p.clock.Now().Add(delay), body: body})
	return nil
}

func (s sender) At(_ context.Context, name string, at time.Time, body []byte) error {
	late := time.Duration(s.p.random.IntN(60)) * time.Second // a schedule keeps the minute
	s.p.deliver(delivery{to: s.to, at: at.Add(late), body: body, name: name})
	return nil
}

func (p *placement) deliver(d delivery) {
	if p.unruly {
		switch p.random.IntN(4) {
		case 0:
			return
		case 1:
			again := d
			again.at = again.at.Add(time.Duration(p.random.IntN(300)) * time.Second)
			p.pending = append(p.pending, again)
		}
	}
	if d.name != "" {
		for i, o := range p.pending {
			if o.name == d.name {
				p.pending[i] = d
				return
			}
		}
	}
	p.pending = append(p.pending, d)
}

// invoke runs do in a new process. What it writes is told by the stream a second later.
func (p *placement) invoke(what string, do func(ctx context.Context, w wired, waker *wake.Waker) error) {
	p.Helper()
	p.took[what]++
	through := awsfault.New(p.cloud.Transport(), awsfault.Options{})
	if p.mortal && p.random.IntN(3) == 0 {
		through.Play(awsfault.Kill(1+p.random.IntN(15), p.random.IntN(2) == 0))
	}
	st := kerneltest.Must(dynstore.New(dynstore.Options{
		Client: p.cloud.DynamoDB(emulator.WithTransport(through)), Table: p.table, Now: p.clock.Now, Poll: time.Hour,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}))(p.T)
	defer func() { _ = st.Close() }()
	w := &wake.Waker{
		Steps: sender{p, "steps"}, Alarms: sender{p, "alarms"}, Schedules: sender{p, "alarms"}, Off: p.off, Now: p.clock.Now, Sleep: p.sleep, Logger: slog.New(slog.DiscardHandler),
	}
	models := llm.NewCatalog(p)
	host := kerneltest.Must(sdk.New(sdk.Options{
		Store: st, Models: models, DefaultModel: models.List()[0].Model, Tools: p.tools, Now: p.clock.Now, Retry: agent.RetryPolicy{Max: 50},
		BeforeCall: func(ctx context.Context, session api.SessionID, head string, until object.Millis) {
			w.Watch(ctx, wake.Message{Session: session, Head: head}, until)
		},
	}))(p.T)
	defer func() { _ = host.Close() }()
	err := do(p.Context(), wired{host, st}, w)
	if err != nil && !p.mortal {
		p.Fatalf("%s: %v", what, err)
	}
	wrote := through.Counts().Requests
	if !p.off[wake.Stream] && wrote["TransactWriteItems"]+wrote["UpdateItem"] > 0 {
		p.deliver(delivery{to: "stream", at: p.clock.Now().Add(time.Second), body: []byte(`{"session":"` + string(theSession) + `"}`)})
	}
}

// next delivers what is due next and reports whether that was before the end.
func (p *placement) next(end time.Time) bool {
	p.Helper()
	first, sweep := -1, p.swept.Add(time.Minute)
	for i, d := range p.pending {
		if first < 0 || d.at.Before(p.pending[first].at) {
			first = i
		}
	}
	if first < 0 || !p.off[wake.Sweep] && sweep.Before(p.pending[first].at) {
		p.advance(sweep)
		p.swept = sweep
		if !p.off[wake.Sweep] {
			p.invoke("sweep", func(ctx context.Context, w wired, waker *wake.Waker) error { return p.alarm(w, waker).Sweep(ctx) })
		}
		return !p.clock.Now().After(end)
	}
	d := p.pending[first]
	p.pending = append(p.pending[:first], p.pending[first+1:]...)
	p.advance(d.at)
	m := kerneltest.Must(wake.ParseMessage(d.body))(p.T)
	p.invoke(d.to, func(ctx context.Context, w wired, waker *wake.Waker) error {
		if d.to == "steps" {
			err := (&wake.Stepper{Hosts: w, Waker: waker, Steps: 1}).Handle(ctx, m)
			if err != nil && p.mortal {
				p.pending = append(p.pending, delivery{to: d.to, at: p.clock.Now().Add(6 * time.Minute), body: d.body}) // the queue's visibility
			}
			return err
		}
		return p.alarm(w, waker).Look(ctx, m)
	})
	return !p.clock.Now().After(end)
}

func (p *placement) alarm(w wired, waker *wake.Waker) *wake.Alarm {
	return &wake.Alarm{Hosts: w, Waker: waker, Due: func(ctx context.Context, now object.Millis) ([]wake.Message, error) {
		due, err := dynstore.Due(ctx, p.cloud.DynamoDB(), p.table, now, 100)
		var out []wake.Message
		for _, d := range due {
			out = append(out, wake.Message{Tenant: d.Tenant, Session: api.SessionID(d.Session)})
		}
		return out, err
	}}
}

func (p *placement) sleep(_ context.Context, d time.Duration) error {
	p.clock.Advance(d)
	return nil
}

func (p *placement) advance(to time.Time) {
	if d := to.Sub(p.clock.Now()); d > 0 {
		p.clock.Advance(d)
	}
}

// Name implements [llm.Provider].
func (p *placement) Name() string { return scripted.Play().Name() }

// Models implements [llm.Provider].
func (p *placement) Models() []llm.ModelInfo { return scripted.Play().Models() }

// Stream implements [llm.Provider]: what it says depends on what it is sent, however often it is asked. The first time it is overloaded.
func (p *placement) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	steps := []scripted.Step{scripted.Text("Good."), scripted.End(message.StopEnd)}
	question := `{"title":"Which?","choices":[{"id":"yes","label":"Yes"}]}`
	if p.hour {
		question = `{"title":"Which?","choices":[{"id":"yes","label":"Yes"}],"timeoutSeconds":3600}`
	}
	if _, ok := req.Messages[len(req.Messages)-1].(message.User); ok {
		steps[0] = scripted.Text("And good.")
		if len(req.Messages) == 1 {
			steps = []scripted.Step{
				scripted.Call("toolu_pay", "pay", "{}"), scripted.Call("toolu_ask", "ask", question), scripted.End(message.StopToolUse),
			}
		}
	}
	if !p.failed.Swap(true) {
		steps = []scripted.Step{scripted.Err(llm.Failure{Kind: llm.FailureOverloaded})}
	}
	return scripted.Play(steps...).Clock(p.clock.Now).Stream(ctx, req, emit)
}

// participant does something from outside, by a process that outlives it.
func (p *placement) participant(what string, do func(ctx context.Context, w wired, waker *wake.Waker) error) {
	p.Helper()
	mortal := p.mortal
	p.mortal = false
	p.invoke(what, do)
	p.mortal = mortal
}

func (p *placement) say(text, key string) {
	p.Helper()
	p.participant("submit", func(ctx context.Context, w wired, waker *wake.Waker) error {
		_, err := w.Send(ctx, api.SendOptions{SessionID: theSession, Content: api.Text(text), Key: key})
		waker.Step(ctx, wake.Message{Session: theSession})
		return err
	})
}

func (p *placement) snapshot() api.Snapshot {
	p.Helper()
	st := kerneltest.Must(dynstore.New(dynstore.Options{Client: p.cloud.DynamoDB(), Table: p.table, Now: p.clock.Now}))(p.T)
	defer func() { _ = st.Close() }()
	models := llm.NewCatalog(p)
	host := kerneltest.Must(sdk.New(sdk.Options{Store: st, Models: models, DefaultModel: models.List()[0].Model, Now: p.clock.Now}))(p.T)
	defer func() { _ = host.Close() }()
	return kerneltest.Must(host.Snapshot(p.Context(), api.HeadOptions{SessionID: theSession}))(p.T)
}

// until plays until the snapshot is as wanted, and returns how long that took in virtual time.
func (p *placement) until(what string, ok func(api.Snapshot) bool) time.Duration {
	p.Helper()
	start := p.clock.Now()
	end := start.Add(6 * time.Hour)
	for !ok(p.snapshot()) {
		if !p.next(end) {
			p.Fatalf("%s: not after 6 hours; the run is %+v, %v", what, p.snapshot().Run, p.took)
		}
	}
	return p.clock.Now().Sub(start)
}

// play is a conversation with everything that waits: a provider that fails once, a tool that must not run twice, a question that is answered an hour
// later from elsewhere, when nothing of what asked it is left but the store, and a message that came in between.
func (p *placement) play() (answered, finished time.Duration) {
	p.Helper()
	p.participant("create", func(ctx context.Context, w wired, _ *wake.Waker) error {
		_, err := w.CreateSession(ctx, api.CreateSessionOptions{SessionID: theSession})
		return err
	})
	p.say("pay, and ask me", "one")
	answered = p.until("the question", func(s api.Snapshot) bool { return len(s.Parked) == 1 })
	p.say("one more thing", "two")
	p.advance(p.clock.Now().Add(time.Hour))
	parked := p.snapshot().Parked[0]
	p.participant("reply", func(ctx context.Context, w wired, waker *wake.Waker) error {
		out, err := w.Reply(ctx, api.ReplyOptions{SessionID: theSession, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["yes"]}`)})
		if _, ok := out.(api.Signalled); err == nil && !ok {
			err = fmt.Errorf("the reply is %#v", out)
		}
		waker.Step(ctx, wake.Message{Session: theSession})
		return err
	})
	finished = p.until("the end", func(s api.Snapshot) bool {
		return len(s.Pending) == 0 && s.Run != nil && object.Terminal(s.Run.Phase) && strings.Contains(said(s), "And good.")
	})
	if n := p.paid.Load(); n > 1 {
		p.Errorf("the tool that must not run twice ran %d times", n)
	}
	return answered, finished
}

// said returns the words of a transcript.
func said(s api.Snapshot) string {
	var b strings.Builder
	for _, item := range s.Transcript {
		turn, ok := item.(api.Turn)
		if !ok {
			continue
		}
		for _, part := range turn.Parts {
			if a, ok := part.(api.AssistantPart); ok {
				b.WriteString(a.Text + "\n")
			}
		}
	}
	return b.String()
}

// Each path disabled alone costs time and nothing else, and so do all but one that find everything by themselves.
func TestWake_PathsMakeUpForEachOther(t *testing.T) {
	all := []wake.Path{wake.Queue, wake.Stream, wake.Schedule, wake.Watchdog, wake.Sweep}
	without := map[string][]wake.Path{"all paths": nil}
	for _, path := range all {
		without["without the "+string(path)] = []wake.Path{path}
	}
	for _, alone := range []wake.Path{wake.Stream, wake.Sweep} {
		rest := slices.DeleteFunc(slices.Clone(all), func(p wake.Path) bool { return p == alone })
		if alone == wake.Stream {
			// A deadline is in no record of the stream: nothing happens then.
			rest = slices.DeleteFunc(rest, func(p wake.Path) bool { return p == wake.Schedule })
		}
		without["with the "+string(alone)+" alone"] = rest
	}
	for _, name := range slices.Sorted(maps.Keys(without)) {
		t.Run(name, func(t *testing.T) {
			p := newPlacement(t, without[name]...)
			answered, finished := p.play()
			t.Logf("%s: asks after %v, ends %v after the reply; %v", name, answered, finished, p.took)
			if p.paid.Load() != 1 {
				t.Errorf("the tool ran %d times, want once", p.paid.Load())
			}
		})
	}
}

// Messages that are lost, repeated, late and out of order change nothing but the time, and neither do invocations that die at any request.
func TestWake_Unruly(t *testing.T) {
	runs := 10
	if testing.Short() {
		runs = 2
	}
	for seed := range runs {
		for _, mortal := range []bool{false, true} {
			p := newPlacement(t)
			p.unruly, p.mortal, p.random = true, mortal, rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // small
			answered, finished := p.play()
			t.Logf("seed %d, mortal %v: asks after %v, ends %v after the reply; the tool ran %d times; %v", seed, mortal, answered, finished, p.paid.Load(), p.took)
			if n := p.paid.Load(); n > 1 || n == 0 && !mortal {
				t.Errorf("the tool ran %d times", n)
			}
		}
	}
}

// A question with a deadline of an hour is answered in its last minute by another device, or expires by itself when nothing runs; in between everything
// stops. Of the answer and the deadline one wins, and the transcript says which.
func TestWake_ParkedHour(t *testing.T) {
	for name, answerAt := range map[string]time.Duration{
		"answered in time": 59 * time.Minute, "answered at the deadline": time.Hour, "answered too late": time.Hour + time.Second, "never answered": 0,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlacement(t)
			p.hour = true
			p.participant("create", func(ctx context.Context, w wired, _ *wake.Waker) error {
				_, err := w.CreateSession(ctx, api.CreateSessionOptions{SessionID: theSession})
				return err
			})
			p.say("pay, and ask me", "one")
			p.until("the question", func(s api.Snapshot) bool { return len(s.Parked) == 1 })
			parked := p.snapshot().Parked[0]
			deadline := time.UnixMilli(int64(parked.Until))
			won := false
			if answerAt > 0 {
				for p.next(deadline.Add(answerAt-time.Hour-time.Millisecond)) && p.clock.Now().Before(deadline.Add(answerAt-time.Hour-time.Minute)) {
				}
				p.advance(deadline.Add(answerAt - time.Hour))
				p.participant("reply", func(ctx context.Context, w wired, waker *wake.Waker) error {
					out, err := w.Reply(ctx, api.ReplyOptions{SessionID: theSession, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["yes"]}`)})
					_, won = out.(api.Signalled)
					waker.Step(ctx, wake.Message{Session: theSession})
					return err
				})
			}
			p.until("the end", func(s api.Snapshot) bool { return s.Run != nil && object.Terminal(s.Run.Phase) })
			if want := answerAt > 0 && answerAt < time.Hour; won != want || p.answered() != won {
				t.Errorf("the answer won: %v, want %v; the transcript has it: %v", won, want, p.answered())
			}
			late := p.clock.Now().Sub(deadline)
			t.Logf("%s: the answer won: %v; the run ends %v after the deadline", name, won, late)
			if n := p.paid.Load(); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// answered reports whether the transcript has an answer to the question.
func (p *placement) answered() bool {
	p.Helper()
	for _, item := range p.snapshot().Transcript {
		turn, ok := item.(api.Turn)
		if !ok {
			continue
		}
		for _, part := range turn.Parts {
			if c, ok := part.(api.ToolPart); ok && c.Tool == "ask" && c.Result != nil {
				text, _ := c.Result.Content[0].(message.Text)
				return strings.Contains(text.Text, "Picked")
			}
		}
	}
	return false
}
