package sdk_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// raw returns a store handle on the kit's session, for what no host does.
func (k *kit) raw() store.Session {
	k.Helper()
	s, err := k.store.OpenSession(k.ctx, store.SessionID(k.id))
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { _ = s.Close() })
	return s
}

// A mark is how much is stored.
type mark struct {
	seq     store.Seq
	objects int
}

func (k *kit) mark() mark {
	k.Helper()
	s := k.raw()
	seq, err := s.LastSeq(k.ctx)
	if err != nil {
		k.Fatal(err)
	}
	objects, err := s.ListObjects(k.ctx)
	if err != nil {
		k.Fatal(err)
	}
	return mark{seq, len(objects)}
}

// writesNothing fails the test when call writes an event or an object.
func (k *kit) writesNothing(what string, call func()) {
	k.Helper()
	before := k.mark()
	call()
	if after := k.mark(); after != before {
		k.Errorf("%s wrote: %+v before, %+v after", what, before, after)
	}
}

// change returns the change that a receipt names.
func change(r any) object.OID {
	switch r := r.(type) {
	case api.Queued:
		return r.Change
	case api.Duplicate:
		return r.Change
	case api.Redelivered:
		return r.Change
	}
	return object.OID{}
}

// step takes one step of the default head.
func (k *kit) step() api.StepOutcome {
	k.Helper()
	o, err := k.host.Step(k.ctx, api.HeadOptions{SessionID: k.id})
	if err != nil {
		k.Fatal(err)
	}
	return o
}

// settle steps until the head is idle, waiting or to be retried.
func (k *kit) settle() api.StepOutcome {
	k.Helper()
	for range 200 {
		switch o := k.step().(type) {
		case api.Continue, api.Finished:
		case api.Idle, api.StepWaiting, api.Retry, api.StepBusy, api.Fenced:
			return o
		}
	}
	k.Fatal("200 steps did not settle the head")
	return nil
}

// do fails the test on an error of an operation that returns something.
func do[T any](k *kit) func(T, error) T {
	return func(v T, err error) T {
		k.Helper()
		if err != nil {
			k.Fatal(err)
		}
		return v
	}
}

// phaseName returns the phase of the default head's run, empty when there is none.
func (k *kit) phaseName() string {
	k.Helper()
	run := do[*api.RunInfo](k)(k.host.CurrentRun(k.ctx, k.head()))
	if run == nil {
		return ""
	}
	return object.PhaseName(run.Phase)
}

func (k *kit) head() api.HeadOptions { return api.HeadOptions{SessionID: k.id} }

// events returns what a watch after a cursor yields up to synced, which is left out.
func (k *kit) events(after int64) []api.Event {
	k.Helper()
	var out []api.Event
	for e, err := range k.host.Watch(k.ctx, api.WatchOptions{SessionID: k.id, AfterSeq: &after}) {
		if err != nil {
			k.Fatal(err)
		}
		if _, synced := e.Body.(api.SyncedEvent); synced {
			break
		}
		out = append(out, e)
	}
	return out
}

// await watches from the beginning until match, and fails the test when the watch ends before.
func (k *kit) await(match func(api.EventBody) bool) api.Event {
	k.Helper()
	for e, err := range k.host.Watch(k.ctx, api.WatchOptions{SessionID: k.id}) {
		if err != nil {
			k.Fatal(err)
		}
		if match(e.Body) {
			return e
		}
	}
	k.Fatal("the watch ended before what was awaited")
	return api.Event{}
}

// ended matches the end of a run.
func ended(b api.EventBody) bool {
	r, ok := b.(api.RunEvent)
	return ok && object.Terminal(r.Run.Phase)
}

// of returns those bodies of one kind, in order.
func of[T api.EventBody](events []api.Event) []T {
	var out []T
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// faulty returns another host over the kit's data, whose store fails by plan, with a script of its own.
func (k *kit) faulty(steps ...scripted.Step) (*sdk.Stepwell, *storetest.Faulty, *scripted.Player) {
	k.Helper()
	f, player := storetest.NewFaulty(k.store), scripted.Play(steps...)
	return k.hostOver(f, plays(player)), f, player
}

// plays makes a host play a script of its own.
func plays(p llm.Provider) func(*sdk.Options) {
	return func(o *sdk.Options) { o.Models = llm.NewCatalog(p) }
}

// on matches the calls of one operation.
func on(op storetest.Op) func(storetest.Call) bool {
	return func(c storetest.Call) bool { return c.Op == op }
}

// writing matches the updates of a reason.
func writing(reason string) func(storetest.Call) bool {
	return func(c storetest.Call) bool { return c.Op == storetest.OpUpdateRefs && c.Reason == reason }
}

// An echo is a provider that repeats what was said since its last answer, as often as it is asked.
type echo struct {
	calls  atomic.Int64
	before func(ctx context.Context) // called with every request; may be nil

	mu    sync.Mutex
	heard []string
}

func (*echo) Name() string              { return scripted.ProviderName }
func (e *echo) Models() []llm.ModelInfo { return scripted.Play().Models() }
func (e *echo) said() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.heard...)
}
func (e *echo) option(o *sdk.Options)     { o.Models = llm.NewCatalog(e) }
func (e *echo) answer(text string) string { return "re: " + text }

func (e *echo) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	e.calls.Add(1)
	if e.before != nil {
		e.before(ctx)
	}
	b := llm.NewBuilder(ctx, emit)
	b.Message = message.Assistant{API: scripted.API, Provider: scripted.ProviderName, Model: req.Model.ID}
	var said []string
	for _, m := range req.Messages {
		switch m := m.(type) {
		case message.User:
			said = append(said, message.PlainText(m.Content))
		case message.Assistant:
			said = nil
		case message.ToolResult:
		}
	}
	text := strings.Join(said, " + ")
	e.mu.Lock()
	e.heard = append(e.heard, text)
	e.mu.Unlock()
	if b.Text(e.answer(text)) != nil {
		return b.Abort()
	}
	return b.Finish(message.StopEnd, "end")
}

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
