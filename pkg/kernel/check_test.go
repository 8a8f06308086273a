package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A patient is a session that is damaged through its store.
type patient struct{ *kerneltest.Kit }

// put stores objects behind the kernel's back and returns the oid of the first.
func (p patient) put(objs ...object.Object) object.OID {
	p.Helper()
	encs := make([]object.Encoded, len(objs))
	for i, o := range objs {
		encs[i] = kerneltest.Must(object.Encode(o))(p)
	}
	if err := p.PutObjects(p.Ctx, encs); err != nil {
		p.Fatal(err)
	}
	return encs[0].OID
}

// set moves a ref wherever it is.
func (p patient) set(name ref.Name, to object.OID) { p.setFor("damage", name, to) }

func (p patient) setFor(reason string, name ref.Name, to object.OID) {
	p.Helper()
	updates := []store.Update{{Name: name, From: p.Ref(name), To: to}}
	if _, ok := kerneltest.Must(p.UpdateRefs(p.Ctx, updates, store.UpdateOptions{Reason: reason}))(p).(store.Updated); !ok {
		p.Fatalf("the damage to %s was refused", name)
	}
}

func (p patient) blob() object.OID { return p.put(object.Blob{Value: jsontext.Value(`{"at":1}`)}) }

func (p patient) commit(o object.Commit) object.OID {
	if o.Body == nil {
		o.Body = p.User("planted")
	}
	return p.put(o)
}

func (p patient) change(o object.Change) object.OID {
	if o.Body == nil {
		o.Body = p.User("planted")
	}
	return p.put(o)
}

func (p patient) delta(run string, attempt int, text string) {
	p.Helper()
	body := store.DeltaEvent{RunID: run, Attempt: attempt, Part: store.TextPart, Delta: text}
	kerneltest.Must(p.AppendEvents(p.Ctx, []store.EventBody{body}, nil))(p)
}

