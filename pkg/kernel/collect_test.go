package kernel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

func loose(k *kerneltest.Kit, text string) object.Encoded {
	k.Helper()
	enc := must(object.Encode(object.Blob{Value: jsontext.Value(`"` + text + `"`)}))(k)
	if err := k.PutObjects(k.Ctx, []object.Encoded{enc}); err != nil {
		k.Fatal(err)
	}
	return enc
}

func exists(k *kerneltest.Kit, oid object.OID) bool {
	k.Helper()
	_, ok, err := k.GetObject(k.Ctx, oid)
	if err != nil {
		k.Fatal(err)
	}
	return ok
}

func collect(k *kerneltest.Kit) kernel.Collected {
	k.Helper()
	return must(k.Collect(k.Ctx, grace))(k)
}

// trim drops every event there is.
func trim(k *kerneltest.Kit) {
	k.Helper()
	must(k.Trim(k.Ctx, must(k.LastSeq(k.Ctx))(k)))(k)
}

func TestC109_C232_LooseObjectsGoAfterGrace(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "kept")
		k.Settle()
		held := len(must(k.ListObjects(k.Ctx))(t))
		l := loose(k, "loose")
		k.Clock.Advance(grace)
		same(t, "at the boundary", kernel.Collected{Scanned: held + 1, Reachable: held}, collect(k))
		same(t, "at the boundary it exists", true, exists(k, l.OID))
		k.Clock.Advance(time.Millisecond)
		same(t, "beyond it", kernel.Collected{Scanned: held + 1, Reachable: held, Swept: 1}, collect(k))
		same(t, "beyond it it exists", false, exists(k, l.OID))
		if _, err := k.Collect(k.Ctx, -1); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("negative grace: got error %v, want %v", err, kernel.ErrInvalid)
		}
	})
}

func TestC110_RetainedEventsKeepWhatAHeadLeft(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b-C trunk")
		move(k, head, at["A"])
		k.Clock.Advance(grace + time.Millisecond)
		collect(k)
		same(t, "undo is possible", true, exists(k, at["C"]))
		same(t, "undo", kernel.MoveHeadOutcome(kernel.HeadMoved{From: at["A"]}), move(k, head, at["C"]))
		move(k, head, at["A"])
		trim(k)
		same(t, "swept", 2, collect(k).Swept)
		same(t, "after the trim", []bool{true, false, false}, []bool{exists(k, at["A"]), exists(k, at["b"]), exists(k, at["C"])})
	})
}

// Each object is reachable by one path only, and no path is forgotten.
func TestC111_B85_EveryPathKeeps(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		p := patient{k}
		imported := p.commit(object.Commit{At: 1})
		landed := p.change(object.Change{At: 2})
		root := p.commit(object.Commit{At: 3})
		tip := p.commit(object.Commit{Parent: root, Imports: []object.OID{imported}, Change: landed, At: 4})
		older := p.change(object.Change{At: 5})
		newer := p.change(object.Change{Previous: older, At: 6})
		based := p.commit(object.Commit{At: 7})
		intent := p.put(object.Intent{RunID: "run", CallID: "c", Tool: "x", Args: jsontext.Value(`{}`), Replay: object.ReplayNever, At: 8})
		wait := p.put(object.Waiting{Intent: intent, At: 9})
		signal := p.put(object.Signal{Intent: intent, Waiting: wait, Signal: jsontext.Value(`1`), At: 10})
		run := p.put(object.Run{ID: "run", Head: head, Phase: object.Tools{}})
		call := p.commit(object.Commit{Parent: tip, Run: "run", At: 11, Body: callBody("c")})
		for name, oid := range map[ref.Name]object.OID{
			ref.Head(head): call, ref.QueueTip(head, queue): newer, ref.Stack("side"): p.put(object.Stack{Parent: head, Base: based}),
			ref.Effect("run", "c"): signal, ref.Run(head): run, ref.Fact("f"): p.blob(),
		} {
			p.set(name, oid)
		}
		kept := []object.OID{imported, landed, root, tip, older, newer, based, intent, wait, signal, run, call}
		check := func(when string) {
			for i, oid := range kept {
				if !exists(k, oid) {
					t.Errorf("%s: object %d is gone", when, i)
				}
			}
		}
		k.Clock.Advance(grace + time.Millisecond)
		collect(k)
		check("with events")
		// The old end of a retained event keeps too.
		p.set(ref.Head(head), root)
		p.set(ref.Head(head), call)
		trim(k)
		first := collect(k)
		check("after the trim")
		k.Clock.Advance(grace + time.Millisecond)
		same(t, "swept by a second collection", 0, collect(k).Swept)
		same(t, "swept by the first", 0, first.Swept)
	})
}

