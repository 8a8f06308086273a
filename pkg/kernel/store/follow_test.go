package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A stream is an event reader in memory: its events are 1, 2, 3, … up to last, without those at or below floor.
type stream struct {
	store.EventReader // for what Follow does not call

	floor, last store.Seq
	page        int
	err         error
}

func (s *stream) ReadEvents(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.err != nil:
		return nil, s.err
	case after < s.floor:
		return nil, &store.CursorExpiredError{After: after, Floor: s.floor}
	}
	var page []store.Event
	for seq := after + 1; seq <= s.last && len(page) < min(limit, s.page); seq++ {
		page = append(page, store.Event{Seq: seq, Body: notice("x")})
	}
	return page, nil
}

// Every event comes once and in order: over pages, over waits that return early, and as the stream grows.
func TestFollowYieldsEachOnce(t *testing.T) {
	t.Parallel()
	s := &stream{last: 5, page: 2}
	waits := 0
	var got []store.Seq
	for e, err := range store.Follow(t.Context(), s, 1, func(_ context.Context, after store.Seq) error {
		if after != s.last {
			t.Errorf("waits at %d while the stream is at %d", after, s.last)
		}
		if waits++; waits > 2 {
			s.last += 2
		}
		return nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Seq); e.Seq == 9 {
			break
		}
	}
	if want := []store.Seq{2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	broken, gone := errors.New("broken"), errors.New("gone")
	block := func(ctx context.Context, _ store.Seq) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	for name, test := range map[string]struct {
		stream *stream
		after  store.Seq
		wait   func(cancel context.CancelCauseFunc) func(context.Context, store.Seq) error
		events int
		want   error // nil ends quietly
	}{
		"when the reader fails": {stream: &stream{err: broken}, want: broken},
		"when the wait fails": {
			stream: &stream{last: 3, page: 9}, events: 3, want: store.ErrClosed,
			wait: func(context.CancelCauseFunc) func(context.Context, store.Seq) error {
				return func(context.Context, store.Seq) error { return store.ErrClosed }
			},
		},
		"below the floor": {stream: &stream{floor: 2, last: 3, page: 9}, after: 1, want: store.ErrCursorExpired},
		"when the floor passes the cursor": {
			stream: &stream{last: 1, page: 9}, events: 1, want: store.ErrCursorExpired,
		},
		"quietly with its context": {
			stream: &stream{last: 2, page: 9}, events: 2,
			wait: func(cancel context.CancelCauseFunc) func(context.Context, store.Seq) error {
				return func(ctx context.Context, after store.Seq) error {
					cancel(gone)
					return block(ctx, after)
				}
			},
		},
		"with the failure of the reader, not of the context": {
			stream: &stream{last: 2, page: 9}, events: 2, want: broken,
			wait: func(cancel context.CancelCauseFunc) func(context.Context, store.Seq) error {
				return func(context.Context, store.Seq) error {
					cancel(gone)
					return broken
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			wait := func(context.Context, store.Seq) error {
				test.stream.floor, test.stream.last = 9, 9
				return nil
			}
			if test.wait != nil {
				wait = test.wait(cancel)
			}
			events := 0
			var last error
			for _, err := range store.Follow(ctx, test.stream, test.after, wait) {
				if last != nil {
					t.Error("an error does not end it")
				}
				if last = err; err == nil {
					events++
				}
			}
			if events != test.events || !errors.Is(last, test.want) {
				t.Errorf("%d events and %v, want %d and %v", events, last, test.events, test.want)
			}
		})
	}
}

// A consumer that ends the context in its loop gets no further event.
func TestFollowStopsInsideAPage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &stream{last: 9, page: 9}
	var got []store.Seq
	for e, err := range store.Follow(ctx, s, 0, func(context.Context, store.Seq) error { return nil }) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Seq); e.Seq == 3 {
			cancel()
		}
	}
	if want := []store.Seq{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
