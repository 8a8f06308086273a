package cloudtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// What operations of a session cost, at most. A process is cold when it knows nothing yet, as a function that was just started; the session is
// open. What a respond step streams is one append here; what it watches meanwhile is left out.
func TestBudgets(t *testing.T) {
	r := newRig(t, reading(t), builtin.Ask())
	r.unwatched = true
	turn := func(name string, next func() (*process, *kernel.Session), most ...cost) {
		t.Helper()
		p, s := next()
		r.atMost(name+" submit, 1 KB with a key", most[0], p.measure(func() { p.submit(s, name) })).within(r, 2)
		r.player.Then(scripted.Text(prose(200, 1)), scripted.Call(name+"1", "read", `{"path":"a"}`), scripted.Call(name+"2", "read", `{"path":"b"}`),
			scripted.End(message.StopToolUse), scripted.Text(prose(200, 2)), scripted.End(message.StopEnd))
		for i, step := range []struct {
			name  string
			aside int // round trips of the model's stream and of the calls' own records
		}{{"land", 0}, {"respond with two calls", 1}, {"run two calls of 2 KB", 3}, {"answer", 1}} {
			p, s := next()
			r.atMost(name+" "+step.name, most[i+1], p.measure(func() { p.step(s) })).within(r, stepTrips+step.aside)
		}
		if phase := p.phase(s); phase != "done" {
			t.Errorf("the %s turn ends %s", name, phase)
		}
	}
	cold := func() (*process, *kernel.Session) { p := r.process(); return p, p.open() }
	// A publish that finds the tail full packs it: 2 units more. Where that happens depends on how random ids compress.
	turn("first", cold, cost{2, 8, 8}, cost{5, 9, 11}, cost{6, 17, 8}, cost{8, 20, 10}, cost{7, 17, 9})
	turn("cold", cold, cost{2, 8, 8}, cost{6, 9, 14}, cost{7, 17, 10}, cost{8, 20, 13}, cost{7, 17, 12})
	p := r.process()
	s := p.open()
	same := func() (*process, *kernel.Session) { return p, s }
	turn("warming", same, cost{2, 8, 8}, cost{7, 9, 16}, cost{5, 17, 6}, cost{6, 20, 10}, cost{5, 17, 6})
	turn("warm", same, cost{2, 8, 8}, cost{5, 9, 10}, cost{5, 17, 6}, cost{6, 20, 10}, cost{5, 17, 6})

	r.atMost("a step with nothing to do", cost{3, 2, 6}, p.measure(func() { p.step(s) }))
	r.atMost("warm send through the SDK", cost{3, 8, 9}, p.measure(func() { p.send("warm") }))
	p = r.process()
	r.atMost("cold send through the SDK, opening included", cost{3, 8, 9}, p.measure(func() { p.send("cold") }))
	seq := int64(kerneltest.Must(s.LastSeq(t.Context()))(t))
	for _, what := range []string{"a page of events without news, cold", "the same, warm"} {
		r.atMost(what, cost{3, 0, 3}, p.measure(func() {
			for e, err := range p.host.Watch(t.Context(), api.WatchOptions{SessionID: api.SessionID(kerneltest.Session), AfterSeq: &seq}) {
				if err != nil {
					t.Error(err)
				}
				if _, synced := e.Body.(api.SyncedEvent); synced {
					break
				}
			}
		}))
	}
}

// stepTrips is what a step should take: acquire and read 2, context 2, publish and release 1.
const stepTrips = 5

// A reply costs a read and a write, in a process that was just started.
func TestBudgets_Reply(t *testing.T) {
	r := newRig(t, builtin.Ask())
	r.unwatched = true
	ask := func(id string) (p *process, s *kernel.Session, wait kernel.SignalOptions) {
		r.player.Then(scripted.Call(id, "ask", `{"title":"Which?","choices":[{"id":"yes","label":"Yes"}]}`), scripted.End(message.StopToolUse),
			scripted.Text("Good."), scripted.End(message.StopEnd))
		p = r.process()
		s = p.open()
		p.submit(s, id)
		for range 3 {
			p.step(s)
		}
		refs := kerneltest.Must(s.ListRefs(t.Context(), ref.Effects))(t)
		if len(refs) != 1 {
			t.Fatalf("open are %v, want one call", refs)
		}
		effect, ok := kerneltest.Must(ref.Parse(refs[0].Name))(t).(ref.EffectRef)
		if !ok {
			t.Fatalf("%s is no effect", refs[0].Name)
		}
		return p, s, kernel.SignalOptions{RunID: effect.Run, CallID: effect.Call, WaitID: refs[0].OID, Signal: jsontext.Value(`{"picked":["yes"]}`)}
	}
	reply := func(s *kernel.Session, opts kernel.SignalOptions) func() {
		return func() {
			out := kerneltest.Must(s.Signal(t.Context(), opts))(t)
			if _, ok := out.(kernel.Signalled); !ok {
				t.Errorf("replying: %#v", out)
			}
		}
	}
	p, s, wait := ask("toolu_1")
	r.atMost("reply by the process that ran the call", cost{2, 8, 4}, p.measure(reply(s, wait))).within(r, 2)
	for range 2 {
		p.step(s)
	}
	_, _, wait = ask("toolu_2")
	p = r.process()
	s = p.open()
	r.atMost("cold reply", cost{2, 8, 6}, p.measure(reply(s, wait))).within(r, 2)
	for range 2 {
		p.step(s)
	}
	_, _, wait = ask("toolu_3")
	p = r.process()
	r.atMost("cold reply through the SDK, opening included", cost{4, 8, 11}, p.measure(func() {
		out := kerneltest.Must(p.host.Reply(t.Context(), api.ReplyOptions{
			SessionID: api.SessionID(kerneltest.Session), CallID: wait.CallID, WaitID: wait.WaitID, Reply: wait.Signal,
		}))(t)
		if _, ok := out.(api.Signalled); !ok {
			t.Errorf("replying: %#v", out)
		}
	}))
}

