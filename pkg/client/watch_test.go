package client_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

// A feed is a service whose events are a list; floor is its floor. It plays the part of a store: it resumes after a cursor
// and waits at the end.
type feed struct {
	echo
	mu     sync.Mutex
	events []api.Event
	floor  int64
	grown  chan struct{}
	asked  []string
}

func (f *feed) add(events ...api.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, events...)
	if f.grown != nil {
		close(f.grown)
		f.grown = nil
	}
}

func (f *feed) Watch(ctx context.Context, o api.WatchOptions) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		f.mu.Lock()
		after, asked := f.floor, "floor"
		last := f.floor
		if n := len(f.events); n > 0 {
			last = f.events[n-1].Seq
		}
		switch {
		case o.Live:
			after, asked = last, "live"
		case o.AfterSeq != nil:
			after, asked = *o.AfterSeq, strconv.FormatInt(*o.AfterSeq, 10)
		}
		f.asked = append(f.asked, asked)
		floor := f.floor
		f.mu.Unlock()
		if after < floor {
			yield(api.Event{}, &api.CursorExpiredError{Floor: floor})
			return
		}
		synced := false
		for i := 0; ; {
			f.mu.Lock()
			if i == len(f.events) || !synced && f.events[i].Seq > last {
				if !synced {
					f.mu.Unlock()
					synced = true
					if !yield(api.Event{Seq: last, Body: api.SyncedEvent{}}, nil) {
						return
					}
					continue
				}
				if f.grown == nil {
					f.grown = make(chan struct{})
				}
				grown := f.grown
				f.mu.Unlock()
				select {
				case <-grown:
				case <-ctx.Done():
					return
				}
				continue
			}
			e := f.events[i]
			i++
			f.mu.Unlock()
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func event(seq int64) api.Event {
	return api.Event{Seq: seq, Body: api.DiagnosticEvent{Level: api.LevelInfo, Owner: "t", Message: strconv.FormatInt(seq, 10)}}
}

func part(seq int64, text string, more bool) api.Event {
	return api.Event{Seq: seq, More: more, Body: api.DiagnosticEvent{Level: api.LevelInfo, Owner: "t", Message: text}}
}

func synced(seq int64) api.Event { return api.Event{Seq: seq, Body: api.SyncedEvent{}} }

// collect watches until n events have come.
func collect(t *testing.T, c *client.Client, o api.WatchOptions, n int) ([]api.Event, error) {
	t.Helper()
	var got []api.Event
	for e, err := range c.Watch(t.Context(), o) {
		if err != nil {
			return got, err
		}
		if got = append(got, e); len(got) == n {
			break
		}
	}
	return got, nil
}

// TestB81_ReconnectRepeatsNothing: wherever a connection is cut, the watch yields every event once and in order.
func TestB81_ReconnectRepeatsNothing(t *testing.T) {
	want := []api.Event{event(1), part(2, "a", true), part(2, "b", true), part(2, "c", false), event(3), synced(3), event(4), part(5, "x", true), part(5, "y", false)}
	size := 0
	for cut := 0; size == 0 || cut <= size; cut++ {
		synctest.Test(t, func(t *testing.T) {
			f := &feed{events: slices.Clone(want[:5])}
			first := true
			n := &transport{cut: func(*http.Request) int {
				if first {
					first = false
					return cut
				}
				return -1
			}}
			go func() {
				time.Sleep(time.Millisecond)
				f.add(want[6:]...)
			}()
			got, err := collect(t, connect(t, f, n, nil), api.WatchOptions{SessionID: "s"}, len(want))
			if err != nil {
				t.Fatal(err)
			}
			// Where the cut is before synced, the second connection replays more before it says so.
			strip := func(list []api.Event) []api.Event {
				return slices.DeleteFunc(slices.Clone(list), func(e api.Event) bool { return !e.Durable() })
			}
			if diff := cmp.Diff(strip(want), strip(got)); diff != "" {
				t.Fatalf("cut after %d bytes:\n%s", cut, diff)
			}
			if count := len(got) - len(strip(got)); count != 1 {
				t.Fatalf("cut after %d bytes: synced %d times", cut, count)
			}
		})
		size = 1200
	}
}

// TestB82_CursorExpired: an expired cursor is reported once, also when it expires between two connections.
func TestB82_CursorExpired(t *testing.T) {
	five := int64(5)
	f := &feed{floor: 9}
	var expired *api.CursorExpiredError
	if _, err := collect(t, connect(t, f, nil, nil), api.WatchOptions{SessionID: "s", AfterSeq: &five}, 1); !errors.As(err, &expired) || expired.Floor != 9 {
		t.Errorf("at first: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		f := &feed{events: []api.Event{event(1)}}
		h := httpapi.New(f, &httpapi.Options{MaxStream: time.Minute})
		go func() {
			time.Sleep(30 * time.Second)
			f.mu.Lock()
			f.events, f.floor = []api.Event{event(9)}, 8
			f.mu.Unlock()
		}()
		got, err := collect(t, connect(t, f, &transport{handler: h}, nil), api.WatchOptions{SessionID: "s"}, 9)
		if !errors.As(err, &expired) || expired.Floor != 8 || len(got) != 2 {
			t.Errorf("%v after %v", err, got)
		}
	})
}

func TestWatchComesBackWithItsCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{events: []api.Event{event(1), event(2)}}
		h := httpapi.New(f, &httpapi.Options{MaxStream: time.Minute})
		go func() {
			time.Sleep(90 * time.Second)
			f.add(event(3))
		}()
		one := int64(1)
		got, err := collect(t, connect(t, f, &transport{handler: h}, nil), api.WatchOptions{SessionID: "s", AfterSeq: &one}, 3)
		if diff := cmp.Diff([]api.Event{event(2), synced(2), event(3)}, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if diff := cmp.Diff([]string{"1", "2"}, f.asked); diff != "" {
			t.Errorf("cursors:\n%s", diff)
		}
	})
}

