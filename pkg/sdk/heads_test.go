package sdk_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func (k *kit) say(head, text string) {
	k.Helper()
	do[api.SendReceipt](k)(k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Head: head, Content: api.Text(text)}))
	for range 10 {
		if o := do[api.StepOutcome](k)(k.host.Step(k.ctx, api.HeadOptions{SessionID: k.id, Head: head})); o == (api.Idle{}) {
			return
		}
	}
	k.Fatal("the head does not become idle")
}

func (k *kit) heads() map[string]api.HeadInfo {
	k.Helper()
	out := make(map[string]api.HeadInfo)
	list := do[[]api.HeadInfo](k)(k.host.ListHeads(k.ctx, api.SessionOptions{SessionID: k.id}))
	if list[0].Head != "main" {
		k.Errorf("the first head is %s", list[0].Head)
	}
	for _, h := range list {
		out[h.Head] = h
	}
	return out
}

func (k *kit) move(to object.OID, expect api.Tip) api.MoveOutcome {
	k.Helper()
	return do[api.MoveOutcome](k)(k.host.MoveHead(k.ctx, api.MoveHeadOptions{SessionID: k.id, To: api.At(to), Expect: expect}))
}

func (k *kit) merge(head string) api.MergeOutcome {
	k.Helper()
	return do[api.MergeOutcome](k)(k.host.MergeHead(k.ctx, api.MergeHeadOptions{SessionID: k.id, Head: head}))
}

func (k *kit) cut(head, parent string, commit object.OID) api.CreateHeadOutcome {
	k.Helper()
	return do[api.CreateHeadOutcome](k)(k.host.CreateHead(k.ctx, api.CreateHeadOptions{SessionID: k.id, Head: head, Parent: parent, Commit: commit}))
}

func TestC213_GoingBackRestoresAMessageAndUndoIsAnotherMove(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		if h := k.heads(); len(h) != 1 || !h["main"].Tip.IsZero() {
			t.Errorf("heads %+v", h)
		}
		k.say("main", "one")
		first := k.snapshot().Tip
		k.say("main", "two")
		tip := k.snapshot().Tip
		var two object.OID
		for _, c := range of[api.CommitEvent](k.events(0)) {
			if said(c.Item.Commit.Body) == "two" {
				two = c.Item.OID
			}
		}
		k.writesNothing("refused moves", func() {
			if o := k.move(two, api.At(first)); o != (api.MovedSince{Tip: tip}) {
				t.Errorf("a move of what is elsewhere answers %#v", o)
			}
			if o := k.move(object.Hash([]byte("none")), api.Tip{}); o != (api.NotFound{}) {
				t.Errorf("a move to nothing answers %#v", o)
			}
			refs := do[[]api.RefInfo](k)(k.host.Refs(k.ctx, api.RefsOptions{SessionID: k.id, Prefix: "refs/runs/"}))
			if o := k.move(refs[0].OID, api.Tip{}); o != (api.NotFound{}) {
				t.Errorf("a move to a run answers %#v", o)
			}
			o := do[api.MoveOutcome](k)(k.host.MoveHead(k.ctx, api.MoveHeadOptions{SessionID: k.id, Head: "typo", To: api.At(tip)}))
			if o != (api.NotFound{}) {
				t.Errorf("a move of a head that is not listed answers %#v", o)
			}
		})
		o, ok := k.move(two, api.At(tip)).(api.Moved)
		if !ok || o.From != tip || o.Restored == nil || o.Restored.Commit != two || message.PlainText(o.Restored.Content) != "two" {
			t.Errorf("the move answers %#v", o)
		}
		if got := k.snapshot().Tip; got != first {
			t.Errorf("the tip is %s, want %s", got, first)
		}
		if o, ok := k.move(tip, api.Tip{}).(api.Moved); !ok || o.Restored != nil {
			t.Errorf("undo answers %#v", o)
		}
		if diff := cmp.Diff([]string{"user: one", "assistant: re: one", "user: two", "assistant: re: two"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// A head that moves between the look and the move is not moved over.
func TestC213_AMoveThatLosesItsRaceSaysWhereTheHeadIs(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.say("main", "one")
		one := k.snapshot().Tip
		k.say("main", "two")
		two := k.snapshot().Tip
		calls := 1
		for n := 1; n <= calls; n++ {
			host, f, _ := k.faulty()
			f.Hook(storetest.Before, func(c storetest.Call) {
				if c.N == n && c.Op != storetest.OpOpenSession {
					k.move(one, api.Tip{})
				}
			})
			o := do[api.MoveOutcome](k)(host.MoveHead(k.ctx, api.MoveHeadOptions{SessionID: k.id, To: api.At(object.OID{}), Expect: api.At(two)}))
			calls = max(calls, f.Count())
			want, tip := api.MoveOutcome(api.MovedSince{Tip: one}), one
			if n == 1 {
				want, tip = api.Moved{From: two}, object.OID{} // nothing came between
			}
			if got := k.snapshot().Tip; o != want || got != tip {
				t.Errorf("call %d: the move answers %#v, the head is at %s", n, o, got)
			}
			k.move(two, api.Tip{})
		}
		if calls < 4 {
			t.Errorf("a move made %d calls", calls)
		}
	})
}

func TestC113_AStackTurnsStaleAndCurrentAndThenMerges(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		if o := k.cut("side", "mian", object.OID{}); o != (api.UnknownParent{}) {
			t.Errorf("a mistyped parent answers %#v", o)
		}
		if o := k.cut("side", "main", object.OID{}); o != (api.HeadCreated{}) {
			t.Errorf("cutting from an unborn head answers %#v", o)
		}
		if o := k.cut("side", "main", object.OID{}); o != (api.Exists{}) {
			t.Errorf("cutting again answers %#v", o)
		}
		k.say("main", "one")
		if !k.heads()["side"].Stack.Stale {
			t.Error("the stack is not stale")
		}
		advance := func() api.AdvanceOutcome {
			return do[api.AdvanceOutcome](k)(k.host.AdvanceBase(k.ctx, api.AdvanceBaseOptions{SessionID: k.id, Head: "side"}))
		}
		if o := k.merge("side"); o != (api.Stale{}) {
			t.Errorf("merging a stale head answers %#v", o)
		}
		if err := deleteHead(k, "side"); err != nil {
			t.Fatal(err)
		}
		base := k.heads()["main"].Tip
		if o := k.cut("side", "main", object.OID{}); o != (api.HeadCreated{Tip: base}) {
			t.Errorf("cutting answers %#v", o)
		}
		if o := k.merge("side"); o != (api.Empty{}) {
			t.Errorf("merging an empty head answers %#v", o)
		}
		if o := advance(); o != (api.Unchanged{}) {
			t.Errorf("advancing a current base answers %#v", o)
		}
		k.say("side", "two") // side heads run on their own
		k.say("main", "three")
		if h := k.heads()["side"]; !h.Stack.Stale || h.Stack.Base != base || h.Stack.Parent != "main" {
			t.Errorf("side is %+v", h)
		}
		if _, err := k.host.MergeHead(k.ctx, api.MergeHeadOptions{SessionID: k.id, Head: "side", Expect: api.At(base)}); !errors.Is(err, api.ErrPreconditionFailed) {
			t.Errorf("merging what is elsewhere: %v", err)
		}
		k.move(base, api.Tip{})
		if k.heads()["side"].Stack.Stale {
			t.Error("the stack is stale although its parent is back")
		}
		tip := k.heads()["side"].Tip
		if o := k.merge("side"); o != (api.Merged{Tip: tip}) || k.heads()["main"].Tip != tip {
			t.Errorf("the merge answers %#v", o)
		}
		if diff := cmp.Diff([]string{"user: one", "assistant: re: one", "user: two", "assistant: re: two"}, k.said()); diff != "" {
			t.Error(diff)
		}
		if o := k.merge("main"); o != (api.NoStack{}) {
			t.Errorf("merging the root answers %#v", o)
		}
		if o := k.cut("plain", "", base); o != (api.HeadCreated{Tip: base}) || k.heads()["plain"].Stack != nil {
			t.Errorf("cutting from a commit answers %#v", o)
		}
		if o := k.cut("none", "", object.Hash([]byte("none"))); o != (api.UnknownParent{}) {
			t.Errorf("cutting from nothing answers %#v", o)
		}
	})
}

