package sdk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// drainAll lands a whole lane at once.
func drainAll(o *sdk.Options) {
	o.Landing = sdk.DefaultLanding()
	o.Landing.Drain = kernel.DrainAll
}

// brief is an event of heads and lanes in one line: what it is about, and whether more of its seq follow.
func brief(e api.Event) string {
	more := ""
	if e.More {
		more = " +"
	}
	switch b := e.Body.(type) {
	case api.HeadMovedEvent:
		return "moved " + b.Head + " " + b.Reason + more
	case api.CommitEvent:
		return "commit " + object.BodyKind(b.Item.Commit.Body) + " " + said(b.Item.Commit.Body) + more
	case api.QueuedEvent:
		return "queued " + b.Item.Lane + " " + message.PlainText(b.Item.Content) + more
	case api.LandedEvent:
		return "landed" + more
	case api.QueueCancelledEvent:
		return "cancelled" + more
	case api.RunEvent:
		return "run " + object.PhaseName(b.Run.Phase) + more
	case api.EffectEvent:
		return "effect " + string(b.State) + more
	case api.StackEvent:
		return "stack " + b.Head + " on " + b.Parent + more
	case api.FactEvent:
		return "fact " + b.Key + " " + string(b.Value) + more
	case api.DeletedEvent:
		return "deleted" + more
	case api.SyncedEvent:
		return "synced" + more
	case api.TextDeltaEvent:
		return "text " + b.Delta + more
	case api.ReasoningDeltaEvent:
		return "reasoning " + b.Delta + more
	case api.ToolProgressEvent:
		return "progress " + b.Progress.Text + more
	case api.DiagnosticEvent:
		return "diagnostic " + b.Message + more
	case api.UnknownEvent:
		return "unknown " + b.Kind + more
	}
	panic("unreachable")
}

func said(b object.Body) string {
	m, ok := b.(object.MessageBody)
	if !ok {
		return ""
	}
	switch m := m.Message.(type) {
	case message.User:
		return message.PlainText(m.Content)
	case message.Assistant:
		text := ""
		for _, p := range m.Content {
			if t, ok := p.(message.Text); ok {
				text += t.Text
			}
		}
		return text
	case message.ToolResult:
		return message.PlainText(m.Content)
	}
	panic("unreachable")
}

// briefs returns events in lines, without those of kinds that the test is not about.
func briefs(events []api.Event, about func(api.EventBody) bool) []string {
	var out []string
	for _, e := range events {
		if about == nil || about(e.Body) {
			out = append(out, brief(e))
		}
	}
	return out
}

// is reports whether an event is of a kind.
func is[T api.EventBody](b api.EventBody) bool { _, ok := b.(T); return ok }

func aboutHeads(b api.EventBody) bool { return is[api.HeadMovedEvent](b) || is[api.CommitEvent](b) }

func aboutLanes(b api.EventBody) bool {
	return is[api.QueuedEvent](b) || is[api.LandedEvent](b) || is[api.QueueCancelledEvent](b)
}

func TestC179_AHeadMoveTellsTheCommitsThatItAdds(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, drainAll,
			scripted.Text("one"), scripted.End(message.StopEnd), scripted.Text("two"), scripted.End(message.StopEnd))
		k.send("a", "", "")
		k.send("b", "", "")
		k.settle()
		first := k.snapshot().Tip
		k.send("c", "", "")
		k.settle()
		last := k.snapshot().Tip
		for _, to := range []object.OID{first, last, {}, last} {
			if o, ok := do[api.MoveOutcome](k)(k.host.MoveHead(k.ctx, api.MoveHeadOptions{SessionID: k.id, To: api.At(to)})).(api.Moved); !ok {
				t.Fatalf("moving to %s: %#v", to, o)
			}
		}
		want := []string{
			"moved main land +", "commit message a +", "commit message b", // a birth
			"moved main respond +", "commit message one",
			"moved main land +", "commit message c",
			"moved main respond +", "commit message two",
			"moved main move",                                               // backwards
			"moved main move +", "commit message c +", "commit message two", // forwards again
			"moved main move", // unborn
			"moved main move +", "commit message a +", "commit message b +", "commit message one +", "commit message c +", "commit message two",
		}
		events := k.events(0)
		if diff := cmp.Diff(want, briefs(events, aboutHeads)); diff != "" {
			t.Error(diff)
		}
		for i, e := range events[:len(events)-1] {
			if e.More != (events[i+1].Seq == e.Seq) {
				t.Errorf("event %d of seq %d: more is %v and the next has seq %d", i, e.Seq, e.More, events[i+1].Seq)
			}
		}
		var parent object.OID
		for _, c := range of[api.CommitEvent](events)[:3] {
			if c.Item.Commit.Parent != parent {
				t.Errorf("the commits are not oldest first: %v", c)
			}
			parent = c.Item.OID
		}
	})
}

