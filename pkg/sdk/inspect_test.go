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
