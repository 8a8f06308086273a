package sdk_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// A kit is one store with one session, and hosts over it.
type kit struct {
	*testing.T
	ctx    context.Context
	store  store.Store
	player *scripted.Player
	host   *sdk.Stepwell
	id     api.SessionID
	broken bool // the test damages the session on purpose
}

// stores runs a test over every store.
func stores(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Helper()
	handles(t, func(t *testing.T, open func() store.Store) { test(t, open()) })
}

// handles runs a test over every store, which it can open several times, as processes do.
func handles(t *testing.T, test func(t *testing.T, open func() store.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("memstore", func(t *testing.T) {
		t.Parallel()
		first := memstore.New(nil)
		test(t, func() store.Store {
			s := first.Another()
			t.Cleanup(func() { _ = s.Close() })
			return s
		})
	})
	t.Run("sqlitestore", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		test(t, func() store.Store {
			// Nothing here dies with the machine, and syncing takes most of the time.
			s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{Synchronous: sqlitestore.Normal})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		})
	})
}

// newKit returns a host over s that plays steps, with a session. The invariants are checked when the test ends.
func newKit(t *testing.T, s store.Store, adjust func(*sdk.Options), steps ...scripted.Step) *kit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	k := &kit{T: t, ctx: ctx, store: s, player: scripted.Play(steps...), id: "ses_test"}
	k.host = k.newHost(adjust)
	if _, err := k.host.CreateSession(ctx, api.CreateSessionOptions{SessionID: k.id}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.check)
	return k
}

func (k *kit) newHost(adjust func(*sdk.Options)) *sdk.Stepwell {
	k.Helper()
	return k.hostOver(k.store, adjust)
}

// hostOver returns a host over another handle on the kit's data, closed with the test.
func (k *kit) hostOver(s store.Store, adjust func(*sdk.Options)) *sdk.Stepwell {
	k.Helper()
	tools, err := tool.NewSet(builtin.Ask(), builtin.Wait(), builtin.Clock())
	if err != nil {
		k.Fatal(err)
	}
	model := k.player.Models()[0].Model
	opts := sdk.Options{Store: s, Models: llm.NewCatalog(k.player), DefaultModel: model, Tools: tools}
	if adjust != nil {
		adjust(&opts)
	}
	host, err := sdk.New(opts)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() {
		if err := host.Close(); err != nil {
			k.Error(err)
		}
	})
	return host
}

// check fails the test when the session breaks an invariant. Sessions that the test deleted have none.
func (k *kit) check() {
	if k.broken {
		return
	}
	host := k.newHost(nil) // the store's own cleanup comes later
	report, err := host.Fsck(context.Background(), api.SessionOptions{SessionID: k.id})
	if err != nil {
		if err != api.ErrSessionNotFound { //nolint:errorlint // exactly this
			k.Error(err)
		}
		return
	}
	for _, p := range report.Problems {
		k.Errorf("invariant %d: %s: %s", p.Invariant, p.Ref, p.Detail)
	}
}

func (k *kit) attach() {
	k.Helper()
	if err := k.host.Attach(k.ctx, sdk.AttachOptions{}); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) send(text, lane, key string) api.SendReceipt {
	k.Helper()
	got, err := k.host.Send(k.ctx, api.SendOptions{SessionID: k.id, Content: api.Text(text), Lane: lane, Key: key})
	if err != nil {
		k.Fatal(err)
	}
	return got
}

func (k *kit) wait() api.WaitOutcome {
	k.Helper()
	got, err := k.host.WaitRun(k.ctx, api.HeadOptions{SessionID: k.id})
	if err != nil {
		k.Fatal(err)
	}
	return got
}

func (k *kit) snapshot() api.Snapshot {
	k.Helper()
	got, err := k.host.Snapshot(k.ctx, api.HeadOptions{SessionID: k.id})
	if err != nil {
		k.Fatal(err)
	}
	return got
}

// said returns every text of the default head's transcript, in order.
func (k *kit) said() []string {
	k.Helper()
	var out []string
	for _, item := range k.snapshot().Transcript {
		turn, ok := item.(api.Turn)
		if !ok {
			continue
		}
		for _, p := range turn.Parts {
			switch p := p.(type) {
			case api.UserPart:
				out = append(out, "user: "+message.PlainText(p.Content))
			case api.AssistantPart:
				out = append(out, "assistant: "+p.Text)
			case api.ToolPart:
				out = append(out, "tool: "+p.Tool)
			case api.NotePart:
				out = append(out, "note: "+p.Text)
			case api.ThinkingPart:
			}
		}
	}
	return out
}
