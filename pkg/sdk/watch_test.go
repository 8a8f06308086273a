package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// notices appends n notices.
func (k *kit) notices(n int) {
	k.Helper()
	bodies := make([]store.EventBody, n)
	for i := range bodies {
		bodies[i] = store.NoticeEvent{Level: store.Info, Owner: "test", Message: fmt.Sprint(i)}
	}
	if _, err := k.raw().AppendEvents(k.ctx, bodies, nil); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) trim(before int64) {
	k.Helper()
	do[api.TrimReport](k)(k.host.Trim(k.ctx, api.TrimOptions{SessionID: k.id, Before: before}))
}

// Wherever a reader's cursor may stand, a watch from there yields exactly the rest.
func TestC190_ACursorResumesBetweenSeqsAndSyncedComesAfterAllSiblings(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, drainAll, scripted.Text("one"), scripted.End(message.StopEnd))
		k.send("a", "", "")
		k.send("b", "", "")
		k.step() // the newest event is a head's, and has siblings
		var last int64
		var all []api.Event
		for e, err := range k.host.Watch(k.ctx, api.WatchOptions{SessionID: k.id}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
			if is[api.SyncedEvent](e.Body) {
				break
			}
			last = e.Seq
		}
		if synced := all[len(all)-1]; synced.Seq != int64(k.mark().seq) || synced.More || all[len(all)-2].More {
			t.Errorf("the replay ends with %+v, %+v", all[len(all)-2], synced)
		}
		all = all[:len(all)-1]
		for cursor := int64(0); cursor <= last; cursor++ {
			var want []api.Event
			for _, e := range all {
				if e.Seq > cursor {
					want = append(want, e)
				}
			}
			if diff := cmp.Diff(want, k.events(cursor)); diff != "" {
				t.Errorf("from %d: %s", cursor, diff)
			}
		}
	})
}

func TestC190_SyncedComesFirstWhenThereIsNothingToReplay(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		k.notices(3)
		end := int64(3)
		for name, opts := range map[string]api.WatchOptions{
			"live": {SessionID: k.id, Live: true}, "at the end": {SessionID: k.id, AfterSeq: &end},
		} {
			var got []string
			for e, err := range k.host.Watch(k.ctx, opts) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, brief(e))
				if len(got) == 2 {
					break
				}
				k.notices(1)
			}
			if diff := cmp.Diff([]string{"synced", "diagnostic 0"}, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			end++
		}
	})
}

// firstError returns the first thing that a watch yields, which has to be an error.
func (k *kit) firstError(opts api.WatchOptions) error {
	k.Helper()
	for e, err := range k.host.Watch(k.ctx, opts) {
		if err == nil {
			k.Errorf("the watch yields %s", brief(e))
		}
		return err
	}
	return nil
}

// The floor is the oldest valid cursor: not one event is missed at it, and one below it is refused before anything is yielded.
func TestB83_TheBoundaryOfATrimIsExact(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		k.notices(10)
		k.trim(6)
		for _, below := range []int64{0, 5} {
			err := k.firstError(api.WatchOptions{SessionID: k.id, AfterSeq: &below})
			var expired *api.CursorExpiredError
			if !errors.Is(err, api.ErrCursorExpired) || !errors.As(err, &expired) || expired.Floor != 6 {
				t.Errorf("from %d: %v", below, err)
			}
		}
		for _, at := range []int64{6, 7, 10} {
			if got := k.events(at); int64(len(got)) != 10-at || len(got) > 0 && got[0].Seq != at+1 {
				t.Errorf("from %d: %v", at, briefs(got, nil))
			}
		}
		beyond := int64(11)
		if err := k.firstError(api.WatchOptions{SessionID: k.id, AfterSeq: &beyond}); !errors.Is(err, api.ErrInvalid) {
			t.Errorf("a cursor beyond the end: %v", err)
		}
		if first := k.await(func(api.EventBody) bool { return true }); first.Seq != 7 {
			t.Errorf("without a cursor the first seq is %d", first.Seq)
		}
		k.trim(10)
		if first := k.await(func(api.EventBody) bool { return true }); !is[api.SyncedEvent](first.Body) || first.Seq != 10 {
			t.Errorf("with everything trimmed the first is %+v", first)
		}
	})
}

func TestC191_ASlowReplayThatATrimOvertakesFails(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		const n = 2*store.DefaultPage + 10
		k.notices(n)
		seen := int64(0)
		var failed error
		for e, err := range k.host.Watch(k.ctx, api.WatchOptions{SessionID: k.id}) {
			if err != nil {
				failed = err
				continue // the iteration ends by itself
			}
			if e.Seq != seen+1 {
				t.Fatalf("seq %d after %d: a hole", e.Seq, seen)
			}
			if seen = e.Seq; seen == 1 {
				k.trim(n)
			}
		}
		if !errors.Is(failed, api.ErrCursorExpired) || seen >= n {
			t.Errorf("after %d of %d events: %v", seen, n, failed)
		}
	})
}

// Field report B82: a client that was away finds everything of the gap, or learns once that it has to start again.
func TestB82_AGapIsReplayedOrRefusedAndThenASnapshotGoesOn(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil)
		k.notices(5)
		snap := k.snapshot()
		k.notices(1000)
		if got := k.events(snap.Seq); len(got) != 1000 || got[0].Seq != snap.Seq+1 {
			t.Errorf("the gap has %d events", len(got))
		}
		k.trim(500)
		if err := k.firstError(api.WatchOptions{SessionID: k.id, AfterSeq: &snap.Seq}); !errors.Is(err, api.ErrCursorExpired) {
			t.Errorf("a cursor in the trimmed part: %v", err)
		}
		snap = k.snapshot()
		k.notices(2)
		if got := k.events(snap.Seq); len(got) != 2 {
			t.Errorf("after the new snapshot: %v", briefs(got, nil))
		}
	})
}

