package memstore

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A record is one stored event.
type record struct {
	at   store.Millis
	body []byte
}

// encodeEvents returns the stored bytes of bodies, or says which one cannot be stored.
func encodeEvents(bodies []store.EventBody) ([][]byte, error) {
	events := make([][]byte, len(bodies))
	for i, b := range bodies {
		data, err := store.EncodeEvent(b)
		if err != nil {
			return nil, fmt.Errorf("%w: event %d (%s): %w", store.ErrInvalid, i, store.EventKind(b), err)
		}
		events[i] = data
	}
	return events, nil
}

// append adds events and wakes the watchers.
func (r *repository) append(events [][]byte, now store.Millis) {
	if len(events) == 0 {
		return
	}
	for _, e := range events {
		r.events = append(r.events, record{at: now, body: e})
	}
	r.last += store.Seq(len(events))
	close(r.changed)
	r.changed = make(chan struct{})
}

// AppendEvents implements [store.EventWriter].
func (s *session) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	if err := store.CheckEvents(bodies); err != nil {
		return nil, err
	}
	events, err := encodeEvents(bodies)
	if err != nil {
		return nil, err
	}
	var out store.AppendOutcome
	err = s.update(ctx, func(r *repository, now store.Millis) error {
		if lease != nil && !r.holds(*lease) {
			out = store.Fenced{}
			return nil
		}
		r.append(events, now)
		out = store.Appended{Seq: r.last}
		return nil
	})
	return out, err
}

// ReadEvents implements [store.EventReader].
func (s *session) ReadEvents(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	if limit <= 0 {
		limit = store.DefaultPage
	}
	var page []record
	err := s.view(ctx, func(r *repository) error {
		if after < r.floor {
			return &store.CursorExpiredError{After: after, Floor: r.floor}
		}
		if after < r.last {
			rest := r.events[after-r.floor:]
			page = slices.Clone(rest[:min(limit, len(rest))])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	events := make([]store.Event, len(page))
	for i, rec := range page {
		seq := after + store.Seq(i) + 1
		body, err := store.DecodeEvent(rec.body)
		if err != nil {
			return nil, fmt.Errorf("stored event %d is malformed: %w", seq, err)
		}
		events[i] = store.Event{Seq: seq, At: rec.at, Body: body}
	}
	return events, nil
}

// LastSeq implements [store.EventReader].
func (s *session) LastSeq(ctx context.Context) (store.Seq, error) {
	var last store.Seq
	err := s.view(ctx, func(r *repository) error {
		last = r.last
		return nil
	})
	return last, err
}

// Floor implements [store.EventReader].
func (s *session) Floor(ctx context.Context) (store.Seq, error) {
	var floor store.Seq
	err := s.view(ctx, func(r *repository) error {
		floor = r.floor
		return nil
	})
	return floor, err
}

// TrimEvents implements [store.EventWriter].
func (s *session) TrimEvents(ctx context.Context, before store.Seq) (store.Seq, error) {
	var floor store.Seq
	err := s.update(ctx, func(r *repository, _ store.Millis) error {
		if cut := min(before, r.last); cut > r.floor {
			r.events = slices.Clone(r.events[cut-r.floor:])
			r.floor = cut
		}
		floor = r.floor
		return nil
	})
	return floor, err
}

// WatchEvents implements [store.EventReader].
func (s *session) WatchEvents(ctx context.Context, after store.Seq) iter.Seq2[store.Event, error] {
	return store.Follow(ctx, s, after, s.wait)
}

// wait blocks until there is an event after the cursor, or there never will be. The next read says which.
func (s *session) wait(ctx context.Context, after store.Seq) error {
	var changed <-chan struct{}
	err := s.view(ctx, func(r *repository) error {
		if r.last <= after {
			changed = r.changed
		}
		return nil
	})
	if err != nil || changed == nil {
		return err
	}
	select {
	case <-changed:
	case <-s.closed:
	case <-s.store.closed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
