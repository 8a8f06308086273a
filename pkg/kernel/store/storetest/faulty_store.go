package storetest

import (
	"context"
	"iter"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

var _ store.Store = (*Faulty)(nil)

// CreateSession implements [store.Store].
func (f *Faulty) CreateSession(ctx context.Context, opts store.CreateOptions) (store.CreateOutcome, error) {
	c := Call{Op: OpCreateSession, Session: opts.ID, Reason: opts.Reason, Names: names(opts.Refs)}
	return do(ctx, f, c, func() (store.CreateOutcome, error) {
		out, err := f.inner.CreateSession(ctx, opts)
		if created, ok := out.(store.SessionCreated); ok {
			out = store.SessionCreated{Session: &faultySession{f, created.Session}}
		}
		return out, err
	})
}

// OpenSession implements [store.Store].
func (f *Faulty) OpenSession(ctx context.Context, id store.SessionID) (store.Session, error) {
	return do(ctx, f, Call{Op: OpOpenSession, Session: id}, func() (store.Session, error) {
		s, err := f.inner.OpenSession(ctx, id)
		if err != nil {
			return nil, err
		}
		return &faultySession{f, s}, nil
	})
}

// ListSessions implements [store.Store].
func (f *Faulty) ListSessions(ctx context.Context, opts store.ListOptions) ([]store.SessionInfo, error) {
	return do(ctx, f, Call{Op: OpListSessions}, func() ([]store.SessionInfo, error) {
		return f.inner.ListSessions(ctx, opts)
	})
}

// DeleteSession implements [store.Store].
func (f *Faulty) DeleteSession(ctx context.Context, id store.SessionID) error {
	_, err := do(ctx, f, Call{Op: OpDeleteSession, Session: id}, func() (struct{}, error) {
		return struct{}{}, f.inner.DeleteSession(ctx, id)
	})
	return err
}

// WatchSessions implements [store.Store].
func (f *Faulty) WatchSessions(ctx context.Context) iter.Seq2[store.SessionID, error] {
	return watched(ctx, f, Call{Op: OpWatchSessions}, f.inner.WatchSessions)
}

// Close implements [store.Store]. It is not numbered and works after death, so that a test can clean up.
func (f *Faulty) Close() error { return f.inner.Close() }

// watched takes an iteration through the plans of c: a before fault comes instead of the first item, an after fault follows it,
// and death ends it at once.
func watched[T any](ctx context.Context, f *Faulty, c Call, watch func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		c, err := f.begin(c)
		if err == nil {
			err = f.pass(ctx, Before, c)
		}
		if err != nil {
			yield(zero, err)
			return
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-f.dead:
				cancel()
			case <-inner.Done():
			}
		}()
		first := true
		for v, err := range watch(inner) {
			if f.isDead() {
				break
			}
			if !yield(v, err) || err != nil {
				return
			}
			if first {
				first = false
				if err := f.pass(ctx, After, c); err != nil {
					yield(zero, err)
					return
				}
			}
		}
		if f.isDead() {
			yield(zero, fault(ErrKilled, After, c))
		}
	}
}

func names(updates []store.Update) []ref.Name {
	list := make([]ref.Name, len(updates))
	for i, u := range updates {
		list[i] = u.Name
	}
	return list
}
