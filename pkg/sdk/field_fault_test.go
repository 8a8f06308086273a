package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// A life is a host that does everything once over a store that may fail.
type life struct {
	*kit
	clock *storetest.Clock
	f     *storetest.Faulty
	echo  *echo
	errs  []error
}

// newLife returns a host over s, which has the clock c.
func newLife(t *testing.T, s store.Store, c *storetest.Clock) *life {
	t.Helper()
	l := &life{clock: c, echo: &echo{}}
	l.kit = newKit(t, s, func(o *sdk.Options) { l.echo.option(o); clocked(c)(o) })
	l.f = storetest.NewFaulty(s)
	l.host = l.hostOver(l.f, func(o *sdk.Options) { l.echo.option(o); clocked(c)(o) })
	return l
}

// fail plans that the nth call of an operation fails, and tells when it has.
func (l *life) fail(at storetest.Moment, op storetest.Op, n int) *atomic.Bool {
	var count atomic.Int64
	hit := new(atomic.Bool)
	l.f.FailNext(at, func(c storetest.Call) bool {
		if c.Op != op || count.Add(1) != int64(n) {
			return false
		}
		hit.Store(true)
		return true
	})
	return hit
}

// seen keeps the error of an operation.
func (l *life) seen(err error) {
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// everything calls every operation of the store at least once, as clients and runners do. Whoever gets an error goes on with something else.
func (l *life) everything() {
	l.Helper()
	_, err := l.host.CreateSession(l.ctx, api.CreateSessionOptions{SessionID: "ses_other"})
	l.seen(err)
	_, err = l.host.Send(l.ctx, api.SendOptions{SessionID: l.id, Content: api.Text("first"), Key: "first"})
	l.seen(err)
	l.steps(8)
	_, err = l.host.ListSessions(l.ctx, api.ListSessionsOptions{})
	l.seen(err)
	for range 2 { // the second is read from the cursor of the first
		_, err = l.host.Snapshot(l.ctx, l.head())
		l.seen(err)
	}
	for _, err := range l.host.Watch(l.ctx, api.WatchOptions{SessionID: l.id}) {
		l.seen(err)
		break
	}
	_, err = l.host.ListMessages(l.ctx, api.TranscriptOptions{SessionID: l.id})
	l.seen(err)
	_, err = l.host.Reflog(l.ctx, api.ReflogOptions{SessionID: l.id})
	l.seen(err)
	_, err = l.host.CreateHead(l.ctx, api.CreateHeadOptions{SessionID: l.id, Head: "try", Parent: "main"})
	l.seen(err)
	_, err = l.host.Send(l.ctx, api.SendOptions{SessionID: l.id, Content: api.Text("second"), Key: "second"})
	l.seen(err)
	_, err = l.host.Abort(l.ctx, api.AbortOptions{SessionID: l.id})
	l.seen(err)
	l.steps(8)
	_, err = l.host.Fsck(l.ctx, api.SessionOptions{SessionID: l.id})
	l.seen(err)
	_, err = l.host.Trim(l.ctx, api.TrimOptions{SessionID: l.id, Before: 3})
	l.seen(err)
	_, err = l.host.Collect(l.ctx, api.CollectOptions{SessionID: l.id})
	l.seen(err)
	l.seen(l.host.DeleteSession(l.ctx, api.DeleteSessionOptions{SessionID: "ses_other"}))
}

// steps takes up to n steps, as a scheduler does that knows nothing.
func (l *life) steps(n int) {
	l.Helper()
	for range n {
		o, err := l.host.Step(l.ctx, l.head())
		l.seen(err)
		switch o := o.(type) {
		case api.Idle:
			return
		case api.StepBusy: // whoever it was has gone
			l.clock.Advance(2 * kernel.DefaultTTL)
		case api.Retry:
			l.clock.Set(o.At.Time())
		case api.Continue, api.Finished, api.StepWaiting, api.Fenced, nil:
		}
	}
}

// answered fails the test unless a further message is answered, and each before it at most once.
func (l *life) answered(what string) {
	l.Helper()
	for _, err := range l.errs {
		if !errors.Is(err, storetest.ErrInjected) {
			l.Errorf("%s: an operation fails with %v", what, err)
		}
	}
	if len(l.errs) > 1 {
		l.Errorf("%s: one fault fails %d operations: %v", what, len(l.errs), l.errs)
	}
	if _, err := l.host.Send(l.ctx, api.SendOptions{SessionID: l.id, Content: api.Text("next"), Key: "next"}); err != nil {
		l.Errorf("%s: the next message is refused: %v", what, err)
	}
	l.errs = nil
	l.steps(12)
	if len(l.errs) > 0 {
		l.Errorf("%s: the fault goes on: %v", what, l.errs)
	}
	said := l.said()
	if n := len(said); n < 2 || said[n-2] != "user: next" || said[n-1] != "assistant: re: next" {
		l.Errorf("%s: the session says %q", what, said)
	}
	for _, once := range []string{"user: first", "assistant: re: first", "user: second", "user: next"} {
		if n := strings.Count(strings.Join(said, "\n")+"\n", once+"\n"); n > 1 {
			l.Errorf("%s: %q is said %d times", what, once, n)
		}
	}
}

// Rule L of the field reports: after any single fault of the store, whatever was asked of it and whether it was done or not, the next message
// is answered.
func TestRuleL_AfterAnySingleFaultTheNextMessageIsAnswered(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *storetest.Clock) store.Store{
		"memstore": func(t *testing.T, c *storetest.Clock) store.Store {
			t.Helper()
			return memstore.New(&memstore.Options{Now: c.Now})
		},
		"sqlitestore": func(t *testing.T, c *storetest.Clock) store.Store {
			t.Helper()
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), &sqlitestore.Options{Now: c.Now, Synchronous: sqlitestore.Normal})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls []storetest.Call
			t.Run("no fault", func(t *testing.T) {
				c := storetest.NewClock()
				l := newLife(t, open(t, c), c)
				l.everything()
				calls = l.f.Calls()
				l.answered("no fault")
			})
			planned, met := 0, make(map[storetest.Op]int)
			kth := make(map[storetest.Op]int)
			for i, call := range calls {
				kth[call.Op]++
				// Memory is cheap, files are not: there the first call of a kind stands for it.
				if name != "memstore" && slices.ContainsFunc(calls[:i], on(call.Op)) {
					continue
				}
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					planned++
					t.Run(fmt.Sprint(call.Op, " ", kth[call.Op], " ", at), func(t *testing.T) {
						c := storetest.NewClock()
						l := newLife(t, open(t, c), c)
						hit := l.fail(at, call.Op, kth[call.Op])
						l.everything()
						if hit.Load() {
							met[call.Op]++
							l.answered(fmt.Sprint(at, " ", call))
						}
					})
				}
			}
			// What runs beside a turn makes a few calls more or less each time, and a watch without events has no after.
			total := 0
			for _, op := range []storetest.Op{
				storetest.OpCreateSession, storetest.OpOpenSession, storetest.OpListSessions, storetest.OpDeleteSession, storetest.OpInfo,
				storetest.OpChain, storetest.OpListObjects, storetest.OpGetObjects, storetest.OpReadRefs, storetest.OpListRefs,
				storetest.OpUpdateRefs, storetest.OpReadLease, storetest.OpAcquireLease, storetest.OpReleaseLease, storetest.OpReadEvents,
				storetest.OpLastSeq, storetest.OpFloor, storetest.OpWatchEvents, storetest.OpAppendEvents, storetest.OpTrimEvents,
			} {
				total += met[op]
				if met[op] == 0 {
					t.Errorf("%s was never failed", op)
				}
			}
			if total*10 < planned*8 {
				t.Errorf("of %d planned faults %d were met", planned, total)
			}
		})
	}
}