func deleteHead(k *kit, head string) error {
	o, err := k.host.DeleteHead(k.ctx, api.DeleteHeadOptions{SessionID: k.id, Head: head})
	if err == nil && o != (api.Deleted{}) {
		err = fmt.Errorf("deleting answers %#v", o)
	}
	return err
}

func TestC213_DeletingAHead(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		open := make(chan struct{})
		k := newKit(t, s, nil, scripted.Text("part"), scripted.Gate(open), scripted.Text(", whole"))
		k.cut("side", "main", object.OID{})
		k.writesNothing("refused deletions", func() {
			if _, err := k.host.DeleteHead(k.ctx, api.DeleteHeadOptions{SessionID: k.id, Head: "main"}); !errors.Is(err, api.ErrInvalid) {
				t.Errorf("deleting the default head: %v", err)
			}
			if o := do[api.DeleteHeadOutcome](k)(k.host.DeleteHead(k.ctx, api.DeleteHeadOptions{SessionID: k.id, Head: "none"})); o != (api.NotFound{}) {
				t.Errorf("deleting nothing answers %#v", o)
			}
			if _, err := k.host.DeleteHead(k.ctx, api.DeleteHeadOptions{SessionID: k.id, Head: "side", Expect: api.At(object.Hash([]byte("x")))}); !errors.Is(err, api.ErrPreconditionFailed) {
				t.Errorf("deleting what is elsewhere: %v", err)
			}
		})
		k.attach()
		do[api.SendReceipt](k)(k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Head: "side", Content: api.Text("hello")}))
		k.streamed("part")
		if o := do[api.DeleteHeadOutcome](k)(k.host.DeleteHead(k.ctx, api.DeleteHeadOptions{SessionID: k.id, Head: "side"})); o != (api.HeadBusy{}) {
			t.Errorf("deleting under a runner answers %#v", o)
		}
		close(open)
		if o := do[api.WaitOutcome](k)(k.host.WaitRun(k.ctx, api.HeadOptions{SessionID: k.id, Head: "side"})); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		if err := deleteHead(k, "side"); err != nil {
			t.Error(err)
		}
		if h := k.heads(); len(h) != 1 {
			t.Errorf("heads %+v", h)
		}
		if _, err := k.host.CurrentRun(k.ctx, api.HeadOptions{SessionID: k.id, Head: "side"}); !errors.Is(err, api.ErrHeadNotFound) {
			t.Errorf("the run of a deleted head: %v", err)
		}
	})
}