// Every kind of damage shows under its number, and the sound session shows none.
func TestCheckFindsDamage(t *testing.T) {
	gone := object.Hash([]byte("nothing"))
	tip := ref.QueueTip(kerneltest.Head, kerneltest.Queue)
	base := ref.QueueBase(kerneltest.Head, kerneltest.Queue)
	for _, test := range []struct {
		name  string
		plant func(p patient)
		want  string // invariant, place, part of the detail
	}{
		{"a name of no family", func(p patient) { p.set("refs/nonsense", p.blob()) }, "0 refs/nonsense no known family"},
		{"a name that breaks its family", func(p patient) { p.set("refs/heads/a/b", p.Tip()) }, "0 refs/heads/a/b not valid"},
		{"a ref to nothing", func(p patient) { p.set(ref.Head("lost"), gone) }, "42 refs/heads/lost cannot be read"},
		{"a ref to another kind", func(p patient) { p.set(ref.Fact("f"), p.Tip()) }, "42 refs/facts/f a commit where a blob belongs"},
		{"a head on a change", func(p patient) { p.set(ref.Head("odd"), p.Ref(tip)) }, "41 refs/heads/odd no commit"},
		{"a missing parent", func(p patient) { p.set(ref.Head("cut"), p.commit(object.Commit{Parent: gone})) }, "41 refs/heads/cut breaks at"},
		{"a missing link", func(p patient) { p.set(ref.Head("cut"), p.commit(object.Commit{Imports: []object.OID{gone}})) }, "42 " + gone.String() + " not stored"},
		{"an import that is no commit", func(p patient) {
			p.set(ref.Head("odd"), p.commit(object.Commit{Imports: []object.OID{p.blob()}}))
		}, "41  a blob where a commit belongs"},
		{"a base that the lane does not reach", func(p patient) { p.set(base, p.change(object.Change{At: 9})) }, "36 " + string(tip) + " does not reach its base"},
		{"a lane without a tip", func(p patient) { p.set(ref.QueueBase("x", "y"), p.Ref(base)) }, "36 refs/queues/x/y/tip no tip"},
		{"a lane through a commit", func(p patient) { p.set(tip, p.change(object.Change{Previous: p.Tip()})) }, "36 " + string(tip) + " no change"},
		{"a receipt of another key", func(p patient) { p.set(ref.Key("other"), p.Ref(ref.Key("k"))) }, `7 refs/keys/other whose key is "k"`},
		{"two originals of a key", func(p patient) {
			p.set(tip, p.change(object.Change{Previous: p.Ref(tip), Key: "k", At: 7}))
		}, "7 refs/keys/k 2 changes were first submitted"},
		{"a key without a receipt", func(p patient) {
			p.set(tip, p.change(object.Change{Previous: p.Ref(tip), Key: "new"}))
		}, "7 refs/keys/new no receipt"},
		{"a landed change that is withdrawn", func(p patient) { p.set(ref.Tombstone(p.Ref(base)), p.blob()) }, "37 refs/cancelled/ withdrawn and landed"},
		{"a change that landed twice", func(p patient) {
			p.set(ref.Head(kerneltest.Head), p.commit(object.Commit{Parent: p.Tip(), Change: p.Ref(base)}))
		}, "37  landed 2 times"},
		{"a pending change that landed", func(p patient) { p.set(base, object.OID{}) }, "37 " + string(tip) + " pending and landed"},
		{"a change that was lost", func(p patient) { p.set(base, p.Ref(tip)) }, "37 " + string(tip) + " neither landed nor withdrawn"},
		{"a tombstone of another copy", func(p patient) {
			mark := p.put(object.Blob{Value: jsontext.Value(fmt.Sprintf(`{"at":1,"by":%q}`, p.Ref(tip)))})
			lost := p.change(object.Change{At: 3})
			p.set(ref.Tombstone(lost), mark)
		}, "37 refs/cancelled/ supersedes another"},
		{"a run of another head", func(p patient) { p.set(ref.Run("elsewhere"), p.Ref(ref.Run(kerneltest.Head))) }, "12 refs/runs/elsewhere of head"},
		{"tools without calls", func(p patient) {
			p.set(ref.Head(kerneltest.Head), p.commit(object.Commit{Parent: p.Tip(), Run: p.Run().ID, Body: object.MessageBody{Message: scene.Says("hm", 1)}}))
		}, "12 refs/runs/trunk no message of it with calls"},
		{"an effect of another call", func(p patient) { p.set(ref.Effect(p.Run().ID, "b"), p.Effects()[0].OID) }, `9 refs/effects/ of the call "ask"`},
		{"an effect of no run", func(p patient) {
			p.set(ref.Effect("ghost", "c"), p.put(object.Intent{RunID: "ghost", CallID: "c", Tool: "x", Args: jsontext.Value(`{}`), Replay: object.ReplayNever}))
		}, "9 refs/effects/ghost/c never was a run"},
		{"an effect of an ended run", func(p patient) {
			run := p.Run()
			run.Phase = object.Done{}
			p.set(ref.Run(kerneltest.Head), p.put(run))
		}, "9 refs/effects/ in phase done"},
		{"a wait without its intent", func(p patient) {
			p.set(ref.Effect(p.Run().ID, "b"), p.put(object.Waiting{Intent: p.Effects()[0].OID}))
		}, "9  its intent"},
		{"a signal of no wait", func(p patient) {
			e := p.Effects()[0]
			p.set(ref.Effect(p.Run().ID, "ask"), p.put(object.Signal{Intent: e.IntentOID, Waiting: e.IntentOID, Signal: jsontext.Value(`1`)}))
		}, "46  its wait"},
		{"a length stop with a result", func(p patient) {
			m := scene.Asks(1, message.ToolCall{ID: "c", Name: "x", Arguments: jsontext.Value(`{}`)})
			m.StopReason = message.StopLength
			r := message.ToolResult{ToolCallID: "c", ToolName: "x", Content: []message.Content{message.Text{Text: "fine"}}}
			call := p.commit(object.Commit{Body: object.MessageBody{Message: m}})
			p.set(ref.Head("long"), p.commit(object.Commit{Parent: call, Body: object.MessageBody{Message: r}}))
		}, "15 refs/heads/long no error"},
		{"a stack on itself", func(p patient) { p.set(ref.Stack("x"), p.put(object.Stack{Parent: "x"})) }, "33 refs/stacks/x on itself"},
		{"a stack on no name", func(p patient) { p.set(ref.Stack("x"), p.put(object.Stack{Parent: "a/b"})) }, "33 refs/stacks/x not a head"},
		{"deltas that differ", func(p patient) {
			run := object.Run{ID: "r", Head: "d", Phase: object.Respond{}}
			p.set(ref.Run("d"), p.put(run))
			p.delta("r", 1, "one")
			run.Attempts, run.Phase = 1, object.Done{}
			p.set(ref.Head("d"), p.commit(object.Commit{Run: "r", Body: object.MessageBody{Message: scene.Says("other", 1)}}))
			p.set(ref.Run("d"), p.put(run))
		}, `39 event "one" was streamed and "other" committed`},
		{"a delta after its message", func(p patient) { p.delta(p.Run().ID, 1, "late") }, "39 event comes after its message"},
		{"a publish after the deletion", func(p patient) {
			p.set(ref.Deleted, p.blob())
			p.setFor("respond", ref.Head("x"), p.Tip())
		}, "35 event after the deletion"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := patient{ailing(t, kerneltest.Memory)}
			p.Damaged()
			if sound := p.Problems(); len(sound) > 0 {
				t.Fatalf("before the damage: %v", sound)
			}
			test.plant(p)
			found := p.Problems()
			for _, f := range found {
				line := fmt.Sprintf("%d %s %s", f.Invariant, f.Where, f.Detail)
				if finds(line, test.want) {
					return
				}
			}
			t.Errorf("got %v, want %q among them", found, test.want)
		})
	}
}

