package kernel_test

import (
	"errors"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

func create(k *kerneltest.Kit, opts kernel.CreateHeadOptions) kernel.CreateHeadOutcome {
	k.Helper()
	return must(k.CreateHead(k.Ctx, opts))(k)
}

func move(k *kerneltest.Kit, name string, to object.OID) kernel.MoveHeadOutcome {
	k.Helper()
	return must(k.MoveHead(k.Ctx, kernel.MoveHeadOptions{Head: name, To: to}))(k)
}

func TestC093_HeadFromAnUnbornParent(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		same(t, "create", kernel.CreateHeadOutcome(kernel.Created{}), create(k, kernel.CreateHeadOptions{Head: "side", Parent: head}))
		same(t, "again", kernel.CreateHeadOutcome(kernel.HeadExists{}), create(k, kernel.CreateHeadOptions{Head: "side", Parent: head}))
		st, ok, err := k.Stack(k.Ctx, "side")
		if err != nil || !ok || st.Stack != (object.Stack{Parent: head}) || !st.Tip.IsZero() || st.Stale() {
			t.Errorf("stack: got %#v, %v, %v", st, ok, err)
		}
	})
}

func TestC094_HeadFromAHeadAndFromACommit(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b trunk")
		same(t, "from a head", kernel.CreateHeadOutcome(kernel.Created{Tip: at["b"]}), create(k, kernel.CreateHeadOptions{Head: "side", Parent: head}))
		st, _, err := k.Stack(k.Ctx, "side")
		same(t, "stack", object.Stack{Parent: head, Base: at["b"]}, st.Stack)
		same(t, "error", nil, err)
		same(t, "again", kernel.CreateHeadOutcome(kernel.HeadExists{}), create(k, kernel.CreateHeadOptions{Head: "side", Parent: head}))
		same(t, "from a commit", kernel.CreateHeadOutcome(kernel.Created{Tip: at["A"]}), create(k, kernel.CreateHeadOptions{Head: "old", Commit: at["A"]}))
		same(t, "stack ref", object.OID{}, k.Ref(ref.Stack("old")))
		same(t, "from a commit again", kernel.CreateHeadOutcome(kernel.HeadExists{}), create(k, kernel.CreateHeadOptions{Head: "old", Commit: at["A"]}))
		same(t, "over a stack", kernel.CreateHeadOutcome(kernel.HeadExists{}), create(k, kernel.CreateHeadOptions{Head: "side", Commit: at["A"]}))
		same(t, "from nothing", kernel.CreateHeadOutcome(kernel.NotFound{}), create(k, kernel.CreateHeadOptions{Head: "new", Commit: object.Hash(nil)}))
		for _, bad := range []kernel.CreateHeadOptions{
			{Head: "new"}, {Head: "a/b", Parent: head}, {Head: "new", Parent: "a/b"}, {Head: "new", Parent: "new"}, {Head: "new", Parent: head, Commit: at["A"]},
		} {
			written(k, 0, "invalid create", func() {
				if _, err := k.CreateHead(k.Ctx, bad); !errors.Is(err, kernel.ErrInvalid) {
					t.Errorf("create %+v: got error %v, want %v", bad, err, kernel.ErrInvalid)
				}
			})
		}
	})
}

func TestC095_Move(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b-C trunk")
		a, c := at["A"], at["C"]
		written(k, 0, "refused moves", func() {
			got := must(k.MoveHead(k.Ctx, kernel.MoveHeadOptions{Head: head, To: at["b"], Expect: &a}))(t)
			same(t, "wrong expect", kernel.MoveHeadOutcome(kernel.MovedSince{Tip: c}), got)
			same(t, "unknown", kernel.MoveHeadOutcome(kernel.NotFound{}), move(k, head, object.Hash(nil)))
		})
		got := must(k.MoveHead(k.Ctx, kernel.MoveHeadOptions{Head: head, To: at["b"], Expect: &c}))(t)
		same(t, "right expect", kernel.MoveHeadOutcome(kernel.HeadMoved{From: c}), got)
		same(t, "tip", at["b"], k.Tip())
		same(t, "to nothing", kernel.MoveHeadOutcome(kernel.HeadMoved{From: at["b"]}), move(k, head, object.OID{}))
		same(t, "tip", object.OID{}, k.Tip())
	})
}

