package sdk_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// question is a call of the tool ask with one choice, "a".
func question(id, title string) scripted.Step {
	return scripted.Call(id, "ask", fmt.Sprintf(`{"title":%q,"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}],"timeoutSeconds":3600}`, title))
}

func TestC185_ASnapshotEqualsTheSeparateReadsAndWritesNothing(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Text("one"), scripted.Usage(message.Usage{Input: 3, Output: 2, TotalTokens: 5}), scripted.End(message.StopEnd),
			question("q", "Which?"), scripted.End(message.StopToolUse))
		same := func(when string) {
			t.Helper()
			k.writesNothing("a snapshot", func() {
				snap := k.snapshot()
				read := api.Snapshot{
					Seq: int64(k.mark().seq), Head: "main", Tip: do[[]api.HeadInfo](k)(k.host.ListHeads(k.ctx, api.SessionOptions{SessionID: k.id}))[0].Tip,
					Session:    do[api.SessionInfo](k)(k.host.GetSession(k.ctx, api.SessionOptions{SessionID: k.id})),
					Transcript: do[api.TranscriptPage](k)(k.host.ListMessages(k.ctx, api.TranscriptOptions{SessionID: k.id})).Items,
					Pending:    do[[]api.PendingItem](k)(k.host.Pending(k.ctx, k.head())),
					Run:        do[*api.RunInfo](k)(k.host.CurrentRun(k.ctx, k.head())),
					Context:    do[api.ContextStatus](k)(k.host.Context(k.ctx, k.head())),
					Parked:     snap.Parked,
				}
				usage := do[api.UsageSummary](k)(k.host.Usage(k.ctx, k.head()))
				read.Usage, read.Config = &usage, read.Session.Config
				if diff := cmp.Diff(read, snap); diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
			})
		}
		same("empty")
		k.send("first", "", "")
		same("pending")
		k.settle()
		same("answered")
		k.send("second", sdk.QueueLane, "")
		k.send("third", sdk.QueueLane, "")
		k.settle()
		same("parked")
		if parked := k.snapshot().Parked; len(parked) != 1 || parked[0].CallID != "q" {
			t.Errorf("parked %+v", parked)
		}
		for name, test := range map[string]struct {
			opts api.HeadOptions
			want error
		}{
			"a missing session": {api.HeadOptions{SessionID: "ses_none"}, api.ErrSessionNotFound},
			"a missing head":    {api.HeadOptions{SessionID: k.id, Head: "none"}, api.ErrHeadNotFound},
			"no session":        {api.HeadOptions{}, api.ErrInvalid},
		} {
			if _, err := k.host.Snapshot(k.ctx, test.opts); !errors.Is(err, test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A fact that is set while a snapshot is read is in the snapshot or in the stream after it.
func TestC185_NothingFallsBetweenASnapshotAndItsCursor(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
			k := newKit(t, s, nil)
			calls := 1
			for n := 1; n <= calls; n++ {
				host, f, _ := k.faulty()
				name := fmt.Sprintf("name %s %d", at, n)
				f.Hook(at, func(c storetest.Call) {
					if c.N == n {
						if err := k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: k.id, Name: name}); err != nil {
							t.Error(err)
						}
						k.send(name, "", "")
					}
				})
				snap := do[api.Snapshot](k)(host.Snapshot(k.ctx, k.head()))
				calls = f.Count()
				shown, pending := snap.Session.Name, len(snap.Pending)
				for _, e := range k.events(snap.Seq) {
					if fact, ok := e.Body.(api.FactEvent); ok {
						shown = strings.Trim(string(fact.Value), `"`)
					}
					if q, ok := e.Body.(api.QueuedEvent); ok && !pends(snap, q.Item.Change) {
						pending++
					}
				}
				if shown != name || pending != n {
					t.Errorf("%s call %d of %d: a client shows the name %q and %d pending", at, n, calls, shown, pending)
				}
			}
			if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func pends(snap api.Snapshot, oid object.OID) bool {
	for _, p := range snap.Pending {
		if p.Change == oid {
			return true
		}
	}
	return false
}

func TestC186_ASnapshotOfADamagedBranchNamesTheMissingCommit(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("one"), scripted.End(message.StopEnd), scripted.Text("two"), scripted.End(message.StopEnd))
		k.broken = true
		k.send("a", "", "")
		k.settle()
		lost := k.snapshot().Tip
		k.send("b", "", "")
		k.settle()
		if _, err := k.raw().DeleteObjects(k.ctx, []object.OID{lost}, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if _, err := k.host.Snapshot(k.ctx, k.head()); !errors.Is(err, object.ErrCorrupt) || !strings.Contains(err.Error(), lost.String()) {
			t.Errorf("the snapshot says %v, and %s is missing", err, lost)
		}
		report := do[api.CheckReport](k)(k.host.Fsck(k.ctx, api.SessionOptions{SessionID: k.id}))
		if len(report.Problems) == 0 {
			t.Error("fsck finds nothing")
		}
		// It stays on the list and can be deleted.
		page := do[api.SessionPage](k)(k.host.ListSessions(k.ctx, api.ListSessionsOptions{}))
		if len(page.Items) != 1 || page.Items[0].SessionID != k.id || page.Items[0].CreatedAt == 0 {
			t.Errorf("the list is %+v", page)
		}
		if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
			t.Error(err)
		}
	})
}

