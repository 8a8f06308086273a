package sdk

import (
	"context"
	"iter"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Watch yields the session's events. [api.SyncedEvent] comes where the replay ends: after everything of the newest event that was there
// when the watch began.
func (s *Stepwell) Watch(ctx context.Context, opts api.WatchOptions) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if err := opts.Validate(); err != nil {
			yield(api.Event{}, err)
			return
		}
		bounded, cancel := s.bounded(ctx)
		defer cancel()
		stopped := false
		session, err := s.open(bounded, opts.SessionID)
		if err == nil {
			err = watch(bounded, session, opts, func(e api.Event) bool {
				stopped = !yield(e, nil)
				return !stopped
			})
		}
		if !stopped && ctx.Err() == nil {
			yield(api.Event{}, s.ended(ctx, err))
		}
	}
}

// watch yields events until ctx or yield ends it, or an error does.
func watch(ctx context.Context, session *kernel.Session, opts api.WatchOptions, yield func(api.Event) bool) error {
	after, last, err := start(ctx, session, opts)
	if err != nil {
		return err
	}
	synced := api.Event{Seq: int64(last), Body: api.SyncedEvent{}}
	if after >= last && !yield(synced) {
		return nil
	}
	for e, err := range session.WatchEvents(ctx, after) {
		if err != nil {
			return err
		}
		bodies, err := project(ctx, session, e)
		if err != nil {
			return err
		}
		for i, b := range bodies {
			if !yield(api.Event{Seq: int64(e.Seq), More: i < len(bodies)-1, Body: b}) {
				return nil
			}
		}
		if e.Seq == last && !yield(synced) {
			return nil
		}
	}
	return nil
}

// start returns the cursor to read after and the newest event at this moment.
func start(ctx context.Context, session *kernel.Session, opts api.WatchOptions) (after, last store.Seq, err error) {
	floor, err := session.Floor(ctx) // before the newest event, which is never below it
	if err != nil {
		return 0, 0, err
	}
	if last, err = session.LastSeq(ctx); err != nil {
		return 0, 0, err
	}
	if opts.Live {
		return last, last, nil
	}
	if opts.AfterSeq == nil {
		return floor, last, nil
	}
	after = cursor(*opts.AfterSeq)
	if after < floor {
		return 0, 0, &store.CursorExpiredError{After: after, Floor: floor}
	}
	if after > last {
		return 0, 0, api.Invalid("/afterSeq", "is %d, beyond the newest event %d", after, last)
	}
	return after, last, nil
}