func TestC096_MoveCreates(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b trunk")
		same(t, "move", kernel.MoveHeadOutcome(kernel.HeadMoved{}), move(k, "fresh", at["A"]))
		same(t, "tip", at["A"], k.Ref(ref.Head("fresh")))
	})
}

func TestC097_Delete(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "a")
		k.Settle()
		k.Send(steer, "left behind")
		create(k, kernel.CreateHeadOptions{Head: "side", Parent: head})
		lease := acquire(k)
		if busy, ok := must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head}))(t).(kernel.HeadBusy); !ok || busy.Holder != lease {
			t.Errorf("deleting a leased head: got %#v", busy)
		}
		must(k.ReleaseLease(k.Ctx, lease))(t)
		for _, name := range []string{head, "side"} {
			same(t, "delete", kernel.DeleteHeadOutcome(kernel.HeadDeleted{}), must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: name}))(t))
			same(t, "again", kernel.DeleteHeadOutcome(kernel.NotFound{}), must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: name}))(t))
		}
		same(t, "refs", []store.Ref(nil), must(k.ListRefs(k.Ctx, ""))(t))
	})
}

func TestC098_C230_StaleIffBaseIsNotTheParentsTip(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b-C trunk")
		create(k, kernel.CreateHeadOptions{Head: "side", Parent: head})
		for _, to := range []string{"b", "C", "A", "C"} {
			move(k, head, at[to])
			st, _, err := k.Stack(k.Ctx, "side")
			if err != nil || st.Stale() != (to != "C") {
				t.Errorf("parent at %s: stale is %v, error %v", to, st.Stale(), err)
			}
		}
		if _, ok, err := k.Stack(k.Ctx, head); ok || err != nil {
			t.Errorf("a head without a stack: ok is %v, error %v", ok, err)
		}
		same(t, "merge without a stack", kernel.FastForwardOutcome(kernel.NoStack{}), must(k.FastForward(k.Ctx, kernel.FastForwardOptions{Head: head}))(t))
	})
}

func TestC099_AdvanceBase(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, `
A-b-C-d trunk
  \-E other`)
		move(k, head, at["b"])
		create(k, kernel.CreateHeadOptions{Head: "side", Parent: head})
		advance := func() kernel.AdvanceOutcome { return must(k.AdvanceBase(k.Ctx, "side", nil))(t) }
		same(t, "current", kernel.AdvanceOutcome(kernel.BaseUnchanged{}), advance())
		move(k, head, at["d"])
		same(t, "grown", kernel.AdvanceOutcome(kernel.Advanced{Base: at["d"]}), advance())
		same(t, "again", kernel.AdvanceOutcome(kernel.BaseUnchanged{}), advance())
		move(k, head, at["E"])
		same(t, "elsewhere", kernel.AdvanceOutcome(kernel.Diverged{}), advance())
		st, _, err := k.Stack(k.Ctx, "side")
		if err != nil || !st.Stale() {
			t.Errorf("after diverging: stale is %v, error %v", st.Stale(), err)
		}
		same(t, "no stack", kernel.AdvanceOutcome(kernel.BaseUnchanged{}), must(k.AdvanceBase(k.Ctx, head, nil))(t))
	})
}

