package sdk_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

func (k *kit) create(opts api.CreateSessionOptions) (info api.SessionInfo, created bool) {
	k.Helper()
	switch o := do[api.CreateSessionOutcome](k)(k.host.CreateSession(k.ctx, opts)).(type) {
	case api.SessionCreated:
		return o.Session, true
	case api.SessionExists:
		return o.Session, false
	}
	panic("unreachable")
}

// The sessions of an actor are listed by its user id, and come by pages like all of them.
func TestListSessions_ofAnOwner(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		for i := range 6 {
			k.create(api.CreateSessionOptions{
				SessionID: api.SessionID(fmt.Sprint("ses_", i)), Actor: &object.Actor{ClientID: "c", UserID: []string{"ann", "bob"}[i%2]},
			})
		}
		for owner, want := range map[string][]string{"ann": {"ses_4", "ses_2", "ses_0"}, "bob": {"ses_5", "ses_3", "ses_1"}, "carol": nil} {
			var got []string
			for cursor := ""; ; {
				p := do[api.SessionPage](k)(k.host.ListSessions(k.ctx, api.ListSessionsOptions{Owner: owner, Cursor: cursor, Limit: 2}))
				for _, it := range p.Items {
					got = append(got, string(it.SessionID))
				}
				if cursor = p.Next; cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the sessions of %s: %s", owner, diff)
			}
		}
	})
}

func TestC183_TheSessionListIsPagedNewestFirst(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		want := []string{string(k.id)}
		for i := range 6 {
			info, _ := k.create(api.CreateSessionOptions{SessionID: api.SessionID(fmt.Sprint("ses_", i)), Name: fmt.Sprint("Session ", i)})
			if info.Name != fmt.Sprint("Session ", i) || info.CreatedAt == 0 || info.LastActivityAt != info.CreatedAt || len(info.Heads) != 1 || info.Heads[0] != "main" {
				t.Errorf("created %+v", info)
			}
			want = append(want, string(info.SessionID))
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 2, 3, 7, 8} {
			var got []string
			cursor := ""
			for page := 1; ; page++ {
				p := do[api.SessionPage](k)(k.host.ListSessions(k.ctx, api.ListSessionsOptions{Cursor: cursor, Limit: limit}))
				if len(p.Items) > limit || p.HasMore != (p.Next != "") || p.HasMore && len(p.Items) != limit {
					t.Errorf("limit %d, page %d: %d items, more %v, next %q", limit, page, len(p.Items), p.HasMore, p.Next)
				}
				for _, it := range p.Items {
					got = append(got, string(it.SessionID))
				}
				if cursor = p.Next; cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limit %d: %s", limit, diff)
			}
		}
		for name, opts := range map[string]api.ListSessionsOptions{
			"an unknown cursor": {Cursor: "ses_none"}, "no cursor at all": {Cursor: "../x"}, "a negative limit": {Limit: -1}, "too long a page": {Limit: api.MaxPage + 1},
		} {
			if _, err := k.host.ListSessions(k.ctx, opts); !errors.Is(err, api.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestC183_ARowFoldsFactsPreviewAndConfiguration(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("the\nanswer"), scripted.End(message.StopEnd))
		row := func() api.SessionInfo {
			return do[api.SessionInfo](k)(k.host.GetSession(k.ctx, api.SessionOptions{SessionID: k.id}))
		}
		set := func(f func() error) {
			t.Helper()
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
		actor := &object.Actor{UserID: "ada", Device: "phone"}
		set(func() error {
			return k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: k.id, Name: "Änderung", Actor: actor})
		})
		set(func() error { return k.host.SetPinned(k.ctx, api.FlagSessionOptions{SessionID: k.id, On: true}) })
		set(func() error { return k.host.SetArchived(k.ctx, api.FlagSessionOptions{SessionID: k.id, On: true}) })
		if r := row(); r.Name != "Änderung" || !r.Pinned || !r.Archived || r.Preview != "" {
			t.Errorf("row %+v", r)
		}
		if log := do[[]api.ReflogEntry](k)(k.host.Reflog(k.ctx, api.ReflogOptions{SessionID: k.id, Ref: "refs/facts/name"})); len(log) != 1 || log[0].Actor == nil || *log[0].Actor != *actor {
			t.Errorf("reflog %+v", log)
		}
		k.writesNothing("setting what is set", func() {
			set(func() error {
				return k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: k.id, Name: "Änderung"})
			})
			set(func() error { return k.host.SetPinned(k.ctx, api.FlagSessionOptions{SessionID: k.id, On: true}) })
		})
		set(func() error { return k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: k.id}) })
		set(func() error { return k.host.SetPinned(k.ctx, api.FlagSessionOptions{SessionID: k.id}) })
		set(func() error { return k.host.SetArchived(k.ctx, api.FlagSessionOptions{SessionID: k.id}) })
		before := row()
		if before.Name != "" || before.Pinned || before.Archived {
			t.Errorf("row %+v", before)
		}
		k.send("hello", "", "")
		k.settle()
		if r := row(); r.Preview != "the answer" || r.LastActivityAt < before.CreatedAt || r.CreatedAt != before.CreatedAt {
			t.Errorf("row %+v", r)
		}
		missing := api.SessionID("ses_none")
		for name, err := range map[string]error{
			"rename":  k.host.RenameSession(k.ctx, api.RenameSessionOptions{SessionID: missing, Name: "x"}),
			"pin":     k.host.SetPinned(k.ctx, api.FlagSessionOptions{SessionID: missing, On: true}),
			"archive": k.host.SetArchived(k.ctx, api.FlagSessionOptions{SessionID: missing, On: true}),
		} {
			if !errors.Is(err, api.ErrSessionNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: missing}); err != nil {
			t.Errorf("deleting nothing: %v", err)
		}
	})
}