// Rule L for a runner that stays attached: what fails in it fails in work that nobody waits for, so it has to see to it by itself.
func TestRuleL_AnAttachedRunnerOutlivesAnySingleFault(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	plan := func(at storetest.Moment, op storetest.Op, n int) (met bool, calls []storetest.Call) {
		name := fmt.Sprint(op, " ", n, " ", at)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which every pause is over at once
				e := &echo{before: func(context.Context) { time.Sleep(ttl / 2) }} // so that the lease is renewed
				k := newKit(t, memstore.New(nil), e.option)
				f := storetest.NewFaulty(k.store)
				l := &life{kit: k, f: f}
				hit := l.fail(at, op, n)
				attach(k, k.hostOver(f, func(o *sdk.Options) { e.option(o); o.LeaseTTL = ttl }))
				for _, text := range []string{"first", "next"} {
					k.send(text, "", "")
					if o := k.wait(); o != (api.Idle{}) {
						t.Errorf("the wait answers %#v", o)
					}
				}
				met, calls = hit.Load(), f.Calls()
				if diff := cmp.Diff([]string{"user: first", "assistant: re: first", "user: next", "assistant: re: next"}, k.said()); diff != "" {
					t.Error(diff)
				}
			})
		})
		return met, calls
	}
	_, calls := plan(storetest.Before, "no fault", 0)
	planned, hits := 0, 0
	kth := make(map[storetest.Op]int)
	for _, call := range calls {
		kth[call.Op]++
		for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
			planned++
			if met, _ := plan(at, call.Op, kth[call.Op]); met {
				hits++
			}
		}
	}
	if !slices.ContainsFunc(calls, on(storetest.OpRenewLease)) {
		t.Error("the lease was never renewed")
	}
	if hits*10 < planned*8 || planned < 50 {
		t.Errorf("of %d planned faults %d were met", planned, hits)
	}
}
