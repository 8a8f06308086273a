package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// AttachOptions say which sessions a host runs. No sessions means all of the store, also those created later.
type AttachOptions struct {
	Sessions []api.SessionID
}

// Attach makes this host a runner: it watches sessions, wakes a driver for a head whenever the head, its lanes, its run or an effect moves,
// and races for the head's lease. One runner wins. It returns at once; running ends with ctx or with [Stepwell.Close],
// which give the heads back and leave the runs as they are. A session of opts that is not there is [api.ErrSessionNotFound].
func (s *Stepwell) Attach(ctx context.Context, opts AttachOptions) error {
	for _, id := range opts.Sessions {
		if _, err := s.open(ctx, id); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	driving, done, err := s.driving(ctx)
	if err != nil {
		return err
	}
	go func() {
		defer done()
		s.runAll(driving, opts.Sessions)
	}()
	return nil
}

// runAll runs the given sessions, or all.
func (s *Stepwell) runAll(ctx context.Context, ids []api.SessionID) {
	var runners sync.WaitGroup
	defer runners.Wait()
	for _, id := range ids {
		runners.Go(func() { s.runSession(ctx, store.SessionID(id)) })
	}
	if len(ids) > 0 {
		return
	}
	var mu sync.Mutex
	told := make(map[store.SessionID]int) // how often a session that has a runner was told of
	run := func(id store.SessionID) {
		for seen := 0; ; {
			mu.Lock()
			if told[id] == seen {
				delete(told, id)
				mu.Unlock()
				return
			}
			seen = told[id]
			mu.Unlock()
			s.runSession(ctx, id)
		}
	}
	for pause := time.Duration(0); ctx.Err() == nil; pause = min(2*pause+100*time.Millisecond, 5*time.Second) {
		sleep(ctx, pause)
		for id, err := range s.opts.Store.WatchSessions(ctx) {
			if err != nil {
				if errors.Is(err, store.ErrClosed) {
					return
				}
				s.log.ErrorContext(ctx, "watch sessions", slog.Any("error", err))
				break
			}
			pause = 0
			mu.Lock()
			told[id]++ // a second time: one of this id was removed, and there is a new one
			first := told[id] == 1
			mu.Unlock()
			if first {
				runners.Go(func() { run(id) })
			}
		}
	}
}

// runSession runs one session until it is gone or ctx ends.
func (s *Stepwell) runSession(ctx context.Context, id store.SessionID) {
	for pause := time.Duration(0); ctx.Err() == nil; pause = min(2*pause+100*time.Millisecond, 5*time.Second) {
		sleep(ctx, pause)
		began := s.opts.Now()
		session, err := s.open(ctx, api.SessionID(id))
		if err == nil {
			r := &runner{host: s, session: session, heads: make(map[string]*headLoop)}
			err = r.run(ctx)
			r.loops.Wait()
		}
		switch {
		case errors.Is(err, api.ErrSessionNotFound):
			if session != nil {
				s.forget(session) // removed by another host: nobody may ask for it again
			}
			return
		case ctx.Err() != nil, errors.Is(err, api.ErrClosed):
			return
		case err != nil:
			s.log.ErrorContext(ctx, "run session", slog.String("session", string(id)), slog.Any("error", err))
		}
		if s.opts.Now().Sub(began) > healthy {
			pause = 0
		}
	}
}

// healthy is how long a session must have run for its next failure to count as the first.
const healthy = 10 * time.Second

// A runner wakes the heads of one session.
type runner struct {
	host    *Stepwell
	session *kernel.Session
	loops   sync.WaitGroup

	mu    sync.Mutex
	heads map[string]*headLoop
}

// run wakes every head that may have work, and then follows the stream.
func (r *runner) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	after, err := r.session.LastSeq(ctx) // before the heads are looked at, so that nothing falls between
	if err != nil {
		return fault(err)
	}
	for {
		if err := r.wakeAll(ctx); err != nil {
			return err
		}
		err := r.follow(ctx, after)
		if !errors.Is(err, store.ErrCursorExpired) {
			cancel(kernel.ErrReleased)
			return fault(err)
		}
		// A trim overtook this runner: whatever was missed is found in the refs.
		if after, err = r.session.LastSeq(ctx); err != nil {
			return fault(err)
		}
	}
}

func (r *runner) follow(ctx context.Context, after store.Seq) error {
	for e, err := range r.session.WatchEvents(ctx, after) {
		if err != nil {
			return err
		}
		if b, ok := e.Body.(store.RefEvent); ok {
			r.wakeFor(ctx, b.Name)
		}
	}
	return nil
}

// wakeAll wakes every head that has a run or a lane.
func (r *runner) wakeAll(ctx context.Context) error {
	for _, prefix := range []string{ref.Runs, ref.Queues} {
		refs, err := r.session.ListRefs(ctx, prefix)
		if err != nil {
			return fault(err)
		}
		for _, rf := range refs {
			r.wakeFor(ctx, rf.Name)
		}
	}
	return nil
}

// wakeFor wakes the head that a ref concerns. An effect names its run and not its head: it wakes every head that runs here, and those
// that it does not concern find nothing to do.
func (r *runner) wakeFor(ctx context.Context, name ref.Name) {
	parsed, err := ref.Parse(name)
	if err != nil {
		return
	}
	switch n := parsed.(type) {
	case ref.HeadRef:
		r.wake(ctx, n.Head)
	case ref.RunRef:
		r.wake(ctx, n.Head)
	case ref.QueueRef:
		r.wake(ctx, n.Head)
	case ref.EffectRef:
		r.mu.Lock()
		loops := make([]*headLoop, 0, len(r.heads))
		for _, l := range r.heads {
			loops = append(loops, l)
		}
		r.mu.Unlock()
		for _, l := range loops {
			l.wake()
		}
	case ref.StackRef, ref.KeyRef, ref.FactRef, ref.TombstoneRef, ref.DeletedRef, ref.OtherRef:
	}
}

// wake starts the head's loop, or tells it to look again.
func (r *runner) wake(ctx context.Context, name string) {
	r.mu.Lock()
	l, ok := r.heads[name]
	if !ok {
		l = &headLoop{runner: r, name: name, woken: make(chan struct{}, 1)}
		r.heads[name] = l
		r.loops.Go(func() { l.run(ctx) })
	}
	r.mu.Unlock()
	l.wake()
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
