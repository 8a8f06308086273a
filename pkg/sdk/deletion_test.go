package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// Field report B86: a session is deleted at each store call of a turn. Nothing is written afterwards, and nobody tries for ever.
func TestB86_DeletionAtEachCallOfATurnIsFinal(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		k.broken = true
		for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
			calls := 1
			for n := 1; n <= calls; n++ {
				k.id = api.SessionID(fmt.Sprintf("ses_%s_%d", at, n))
				do[api.CreateSessionOutcome](k)(k.host.CreateSession(k.ctx, api.CreateSessionOptions{SessionID: k.id}))
				k.send("hello", "", "")
				f := storetest.NewFaulty(s)
				runner := k.hostOver(f, e.option)
				f.Hook(at, func(c storetest.Call) {
					if c.N == n {
						if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
							t.Error(err)
						}
					}
				})
				for i := range 3 {
					o, err := runner.Step(k.ctx, k.head())
					if err != nil && !errors.Is(err, api.ErrSessionNotFound) {
						t.Errorf("%s %d: step %d fails with %v", at, n, i, err)
					}
					if f.Count() > n && i == 2 && err == nil && o != (api.Idle{}) {
						t.Errorf("%s %d: step %d answers %#v", at, n, i, o)
					}
				}
				calls = min(f.Count(), 60)
				if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
					t.Errorf("deleting again: %v", err)
				}
				if _, err := s.OpenSession(k.ctx, store.SessionID(k.id)); !errors.Is(err, store.ErrUnknownSession) {
					t.Errorf("%s %d: the session is there: %v", at, n, err)
				}
				if err := runner.Close(); err != nil {
					t.Error(err)
				}
			}
			if calls < 10 {
				t.Errorf("only %d calls were tried", calls)
			}
		}
	})
}

// A counting handler counts what a host logs.
type counting struct {
	slog.Handler
	n *atomic.Int64
}

func (c counting) Handle(context.Context, slog.Record) error { c.n.Add(1); return nil }

func (c counting) Enabled(context.Context, slog.Level) bool { return true }

func counted(n *atomic.Int64) *slog.Logger { return slog.New(counting{slog.DiscardHandler, n}) }

func (c counting) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c counting) WithGroup(string) slog.Handler { return c }

func (k *kit) logging(n *atomic.Int64) func(options *sdk.Options) {
	return func(o *sdk.Options) { o.Logger = counted(n) }
}

// Field report B40, conformance 214: a session is deleted under a run that streams, waits, or is to be retried in an hour. The run ends, its
// host goes on with other sessions, and no error is repeated.
func TestB40_DeletionEndsWhateverARunIsDoing(t *testing.T) {
	for name, test := range map[string]struct {
		steps []scripted.Step
		until func(b api.EventBody) bool
	}{
		"streaming": {[]scripted.Step{scripted.Text("part"), scripted.Stall()}, is[api.TextDeltaEvent]},
		"retry": {
			[]scripted.Step{scripted.Err(llm.Failure{Kind: llm.FailureOverloaded, RetryAfterMs: 3_600_000})},
			func(b api.EventBody) bool {
				r, ok := b.(api.RunEvent)
				return ok && object.PhaseName(r.Run.Phase) == "retry"
			},
		},
		"parked": {
			[]scripted.Step{question("q", "Which?"), scripted.End(message.StopToolUse)},
			func(b api.EventBody) bool {
				r, ok := b.(api.RunEvent)
				return ok && object.PhaseName(r.Run.Phase) == "waiting"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				var logged atomic.Int64
				k := newKit(t, s, nil)
				host := k.newHost(func(o *sdk.Options) {
					plays(scripted.Play(append(test.steps, scripted.Text("other"), scripted.End(message.StopEnd))...))(o)
					k.logging(&logged)(o)
				})
				attach(k, host)
				k.send("hello", "", "")
				k.await(test.until)
				if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
					t.Fatal(err)
				}
				k.fresh("other")
				k.send("hello", "", "")
				if o := k.wait(); o != (api.Idle{}) {
					t.Errorf("the wait answers %#v", o)
				}
				if diff := cmp.Diff([]string{"user: hello", "assistant: other"}, k.said()); diff != "" {
					t.Error(diff)
				}
				if err := host.Close(); err != nil {
					t.Error(err)
				}
				if n := logged.Load(); n != 0 {
					t.Errorf("%d errors were logged", n)
				}
			})
		})
	}
}