func callBody(id string) object.Body {
	return object.MessageBody{Message: toolCalls(id)}
}

func TestC112_AnswerOfASupersededPublish(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b other")
		k.Send(queue, "q")
		k.StepIs("continue")
		says(k, answers(func() { move(k, head, at["b"]) }))
		before := len(must(k.ListObjects(k.Ctx))(t))
		k.StepIs("finished")
		// The compare-and-swap carries the objects it makes reachable: a lost race leaves nothing but the run's end.
		same(t, "objects", before+1, len(must(k.ListObjects(k.Ctx))(t)))
		l := loose(k, "an answer that a store put first")
		k.Clock.Advance(grace)
		same(t, "at the boundary", 0, collect(k).Swept)
		k.Clock.Advance(time.Millisecond)
		same(t, "beyond it", 1, collect(k).Swept)
		same(t, "gone", false, exists(k, l.OID))
	})
}

// A collector that read the list before an object was put again must not take it.
func TestB85_PutAgainDuringACollection(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		l := loose(k, "put again")
		k.Clock.Advance(grace + time.Millisecond)
		p := k.Process()
		gate := p.Gate(at, func(c storetest.Call) bool { return c.Op == storetest.OpListObjects })
		meanwhile(t, gate, func() (kernel.Collected, error) { return p.Collect(k.Ctx, grace) }, func() {
			if err := k.PutObjects(k.Ctx, []object.Encoded{l}); err != nil {
				t.Fatal(err)
			}
		})
		same(t, "it exists", true, exists(k, l.OID))
		must(k.UpdateRefs(k.Ctx, []store.Update{{Name: ref.Fact("f"), To: l.OID}}, store.UpdateOptions{Reason: "fact"}))(t)
	})
}

// Two collectors at once remove nothing that is needed, and nothing twice.
func TestB85_TwoCollectors(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "kept")
		k.Settle()
		for _, text := range []string{"a", "b", "c"} {
			loose(k, text)
		}
		k.Clock.Advance(grace + time.Millisecond)
		p := k.Process()
		gate := p.Gate(beforeCall, func(c storetest.Call) bool { return c.Op == storetest.OpDeleteObjects })
		var second kernel.Collected
		first := meanwhile(t, gate, func() (kernel.Collected, error) { return p.Collect(k.Ctx, grace) }, func() { second = collect(k) })
		same(t, "swept", []int{0, 3}, []int{first.Swept, second.Swept})
	})
}

// Collecting and trimming beside a turn takes nothing that the turn needs.
func TestB85_CollectBesideATurn(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use look pay")
		says(k, answers(func() {
			k.Clock.Advance(2 * grace)
			trim(k)
			collect(k)
		}))
		k.Settle()
		same(t, "texts", []string{"u:use look pay", "a:I will look.", "c:look", "c:pay", "r:look ok", "r:pay ok", "a:done: look ok, pay ok"}, k.Texts())
	})
}

// The floor is exact: below it a cursor is refused, at it every later event comes.
func TestB83_C229_CursorAtTheFloor(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		for range 3 {
			k.Send(queue, "q")
		}
		same(t, "floor", store.Seq(2), must(k.Trim(k.Ctx, 2))(t))
		if _, err := k.ReadEvents(k.Ctx, 1, 0); !errors.Is(err, store.ErrCursorExpired) {
			t.Errorf("below the floor: got error %v, want %v", err, store.ErrCursorExpired)
		}
		for after := store.Seq(2); after <= 3; after++ {
			same(t, "events", 3-int(after), len(must(k.ReadEvents(k.Ctx, after, 0))(t)))
		}
		// A slow watcher that the floor passes is told so, and loses nothing silently.
		seen := store.Seq(0)
		for e, err := range k.WatchEvents(k.Ctx, 2) {
			if errors.Is(err, store.ErrCursorExpired) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if seen != 0 && e.Seq != seen+1 {
				t.Fatalf("event %d follows %d", e.Seq, seen)
			}
			if seen = e.Seq; seen == 3 {
				for range 2 {
					k.Send(queue, "q")
				}
				trim(k)
			}
		}
		same(t, "the last one seen", store.Seq(3), seen)
	})
}