func TestC100_C231_FastForwardIsOneUpdate(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, `
A-b-C-d trunk
  \-E-f other`)
		move(k, head, at["b"])
		create(k, kernel.CreateHeadOptions{Head: "side", Parent: head})
		merge := func() kernel.FastForwardOutcome {
			return must(k.FastForward(k.Ctx, kernel.FastForwardOptions{Head: "side"}))(t)
		}
		same(t, "no work", kernel.FastForwardOutcome(kernel.Empty{}), merge())
		move(k, "side", at["f"])
		before := must(k.LastSeq(k.Ctx))(t)
		same(t, "merge", kernel.FastForwardOutcome(kernel.Merged{Tip: at["f"]}), merge())
		same(t, "parent", at["f"], k.Tip())
		var names []ref.Name
		for _, e := range must(k.ReadEvents(k.Ctx, before, 0))(t) {
			r, _ := e.Body.(store.RefEvent)
			same(t, "reason", "merge", r.Reason)
			names = append(names, r.Name)
		}
		same(t, "one move each", []ref.Name{ref.Head(head), ref.Stack("side")}, names)
		same(t, "again", kernel.FastForwardOutcome(kernel.Empty{}), merge())
		move(k, "side", at["d"])
		same(t, "the head left its base", kernel.FastForwardOutcome(kernel.Stale{}), merge())
		move(k, "side", object.OID{})
		same(t, "unborn", kernel.FastForwardOutcome(kernel.Empty{}), merge())
		move(k, "side", at["f"])
		move(k, head, at["A"])
		same(t, "stale", kernel.FastForwardOutcome(kernel.Stale{}), merge())
		same(t, "parent", at["A"], k.Tip())
	})
}

func TestC114_MergeBesideASubmission(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		kerneltest.Draw(t, k.Session, "A-b trunk")
		create(k, kernel.CreateHeadOptions{Head: "side", Parent: head})
		p := k.Process()
		gate := p.Gate(at, update("submit"))
		outcome := meanwhile(t, gate, func() (kernel.SubmitOutcome, error) {
			return p.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("beside")})
		}, func() {
			opts := k.Options()
			opts.Head = "side"
			k.Submitted(kernel.SubmitOptions{Head: "side", Lane: queue, Body: k.User("own work")})
			for range 3 {
				must(k.Step(k.Ctx, opts))(t)
			}
			before := must(k.LastSeq(k.Ctx))(t)
			if m, ok := must(k.FastForward(k.Ctx, kernel.FastForwardOptions{Head: "side"}))(t).(kernel.Merged); !ok || m.Tip != k.Tip() {
				t.Errorf("merge: got %#v", m)
			}
			moves := 0
			for _, e := range must(k.ReadEvents(k.Ctx, before, 0))(t) {
				if r, ok := e.Body.(store.RefEvent); ok && r.Name == ref.Head(head) {
					moves++
				}
			}
			same(t, "moves of the parent", 1, moves)
		})
		if _, ok := outcome.(kernel.Queued); !ok {
			t.Errorf("submit: got %#v", outcome)
		}
		same(t, "pending", []string{"beside"}, k.PendingTexts())
	})
}

// A head deleted under a parked run takes the open call with it: a reply that nobody would read is not accepted.
func TestDeleteHeadClosesItsOpenCalls(t *testing.T) {
	stores(t, func(t *testing.T, open storetest.Opener) {
		k := kerneltest.New(t, open)
		k.Script.Toolbox = asking()
		k.Send(kerneltest.Steer, "use ask")
		k.Settle()
		parked := k.Effects()
		if len(parked) != 1 {
			t.Fatalf("parked %v", parked)
		}
		tip := k.Tip()
		if o := must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head, Expect: new(object.OID)}))(t); o != (kernel.MovedSince{Tip: tip}) {
			t.Errorf("with another expectation: %#v", o)
		}
		same(t, "delete", kernel.DeleteHeadOutcome(kernel.HeadDeleted{}), must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head, Expect: &tip}))(t))
		signal := kernel.SignalOptions{RunID: parked[0].Intent.RunID, CallID: parked[0].Intent.CallID, WaitID: parked[0].OID, Signal: []byte(`{"picked":["a"]}`)}
		same(t, "reply", kernel.SignalOutcome(kernel.NotFound{}), must(k.Signal(k.Ctx, signal))(t))
	})
}