func TestC180_LaneEndsTellMessagesAndLandings(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, drainAll, scripted.Text("all"))
		a := change(k.send("a", sdk.QueueLane, ""))
		config := change(do[api.ConfigureOutcome](k)(k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, Lane: sdk.QueueLane, ThinkingLevel: "low"})))
		b := change(k.send("b", sdk.QueueLane, ""))
		c := change(k.send("c", sdk.QueueLane, ""))
		if o := do[api.CancelOutcome](k)(k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: b})); o != (api.Cancelled{}) {
			t.Fatalf("cancel: %#v", o)
		}
		k.settle()
		events := k.events(0)
		want := []string{
			"queued queue a", "queued queue b", "queued queue c", "cancelled",
			"landed +", "landed +", "landed +", "landed", // the configuration and the withdrawn one too
		}
		if diff := cmp.Diff(want, briefs(events, aboutLanes)); diff != "" {
			t.Error(diff)
		}
		var landed []object.OID
		for _, e := range of[api.LandedEvent](events) {
			landed = append(landed, e.Change)
		}
		if diff := cmp.Diff([]object.OID{a, config, b, c}, landed); diff != "" {
			t.Errorf("landed: %s", diff)
		}
		if got := of[api.QueueCancelledEvent](events); len(got) != 1 || got[0].Change != b {
			t.Errorf("cancelled %v, want %s", got, b)
		}
	})
}

// foldPending is what a client that only watches shows as pending.
func foldPending(events []api.Event) map[object.OID]string {
	pending := make(map[object.OID]string)
	for _, e := range events {
		switch b := e.Body.(type) {
		case api.QueuedEvent:
			pending[b.Item.Change] = b.Item.Lane + " " + message.PlainText(b.Item.Content)
		case api.LandedEvent:
			delete(pending, b.Change)
		case api.QueueCancelledEvent:
			delete(pending, b.Change)
		case api.CommitEvent, api.HeadMovedEvent, api.RunEvent, api.EffectEvent, api.StackEvent, api.FactEvent, api.DeletedEvent,
			api.SyncedEvent, api.TextDeltaEvent, api.ReasoningDeltaEvent, api.ToolProgressEvent, api.DiagnosticEvent, api.UnknownEvent:
		}
	}
	return pending
}