// What happens between two connections of a live watch is not lost.
func TestLiveWatchHasNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{events: []api.Event{event(1), event(2)}}
		h := httpapi.New(f, &httpapi.Options{MaxStream: time.Minute})
		down := false
		n := &transport{handler: h, before: func(*http.Request) error {
			if len(f.asked) == 1 && !down {
				down = true
				f.add(event(3))
				return errNetwork
			}
			return nil
		}}
		got, err := collect(t, connect(t, f, n, nil), api.WatchOptions{SessionID: "s", Live: true}, 2)
		if diff := cmp.Diff([]api.Event{synced(2), event(3)}, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if diff := cmp.Diff([]string{"live", "2"}, f.asked); diff != "" {
			t.Errorf("cursors:\n%s", diff)
		}
	})
}

func TestWatchErrors(t *testing.T) {
	down := &transport{before: func(*http.Request) error { return errNetwork }}
	if _, err := collect(t, connect(t, &feed{}, down, nil), api.WatchOptions{SessionID: "s"}, 1); !errors.Is(err, errNetwork) {
		t.Errorf("no server: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		block := &transport{handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}
		start := time.Now()
		_, err := collect(t, connect(t, nil, block, nil), api.WatchOptions{SessionID: "s"}, 1)
		if err == nil || time.Since(start) != 45*time.Second {
			t.Errorf("a silent server: %v after %v", err, time.Since(start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// A connection that dies without a word is noticed by the missing keep-alive.
		f := &feed{events: []api.Event{event(1)}}
		h := httpapi.New(f, &httpapi.Options{KeepAlive: time.Hour})
		go func() {
			time.Sleep(40 * time.Second)
			f.add(event(2))
		}()
		if _, err := collect(t, connect(t, f, &transport{handler: h}, &client.Options{Idle: 10 * time.Second}), api.WatchOptions{SessionID: "s"}, 3); err != nil {
			t.Error(err)
		}
		if len(f.asked) != 5 && len(f.asked) != 4 {
			t.Errorf("connected %d times", len(f.asked))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, err := range connect(t, &feed{}, nil, nil).Watch(ctx, api.WatchOptions{SessionID: "s"}) {
			if err != nil {
				t.Errorf("the end of ctx is an error: %v", err)
			}
		}
		if ctx.Err() == nil {
			t.Error("the watch ended early")
		}
	})
}