// finds reports whether all words of want come in line, the first at its start.
func finds(line, want string) bool {
	words := strings.Fields(want)
	if !strings.HasPrefix(line, words[0]+" ") {
		return false
	}
	for _, w := range words[1:] {
		i := strings.Index(line, w)
		if i < 0 {
			return false
		}
		line = line[i+len(w):]
	}
	return true
}

// ailing makes a session with something of everything: landed, withdrawn and pending changes, a receipt, and a parked call.
func ailing(t testing.TB, open storetest.Opener) *kerneltest.Kit {
	k := kerneltest.New(t, open)
	k.Script.Toolbox = asking()
	k.Submitted(kernel.SubmitOptions{Head: kerneltest.Head, Lane: kerneltest.Queue, Body: k.User("use ask"), Key: "k"})
	k.Settle()
	withdrawn := k.Send(kerneltest.Queue, "never mind")
	kerneltest.Must(k.Cancel(k.Ctx, kerneltest.Head, withdrawn, nil))(k)
	k.Send(kerneltest.Queue, "still there")
	return k
}

// Damage beneath the contract shows too: a corrupt object, a forged loop, and a stream that cannot be read.
func TestCheckFindsCorruption(t *testing.T) {
	k := ailing(t, kerneltest.Memory)
	k.Damaged()
	plant, ok := k.Backend.(interface {
		PlantObject(id store.SessionID, oid object.OID, body []byte) error
		PlantEvent(id store.SessionID, seq store.Seq, payload []byte) error
	})
	if !ok {
		t.Fatal("the store in memory cannot be damaged")
	}
	tip := k.Tip()
	loop := kerneltest.Must(object.Encode(object.Commit{Parent: tip, Body: k.User("loop")}))(t)
	for _, err := range []error{plant.PlantObject(kerneltest.Session, tip, loop.Body), plant.PlantEvent(kerneltest.Session, 3, []byte("{"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for _, p := range k.Problems() {
		lines = append(lines, p.String())
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"does not match its hash", "event 3: the stream cannot be read on", "refs/heads/trunk: its branch breaks"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
}

// The same session gives the same problems in the same order.
func TestCheckIsDeterministic(t *testing.T) {
	p := patient{ailing(t, kerneltest.Memory)}
	p.Damaged()
	for i := range 20 {
		p.set(ref.Head(fmt.Sprint("h", i)), p.Ref(ref.QueueTip(kerneltest.Head, kerneltest.Queue)))
	}
	first := p.Problems()
	for range 20 {
		if diff := cmp.Diff(first, p.Problems()); diff != "" {
			t.Fatalf("problems differ (-first +later):\n%s", diff)
		}
	}
}
