package sdk_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
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

func TestC220_TheTreeShowsEveryBranchAndTheActivePath(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.say("main", "one")
		one := k.snapshot().Tip
		k.say("main", "two")
		k.move(one, api.Tip{})
		k.say("main", "three")
		k.cut("side", "", one)
		lines := func(head string) []string {
			var out []string
			for _, n := range do[api.Tree](k)(k.host.Tree(k.ctx, api.HeadOptions{SessionID: k.id, Head: head})).Nodes {
				out = append(out, fmt.Sprint(n.Role, " ", n.Text, " ", n.Heads, " ", n.Active))
			}
			return out
		}
		want := []string{
			"user one [] true", "assistant re: one [side] true",
			"user two [] false", "assistant re: two [] false",
			"user three [] true", "assistant re: three [main] true",
		}
		got := lines("")
		slices.Sort(want)
		slices.Sort(got) // siblings of one millisecond come in the order of their ids
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if got := lines("side"); got[0] != "user one [] true" || got[1] != "assistant re: one [side] true" || got[2][len(got[2])-5:] != "false" {
			t.Errorf("of side: %q", got)
		}
	})
}

func TestC217_RunChangesAreWhatARunWrote(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Text("one"), scripted.End(message.StopEnd),
			scripted.Call("c", "clock", `{}`), scripted.End(message.StopToolUse), scripted.Text("two"), scripted.End(message.StopEnd))
		k.send("a", "", "")
		k.settle()
		first := k.snapshot().Run.RunID
		k.send("b", "", "")
		k.settle()
		second := k.snapshot().Run.RunID
		for run, want := range map[string][]string{first: {"user", "assistant"}, second: {"user", "assistant", "toolResult", "assistant"}} {
			changes := do[api.Changes](k)(k.host.RunChanges(k.ctx, api.RunChangesOptions{SessionID: k.id, RunID: run}))
			var got []string
			for _, c := range changes.Commits {
				body, _ := c.Commit.Body.(object.MessageBody)
				switch body.Message.(type) {
				case message.User:
					got = append(got, "user")
				case message.Assistant:
					got = append(got, "assistant")
				case message.ToolResult:
					got = append(got, "toolResult")
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || changes.RunID != run {
				t.Errorf("run %s: %s", run, diff)
			}
		}
		if _, err := k.host.RunChanges(k.ctx, api.RunChangesOptions{SessionID: k.id, RunID: "run_none"}); !errors.Is(err, api.ErrRunNotFound) {
			t.Errorf("an unknown run: %v", err)
		}
	})
}

func TestC220_TheReflogIsReadNewestFirst(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		for i := range 40 {
			if err := k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: k.id, Name: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
			k.notices(20) // more than a page in all
		}
		k.send("hello", "", "")
		log := func(o api.ReflogOptions) []api.ReflogEntry {
			t.Helper()
			o.SessionID = k.id
			return do[[]api.ReflogEntry](k)(k.host.Reflog(k.ctx, o))
		}
		all := log(api.ReflogOptions{Limit: api.MaxPage})
		if len(all) != 41 || all[0].Name != "refs/queues/main/steer/tip" || !slices.IsSortedFunc(all, func(a, b api.ReflogEntry) int { return int(b.Seq - a.Seq) }) {
			t.Errorf("%d entries, the first is %+v", len(all), all[0])
		}
		names := log(api.ReflogOptions{Ref: "refs/facts/name", Limit: 3})
		if diff := cmp.Diff(all[1:4], names); diff != "" {
			t.Error(diff)
		}
		if names[0].From != names[1].To || names[0].Reason != "fact" || names[0].At == 0 {
			t.Errorf("entries %+v", names)
		}
		o := do[api.StoredObject](k)(k.host.Object(k.ctx, api.ObjectOptions{SessionID: k.id, OID: names[0].To}))
		if object.Hash(o.Body) != names[0].To || o.Kind != "blob" {
			t.Errorf("object %+v", o)
		}
		if _, err := k.host.Object(k.ctx, api.ObjectOptions{SessionID: k.id, OID: object.Hash([]byte("none"))}); !errors.Is(err, api.ErrObjectNotFound) {
			t.Errorf("no object: %v", err)
		}
		if got := log(api.ReflogOptions{}); len(got) != 41 {
			t.Errorf("%d entries without a limit", len(got))
		}
		k.trim(names[0].Seq - 1)
		if got := log(api.ReflogOptions{}); len(got) != 2 {
			t.Errorf("after a trim: %+v", got)
		}
	})
}

// What a trim leaves unprotected is collected; what any head, lane or key needs is not.
func TestC232_TrimAndCollect(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.say("main", "kept")
		kept := k.snapshot().Tip
		k.say("main", "abandoned")
		lost := k.snapshot().Tip
		k.move(kept, api.Tip{})
		k.send("pending", "", "key")
		collect := func(grace int64) api.CollectReport {
			t.Helper()
			return do[api.CollectReport](k)(k.host.Collect(k.ctx, api.CollectOptions{SessionID: k.id, GraceMS: grace}))
		}
		there := func(oid object.OID) bool {
			_, err := k.host.Object(k.ctx, api.ObjectOptions{SessionID: k.id, OID: oid})
			if err != nil && !errors.Is(err, api.ErrObjectNotFound) {
				t.Error(err)
			}
			return err == nil
		}
		if collect(0); !there(lost) {
			t.Error("what can be moved back to was collected")
		}
		k.trim(math.MaxInt64)
		for _, grace := range []int64{math.MaxInt64, math.MaxInt64/1_000_000 + 1, 18_446_744_073_710, 3_600_000} { // some wrap as nanoseconds
			if got := collect(grace); got.Swept != 0 || !there(lost) {
				t.Errorf("within a grace of %d ms: %+v", grace, got)
			}
		}
		if _, err := k.host.Collect(k.ctx, api.CollectOptions{SessionID: k.id, GraceMS: -1}); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("a negative grace: %v", err)
		}
		sweepAll(k, func() bool { collect(0); return !there(lost) })
		if !there(kept) {
			t.Error("the tip was collected")
		}
		k.settle()
		if diff := cmp.Diff([]string{"user: kept", "assistant: re: kept", "user: pending", "assistant: re: pending"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// sweepAll collects until done: an object of this very millisecond is not old enough yet.
func sweepAll(k *kit, done func() bool) {
	k.Helper()
	for range 1000 {
		if done() {
			return
		}
	}
	k.Error("nothing is collected")
}