// Field report B46: a client that has nothing but a snapshot shows the question and answers it.
func TestB46_ASnapshotAloneCarriesTheQuestion(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, question("q", "Which?"), scripted.End(message.StopToolUse), scripted.Text("thanks"))
		k.send("ask me", "", "")
		k.settle()
		client := k.newHost(nil) // it has seen no event
		parked := do[api.Snapshot](k)(client.Snapshot(k.ctx, k.head())).Parked
		if len(parked) != 1 {
			t.Fatalf("parked %+v", parked)
		}
		p := parked[0]
		if p.Selection == nil || p.Selection.Title != "Which?" || len(p.Selection.Choices) != 2 || p.Selection.Choices[0].Label != "A" || p.Until == 0 {
			t.Errorf("parked %+v", p)
		}
		got := do[api.ReplyOutcome](k)(client.Reply(k.ctx, api.ReplyOptions{
			SessionID: k.id, RunID: p.RunID, CallID: p.CallID, WaitID: p.WaitID, Reply: []byte(`{"picked":["a"]}`),
		}))
		if got != (api.Signalled{}) {
			t.Errorf("the reply answers %#v", got)
		}
		k.settle()
		if diff := cmp.Diff([]string{"user: ask me", "tool: ask", "assistant: thanks"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// A client that starts at a snapshot and folds what follows ends where a client that saw everything does.
func TestC208_ASnapshotAndTheWatchFromItAreWhole(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("one"), scripted.End(message.StopEnd), scripted.Text("two"), scripted.End(message.StopEnd))
		k.send("a", "", "")
		k.settle()
		snap := k.snapshot()
		k.send("b", "", "")
		k.settle()
		want := []string{
			"queued steer b", "moved main land +", "commit message b", "landed", "run respond",
			"text two", "moved main respond +", "commit message two", "run done",
		}
		if diff := cmp.Diff(want, briefs(k.events(snap.Seq), nil)); diff != "" {
			t.Error(diff)
		}
		// Conformance 228: two cursors fold to the same commits.
		fold := func(snap api.Snapshot) map[object.OID]bool {
			commits := make(map[object.OID]bool)
			for _, it := range snap.Transcript {
				if turn, ok := it.(api.Turn); ok {
					commits[turn.ID] = true
				}
			}
			for _, c := range of[api.CommitEvent](k.events(snap.Seq)) {
				commits[c.Item.OID] = true
			}
			return commits
		}
		late := fold(k.snapshot())
		early := fold(snap)
		for oid := range late {
			if !early[oid] {
				t.Errorf("the client that began early lacks %s", oid)
			}
		}
	})
}