// idle starts a watch that has caught up, and returns what it yields after synced.
func (k *kit) idle(host *sdk.Stepwell) (done <-chan struct{}, got *[]string, last *error) {
	k.Helper()
	caughtUp, ends := make(chan struct{}), make(chan struct{})
	got, last = new([]string), new(error)
	go func() {
		defer close(ends)
		for e, err := range host.Watch(k.ctx, api.WatchOptions{SessionID: k.id}) {
			switch {
			case err != nil:
				*last = err
			case is[api.SyncedEvent](e.Body):
				close(caughtUp)
			default:
				*got = append(*got, brief(e))
			}
		}
	}()
	<-caughtUp
	return ends, got, last
}

func TestC192_CloseAndDeletionEndAnIdleWatch(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		for name, test := range map[string]struct {
			end  func(k *kit, host *sdk.Stepwell) error
			want error
			told string
		}{
			"the host closes": {func(_ *kit, h *sdk.Stepwell) error { return h.Close() }, api.ErrClosed, "[]"},
			"deleted here": {func(k *kit, h *sdk.Stepwell) error {
				return h.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id})
			}, api.ErrSessionNotFound, ""},
			"deleted elsewhere": {func(k *kit, _ *sdk.Stepwell) error {
				return k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id})
			}, api.ErrSessionNotFound, ""},
		} {
			k := newKit(t, s, nil)
			k.broken = true // the store is closed in the end
			host := k.newHost(nil)
			done, got, last := k.idle(host)
			if err := test.end(k, host); err != nil {
				t.Fatal(err)
			}
			<-done
			if !errors.Is(*last, test.want) {
				t.Errorf("%s: the watch ends with %v", name, *last)
			}
			// The mark of a deletion may be removed with the session before a watch gets to it.
			if told := fmt.Sprint(*got); test.told != "" && told != test.told || test.told == "" && told != "[]" && told != "[deleted]" {
				t.Errorf("%s: the watch tells %s", name, told)
			}
			if err := k.host.DeleteSession(k.ctx, api.DeleteSessionOptions{SessionID: k.id}); err != nil {
				t.Fatal(err)
			}
		}
		k := newKit(t, s, nil)
		k.broken = true
		done, _, last := k.idle(k.newHost(nil))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		<-done
		if !errors.Is(*last, api.ErrClosed) {
			t.Errorf("the store closes: the watch ends with %v", *last)
		}
	})
}

func TestC188_EndingAWatchLeavesTheSessionUsable(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil, scripted.Text("fine"))
		k.notices(3)
		for range k.host.Watch(k.ctx, api.WatchOptions{SessionID: k.id}) {
			break
		}
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		for e, err := range k.host.Watch(ctx, api.WatchOptions{SessionID: k.id}) {
			if err != nil {
				t.Errorf("a watch whose context ended yields %v", err)
			}
			if is[api.SyncedEvent](e.Body) {
				cancel()
			}
		}
		for range k.host.Watch(ctx, api.WatchOptions{SessionID: k.id}) {
			t.Error("a watch whose context had ended yields something")
		}
		k.send("hello", "", "")
		k.settle()
		if diff := cmp.Diff([]string{"user: hello", "assistant: fine"}, k.said()); diff != "" {
			t.Error(diff)
		}
	})
}

// Field report B81: folding deltas by run, attempt and index gives the same text from every cursor and for every watcher, and the commit
// ends the provisional text of all attempts.
func TestB81_WatchersThatReconnectFoldTheSameText(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		k := newKit(t, s, nil,
			scripted.Text("first "), scripted.Text("try"), scripted.Cut(),
			scripted.Text("second "), scripted.Text("try"), scripted.End(message.StopEnd))
		retryAtOnce := k.newHost(func(o *sdk.Options) { o.Retry.Base = 1 })
		k.send("hello", "", "")
		k.host = retryAtOnce
		for k.phaseName() != "done" {
			k.step()
		}
		fold := func(events []api.Event) map[string]string {
			text := make(map[string]string)
			seen := make(map[int64]bool)
			for _, e := range events {
				if d, ok := e.Body.(api.TextDeltaEvent); ok && !seen[e.Seq] {
					seen[e.Seq] = true
					text[fmt.Sprint(d.Attempt, d.Index)] += d.Delta
				}
			}
			return text
		}
		want := map[string]string{"1 0": "first try", "2 0": "second try"}
		all := k.events(0)
		if diff := cmp.Diff(want, fold(all)); diff != "" {
			t.Error(diff)
		}
		for _, e := range all {
			again := append(append([]api.Event{}, all[:indexAfter(all, e.Seq)]...), k.events(e.Seq)...)
			if diff := cmp.Diff(want, fold(again)); diff != "" {
				t.Errorf("reconnected at %d: %s", e.Seq, diff)
			}
			if diff := cmp.Diff(want, fold(append(again, k.events(0)...))); diff != "" {
				t.Errorf("two subscriptions from %d: %s", e.Seq, diff)
			}
		}
	})
}

func indexAfter(events []api.Event, seq int64) int {
	for i, e := range events {
		if e.Seq > seq {
			return i
		}
	}
	return len(events)
}