// A long session is read in few rounds, and a step behind a checkpoint does not feel its length. Requests that are sent together may still come one
// after the other on a busy machine: two rounds of long reads are for that.
func TestBudgets_LongSession(t *testing.T) {
	r := newRig(t)
	r.unwatched = true
	const n = 4000
	writer := r.process().open()
	commits := make([]object.Encoded, n)
	var parent object.OID
	for i := range commits {
		commits[i] = encoded(t, object.Commit{Parent: parent, At: object.Millis(i + 1), Body: object.MessageBody{Message: message.NewUser(prose(40, uint32(i)), 5)}})
		parent = commits[i].OID
	}
	for i := 0; i < n; i += 100 { // as a conversation would: each batch links to the one before
		if err := writer.PutObjects(t.Context(), commits[i:i+100]); err != nil {
			t.Fatal(err)
		}
	}
	at := func(head string, tip object.OID, objects ...object.Encoded) {
		out := kerneltest.Must(writer.UpdateRefs(t.Context(), []store.Update{{Name: ref.Head(head), To: tip}}, store.UpdateOptions{Reason: "plant", Objects: objects}))(t)
		if _, ok := out.(store.Updated); !ok {
			t.Fatalf("planting %s: %#v", head, out)
		}
	}
	for _, tc := range []struct {
		limit int
		most  cost
	}{{64, cost{4, 0, 32}}, {1000, cost{7, 0, 500}}, {n, cost{8, 0, 2000}}} {
		p := r.process()
		s := p.open()
		r.atMost(fmt.Sprintf("cold chain of %d", tc.limit), tc.most, p.measure(func() {
			if got := kerneltest.Must(s.Chain(t.Context(), parent, object.OID{}, tc.limit))(t); len(got) != tc.limit {
				t.Errorf("%d of %d commits", len(got), tc.limit)
			}
		}))
	}
	at(sdk.DefaultHead, commits[999].OID)
	p := r.process()
	r.atMost("cold snapshot of 1000 commits through the SDK, opening included", cost{18, 0, 540}, p.measure(func() {
		got := kerneltest.Must(p.host.Snapshot(t.Context(), api.HeadOptions{SessionID: api.SessionID(kerneltest.Session)}))(t)
		if len(got.Transcript) != 1000 {
			t.Errorf("%d of 1000 turns", len(got.Transcript))
		}
	})).within(r, 20)
	for _, length := range []int{100, n} {
		head := fmt.Sprintf("h%d", length)
		checkpoint := encoded(t, object.Commit{Parent: commits[length-1].OID, At: n + 1, Body: object.CheckpointBody{Summary: "so far", Config: &object.Config{}}})
		at(head, checkpoint.OID, checkpoint)
		p := r.process()
		s := p.open()
		kerneltest.Must(s.Submit(t.Context(), kernel.SubmitOptions{
			Head: head, Lane: sdk.QueueLane, Body: object.MessageBody{Message: message.NewUser("go on", 5)},
		}))(t)
		p = r.process()
		s = p.open()
		opts := p.options()
		opts.Head = head
		r.atMost(fmt.Sprintf("cold land behind a checkpoint on %d commits", length), cost{9, 9, 44}, p.measure(func() {
			kerneltest.Must(s.Step(t.Context(), opts))(t)
		})).within(r, stepTrips)
	}
}

// A body beyond 8 KB costs one request of S3 each way, beside its item.
func TestBudgets_LargeObject(t *testing.T) {
	r := newRig(t)
	random := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random) // it never fails
	large := encoded(t, object.Blob{Value: kerneltest.Must(json.Marshal(random))(t)})
	p := r.process()
	s := p.open()
	r.atMost("put an object of 64 KB that does not compress", cost{4, 2, 1}, p.measure(func() {
		if err := s.PutObjects(t.Context(), []object.Encoded{large}); err != nil {
			t.Error(err)
		}
	}))
	p.requests(map[string]int{"GetItem": 1, "UpdateItem": 1, "PutObject": 1, "BatchWriteItem": 1})
	p = r.process()
	s = p.open()
	r.atMost("get it, cold", cost{2, 0, 0.5}, p.measure(func() {
		if _, ok, err := s.GetObject(t.Context(), large.OID); err != nil || !ok {
			t.Errorf("getting it: %v, %v", ok, err)
		}
	}))
	p.requests(map[string]int{"BatchGetItem": 1, "GetObject": 1})
}

// requests expects what was measured last to have made exactly these.
func (p *process) requests(want map[string]int) {
	p.Helper()
	if diff := cmp.Diff(want, p.Counts().Requests); diff != "" {
		p.Errorf("it makes other requests: %s", diff)
	}
}