// Conformance 184: what a live run answers with outlives a choice for the next one, and no reader's defaults appear.
func TestC184_AChoiceDuringARunIsForTheNextOne(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		a := llm.ModelInfo{Model: llm.Model{Provider: "p", ID: "a"}, API: "api"}
		b := llm.ModelInfo{Model: llm.Model{Provider: "p", ID: "b"}, API: "api", ContextWindow: 1000}
		player := scripted.Play(question("q", "Which?"), scripted.End(message.StopToolUse), scripted.Text("by a"), scripted.End(message.StopEnd)).As(a, b)
		two := func(model llm.Model) func(*sdk.Options) {
			return func(o *sdk.Options) { o.Models, o.DefaultModel = llm.NewCatalog(player), model }
		}
		k := newKit(t, s, two(a.Model))
		observer := k.newHost(two(b.Model)) // whose default is another
		config := func() object.Config {
			t.Helper()
			info := do[api.Snapshot](k)(observer.Snapshot(k.ctx, k.head()))
			if diff := cmp.Diff(info.Config, info.Session.Config); diff != "" {
				t.Errorf("the row and the snapshot differ: %s", diff)
			}
			return info.Config
		}
		if c := config(); c.Model != nil {
			t.Errorf("before anything was said the model is %v", c.Model)
		}
		k.send("hello", "", "")
		k.settle()
		do[api.ConfigureOutcome](k)(k.host.Configure(k.ctx, api.ConfigureOptions{SessionID: k.id, Lane: sdk.QueueLane, Model: &object.Model{Provider: "p", ID: "b"}}))
		if c := config(); c.Model == nil || c.Model.ID != "a" {
			t.Errorf("the live run shows %v", c.Model)
		}
		k.reply(k.host, k.snapshot().Parked[0], "a")
		k.settle()
		if c := config(); c.Model == nil || c.Model.ID != "b" {
			t.Errorf("the idle head shows %v", c.Model)
		}
		if n := len(player.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// Field report B23: two tabs create and send as a unit, with one key each, several times.
func TestB23_AKeyedCreationMakesOneSession(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		tabs := []*sdk.Stepwell{k.host, k.newHost(e.option)}
		var mu sync.Mutex
		ids, made := make(map[api.SessionID]int), 0
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				tab := tabs[i%2]
				o, err := tab.CreateSession(k.ctx, api.CreateSessionOptions{Key: "a client's key / 1"})
				if err != nil {
					t.Error(err)
					return
				}
				var id api.SessionID
				mu.Lock()
				switch o := o.(type) {
				case api.SessionCreated:
					id = o.Session.SessionID
					made++
				case api.SessionExists:
					id = o.Session.SessionID
				}
				ids[id]++
				mu.Unlock()
				if _, err := tab.Send(k.ctx, api.SendOptions{SessionID: id, Content: api.Text("hi"), Key: "k"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(ids) != 1 || made != 1 {
			t.Errorf("created %d times, ids %v", made, ids)
		}
		for id := range ids {
			k.id = id
		}
		k.settle()
		if diff := cmp.Diff([]string{"user: hi", "assistant: re: hi"}, k.said()); diff != "" {
			t.Error(diff)
		}
		other, created := k.create(api.CreateSessionOptions{Key: "another"})
		if !created || ids[other.SessionID] != 0 {
			t.Errorf("another key gives %+v, created %v", other, created)
		}
		free, created := k.create(api.CreateSessionOptions{Name: "free"})
		again, too := k.create(api.CreateSessionOptions{Name: "free"})
		if !created || !too || free.SessionID == again.SessionID {
			t.Errorf("without a key: %+v, %+v", free, again)
		}
	})
}

func TestC183_CreatingAgainChangesNothing(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		k.writesNothing("creating again", func() {
			info, created := k.create(api.CreateSessionOptions{SessionID: k.id, Name: "other"})
			if created || info.Name != "" || info.SessionID != k.id {
				t.Errorf("%+v, created %v", info, created)
			}
		})
		// The name is there from the first event on.
		id := api.SessionID("ses_named")
		k.create(api.CreateSessionOptions{SessionID: id, Name: "Named"})
		k.id = id
		if diff := cmp.Diff([]string{`fact name "Named"`}, briefs(k.events(0), nil)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC199_TheLandingPolicyInForceIsTold(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		want := api.Landing{Lanes: []api.LaneInfo{{Lane: "steer", Lands: "boundary"}, {Lane: "queue", Lands: "idle"}}, Drain: "one"}
		if diff := cmp.Diff(want, do[api.Landing](k)(k.host.Landing(k.ctx))); diff != "" {
			t.Error(diff)
		}
	})
}