func TestC180_RedeliveryIsToldSoThatAWatcherShowsWhatIsPending(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("1"), scripted.End(message.StopEnd), scripted.Text("2"), scripted.End(message.StopEnd),
			scripted.Text("3"), scripted.End(message.StopEnd), scripted.Text("4"), scripted.End(message.StopEnd))
		same := func(when string) {
			t.Helper()
			want := make(map[object.OID]string)
			for _, p := range do[[]api.PendingItem](k)(k.host.Pending(k.ctx, k.head())) {
				want[p.Change] = p.Lane + " " + message.PlainText(p.Content)
			}
			if diff := cmp.Diff(want, foldPending(k.events(0))); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}
		redeliver := func(o api.RedeliverOptions) object.OID {
			t.Helper()
			o.SessionID = k.id
			got := do[api.RedeliverOutcome](k)(k.host.Redeliver(k.ctx, o))
			if _, ok := got.(api.Redelivered); !ok {
				t.Fatalf("redeliver: %#v", got)
			}
			return change(got)
		}
		a, b := change(k.send("a", sdk.QueueLane, "")), change(k.send("b", sdk.QueueLane, ""))
		c, d := change(k.send("c", sdk.QueueLane, "")), change(k.send("d", sdk.QueueLane, ""))
		same("four in a row")
		redeliver(api.RedeliverOptions{Change: c, Before: b})
		same("reordered")
		redeliver(api.RedeliverOptions{Change: b, Content: api.Text("b, edited")})
		same("edited")
		redeliver(api.RedeliverOptions{Change: d, Lane: sdk.SteerLane})
		same("moved to the other lane")
		redeliver(api.RedeliverOptions{Change: a, End: true})
		same("moved to the end")
		k.step()
		same("landed the steer")
		if o := do[api.CancelOutcome](k)(k.host.Cancel(k.ctx, api.CancelOptions{SessionID: k.id, Change: a})); o != (api.Cancelled{}) {
			t.Errorf("cancelling by the first oid: %#v", o)
		}
		same("cancelled")
		k.settle()
		same("landed all")
		want := []string{"user: d", "assistant: 1", "user: c", "assistant: 2", "user: b, edited", "assistant: 3"}
		if diff := cmp.Diff(want, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC181_RunsEffectsStacksFactsAndDeletionTellTheirObjects(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Call("q", "ask", `{"title":"Which?","choices":[{"id":"a","label":"A"}],"timeoutSeconds":3600}`),
			scripted.Call("z", "ask", `{"title":"Which?","choices":[{"id":"a","label":"A"}],"timeoutSeconds":3600}`), scripted.End(message.StopToolUse),
			scripted.Text("fine"), scripted.End(message.StopEnd))
		k.send("hello", "", "key")
		k.settle()
		waits := map[object.OID]bool{}
		for _, parked := range k.snapshot().Parked { // the first to be answered has its result before the batch ends
			waits[parked.WaitID] = true
			do[api.ReplyOutcome](k)(k.host.Reply(k.ctx, api.ReplyOptions{SessionID: k.id, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["a"]}`)}))
			k.settle()
		}
		do[api.CreateHeadOutcome](k)(k.host.CreateHead(k.ctx, api.CreateHeadOptions{SessionID: k.id, Head: "side", Parent: "main"}))
		for _, name := range []string{"A name", ""} {
			if err := k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: k.id, Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		events := k.events(0)
		got := briefs(events, func(b api.EventBody) bool {
			return is[api.RunEvent](b) || is[api.EffectEvent](b) || is[api.StackEvent](b) || is[api.FactEvent](b)
		})
		want := []string{
			"run respond", "run tools", "effect intent", "effect intent", "effect waiting", "effect waiting", "run waiting",
			"effect signal", "effect result", "effect signal", "run respond", "run done", "stack side on main", `fact name "A name"`, "fact name ",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, e := range of[api.EffectEvent](events) {
			waiting := e.State == api.EffectWaiting
			if e.Tool != "ask" || len(e.Args) == 0 || e.CallID != "q" && e.CallID != "z" || waits[e.WaitID] != waiting || (e.Selection != nil) != waiting || (e.Until != 0) != waiting {
				t.Errorf("effect %+v", e)
			}
		}
		if stack := of[api.StackEvent](events); len(stack) == 1 && stack[0].Base != k.snapshot().Tip {
			t.Errorf("stack %+v", stack[0])
		}
		for _, r := range of[api.RunEvent](events) {
			if r.Head != "main" || r.Run.RunID == "" || r.Run.Config.Model == nil {
				t.Errorf("run %+v", r)
			}
		}
		// A key's receipt and the removal of refs are silent: every seq is one of the events above or of the head and the lanes.
		seqs := make(map[int64]bool)
		for _, e := range events {
			seqs[e.Seq] = true
		}
		for _, e := range do[[]store.Event](k)(k.raw().ReadEvents(k.ctx, 0, 1000)) {
			b, ok := e.Body.(store.RefEvent)
			if !ok {
				continue
			}
			parsed, err := ref.Parse(b.Name)
			if err != nil {
				t.Fatal(err)
			}
			_, key := parsed.(ref.KeyRef)
			_, effect := parsed.(ref.EffectRef)
			silent := key || effect && b.To.IsZero()
			if seqs[int64(e.Seq)] == silent {
				t.Errorf("%s to %s is told: %v", b.Name, b.To, !silent)
			}
		}
	})
}

func TestC182_DeltasProgressAndNoticesPassWithTheirKeys(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		bodies := []store.EventBody{
			store.DeltaEvent{RunID: "r", Attempt: 2, Index: 0, Part: store.ThinkingPart, Delta: "hm"},
			store.DeltaEvent{RunID: "r", Attempt: 2, Index: 1, Part: store.TextPart, Delta: "so"},
			store.ProgressEvent{RunID: "r", CallID: "c", Progress: store.Progress{Text: "half", Title: "T", Details: []byte(`{"n":1}`)}},
			store.NoticeEvent{Level: store.Warn, Owner: "o", Message: "careful"},
		}
		if _, err := k.raw().AppendEvents(k.ctx, bodies, nil); err != nil {
			t.Fatal(err)
		}
		want := []api.Event{
			{Seq: 1, Body: api.ReasoningDeltaEvent{RunID: "r", Attempt: 2, Index: 0, Delta: "hm"}},
			{Seq: 2, Body: api.TextDeltaEvent{RunID: "r", Attempt: 2, Index: 1, Delta: "so"}},
			{Seq: 3, Body: api.ToolProgressEvent{RunID: "r", CallID: "c", Progress: api.Progress{Text: "half", Title: "T", Details: []byte(`{"n":1}`)}}},
			{Seq: 4, Body: api.DiagnosticEvent{Level: api.LevelWarn, Owner: "o", Message: "careful"}},
		}
		if diff := cmp.Diff(want, k.events(0)); diff != "" {
			t.Error(diff)
		}
	})
}

// A delta precedes the commit that has its text, and its key is the provisional tuple of the run.
func TestC182_DeltasComeBeforeTheCommitThatHasTheirText(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Thinking("hm"), scripted.Text("one "), scripted.Text("two"), scripted.End(message.StopEnd))
		k.send("hello", "", "")
		k.settle()
		text, committed := "", ""
		for _, e := range k.events(0) {
			if b, ok := e.Body.(api.TextDeltaEvent); ok {
				if b.Attempt != 1 || b.RunID == "" || committed != "" {
					t.Errorf("delta %+v after %q", b, committed)
				}
				text += b.Delta
			}
			if b, ok := e.Body.(api.CommitEvent); ok {
				if got := said(b.Item.Commit.Body); got != "hello" {
					committed = got
				}
			}
		}
		if text != "one two" || committed != text {
			t.Errorf("streamed %q, committed %q", text, committed)
		}
	})
}
