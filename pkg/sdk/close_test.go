package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// attempts returns the text of each attempt of the newest run that streamed.
func attempts(events []api.Event) map[int]string {
	text := make(map[int]string)
	for _, d := range of[api.TextDeltaEvent](events) {
		text[d.Attempt] += d.Delta
	}
	return text
}

// However a host stops, the run stays live, the attempt is counted, the head is free, and another host carries on.
func TestC216_AHostThatStopsWhileStreamingGivesTheHeadBack(t *testing.T) {
	for name, stop := range map[string]func(k *kit, host *sdk.Stepwell) error{
		"an attached host closes": func(k *kit, host *sdk.Stepwell) error {
			attach(k, host)
			k.streamed("part")
			return host.Close()
		},
		"an attached host's context ends": func(k *kit, host *sdk.Stepwell) error {
			ctx, cancel := context.WithCancel(k.ctx)
			defer cancel()
			if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
				return err
			}
			k.streamed("part")
			cancel()
			return host.Close()
		},
		"a host closes under a step": func(k *kit, host *sdk.Stepwell) error {
			return stepping(k.ctx, k, host, api.ErrClosed, host.Close)
		},
		"a step's context ends": func(k *kit, host *sdk.Stepwell) error {
			ctx, cancel := context.WithCancel(k.ctx)
			return stepping(ctx, k, host, context.Canceled, func() error { cancel(); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, s store.Store) {
				k := newKit(t, s, nil, scripted.Text("whole"), scripted.End(message.StopEnd))
				k.send("hello", "", "")
				host, _, _ := k.faulty(scripted.Text("part"), scripted.Stall())
				if err := stop(k, host); err != nil {
					t.Fatal(err)
				}
				run := k.snapshot().Run
				if run == nil || object.Terminal(run.Phase) || run.Attempts != 1 || run.Lease != nil || run.AbortRequested {
					t.Errorf("the run is %+v", run)
				}
				k.attach()
				if o := k.wait(); o != (api.Idle{}) {
					t.Errorf("the next host's wait answers %#v", o)
				}
				if diff := cmp.Diff([]string{"user: hello", "assistant: whole"}, k.said()); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(map[int]string{1: "part", 2: "whole"}, attempts(k.events(0))); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// stepping stops a step that streams, which has to fail with want.
func stepping(ctx context.Context, k *kit, host *sdk.Stepwell, want error, stop func() error) error {
	k.Helper()
	if _, err := host.Step(ctx, k.head()); err != nil { // it lands
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := host.Step(ctx, k.head())
		done <- err
	}()
	k.streamed("part")
	if err := stop(); err != nil {
		return err
	}
	if err := <-done; !errors.Is(err, want) {
		k.Errorf("the step ends with %v", err)
	}
	return nil
}

// Field report B81: the host dies while it streams. Its successor's deltas carry another attempt, so that no watcher mixes the two.
func TestB81_AHostThatDiesWhileStreamingIsSucceeded(t *testing.T) {
	handles(t, func(t *testing.T, open func() store.Store) {
		k := newKit(t, open(), nil, scripted.Text("whole"), scripted.End(message.StopEnd))
		f := storetest.NewFaulty(open())
		stall := scripted.Play(scripted.Text("part"), scripted.Stall())
		host := k.hostOver(f, func(o *sdk.Options) {
			plays(stall)(o)
			o.LeaseTTL = 200 * time.Millisecond
		})
		attach(k, host)
		k.send("hello", "", "")
		k.streamed("part")
		f.KillNow()
		k.attach()
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: whole"}, k.said()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[int]string{1: "part", 2: "whole"}, attempts(k.events(0))); diff != "" {
			t.Error(diff)
		}
		// Conformance 198: a runner whose store is gone leaves no timer behind, so that closing it does not hang.
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Conformance 215: the release of a lease, and its end, are in no event.
func TestC215_AHeadThatWasHeldIsDrivenAfterTheLeaseLapses(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		e := &echo{}
		k := newKit(t, s, e.option)
		got := do[store.AcquireOutcome](k)(k.raw().AcquireLease(k.ctx, ref.Head("main"), 300*time.Millisecond))
		if _, ok := got.(store.Acquired); !ok {
			t.Fatalf("%#v", got)
		}
		k.send("hello", "", "")
		k.attach()
		if o := k.wait(); o != (api.Idle{}) {
			t.Errorf("the wait answers %#v", o)
		}
		if diff := cmp.Diff([]string{"user: hello", "assistant: re: hello"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// A runner whose store fails once, wherever that is, goes on by itself and answers once.
func TestC198_AFaultedRunnerStartsAgain(t *testing.T) {
	for _, op := range []storetest.Op{
		storetest.OpWatchSessions, storetest.OpOpenSession, storetest.OpLastSeq, storetest.OpListRefs, storetest.OpWatchEvents,
		storetest.OpAcquireLease, storetest.OpReadRefs, storetest.OpUpdateRefs, storetest.OpAppendEvents, storetest.OpReleaseLease,
	} {
		for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
			t.Run(fmt.Sprint(op, " ", at), func(t *testing.T) {
				stores(t, func(t *testing.T, s store.Store) {
					e := &echo{}
					k := newKit(t, s, e.option)
					f := storetest.NewFaulty(s)
					host := k.hostOver(f, func(o *sdk.Options) { e.option(o); o.LeaseTTL = 300 * time.Millisecond })
					f.FailNext(at, on(op))
					attach(k, host)
					k.send("hello", "", "")
					if o := k.wait(); o != (api.Idle{}) {
						t.Errorf("the wait answers %#v", o)
					}
					if diff := cmp.Diff([]string{"user: hello", "assistant: re: hello"}, k.said()); diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	}
}
