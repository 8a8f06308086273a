package storetest

import (
	"context"
	"iter"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A faultySession is a session of a [Faulty] store.
type faultySession struct {
	f     *Faulty
	inner store.Session
}

var _ store.Session = (*faultySession)(nil)

// optional carries a method's two results through one.
type optional[T any] struct {
	value T
	ok    bool
}

func (s *faultySession) call(op Op, names ...ref.Name) Call {
	return Call{Op: op, Session: s.inner.ID(), Names: names}
}

func (s *faultySession) ID() store.SessionID { return s.inner.ID() }

func (s *faultySession) Close() error { return s.inner.Close() }

func (s *faultySession) GetObject(ctx context.Context, oid object.OID) (object.Object, bool, error) {
	got, err := do(ctx, s.f, s.call(OpGetObject), func() (optional[object.Object], error) {
		o, ok, err := s.inner.GetObject(ctx, oid)
		return optional[object.Object]{o, ok}, err
	})
	return got.value, got.ok, err
}

func (s *faultySession) Info(ctx context.Context) (store.SessionInfo, error) {
	return do(ctx, s.f, s.call(OpInfo), func() (store.SessionInfo, error) { return s.inner.Info(ctx) })
}

func (s *faultySession) GetObjects(ctx context.Context, oids []object.OID) ([]object.Object, error) {
	return do(ctx, s.f, s.call(OpGetObjects), func() ([]object.Object, error) { return s.inner.GetObjects(ctx, oids) })
}

func (s *faultySession) Chain(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	return do(ctx, s.f, s.call(OpChain), func() ([]store.Entry, error) { return s.inner.Chain(ctx, from, stop, limit) })
}

func (s *faultySession) ListObjects(ctx context.Context) ([]store.Stored, error) {
	return do(ctx, s.f, s.call(OpListObjects), func() ([]store.Stored, error) { return s.inner.ListObjects(ctx) })
}

func (s *faultySession) PutObjects(ctx context.Context, objs []object.Encoded) error {
	_, err := do(ctx, s.f, s.call(OpPutObjects), func() (struct{}, error) {
		return struct{}{}, s.inner.PutObjects(ctx, objs)
	})
	return err
}

func (s *faultySession) DeleteObjects(ctx context.Context, oids []object.OID, before store.Millis) (int, error) {
	return do(ctx, s.f, s.call(OpDeleteObjects), func() (int, error) { return s.inner.DeleteObjects(ctx, oids, before) })
}

func (s *faultySession) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	return do(ctx, s.f, s.call(OpReadRefs, names...), func() ([]object.OID, error) {
		return s.inner.ReadRefs(ctx, names...)
	})
}

func (s *faultySession) ListRefs(ctx context.Context, prefix string) ([]store.Ref, error) {
	return do(ctx, s.f, s.call(OpListRefs, ref.Name(prefix)), func() ([]store.Ref, error) {
		return s.inner.ListRefs(ctx, prefix)
	})
}

func (s *faultySession) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	c := s.call(OpUpdateRefs, names(updates)...)
	c.Reason = opts.Reason
	return do(ctx, s.f, c, func() (store.UpdateOutcome, error) { return s.inner.UpdateRefs(ctx, updates, opts) })
}

func (s *faultySession) ReadLease(ctx context.Context, name ref.Name) (store.Lease, bool, error) {
	got, err := do(ctx, s.f, s.call(OpReadLease, name), func() (optional[store.Lease], error) {
		l, ok, err := s.inner.ReadLease(ctx, name)
		return optional[store.Lease]{l, ok}, err
	})
	return got.value, got.ok, err
}

func (s *faultySession) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	return do(ctx, s.f, s.call(OpAcquireLease, name), func() (store.AcquireOutcome, error) {
		return s.inner.AcquireLease(ctx, name, ttl)
	})
}

func (s *faultySession) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	got, err := do(ctx, s.f, s.call(OpRenewLease, l.Name), func() (optional[store.Lease], error) {
		renewed, ok, err := s.inner.RenewLease(ctx, l, ttl)
		return optional[store.Lease]{renewed, ok}, err
	})
	return got.value, got.ok, err
}

func (s *faultySession) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	return do(ctx, s.f, s.call(OpReleaseLease, l.Name), func() (bool, error) { return s.inner.ReleaseLease(ctx, l) })
}

func (s *faultySession) ReadEvents(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	return do(ctx, s.f, s.call(OpReadEvents), func() ([]store.Event, error) { return s.inner.ReadEvents(ctx, after, limit) })
}

func (s *faultySession) LastSeq(ctx context.Context) (store.Seq, error) {
	return do(ctx, s.f, s.call(OpLastSeq), func() (store.Seq, error) { return s.inner.LastSeq(ctx) })
}

func (s *faultySession) Floor(ctx context.Context) (store.Seq, error) {
	return do(ctx, s.f, s.call(OpFloor), func() (store.Seq, error) { return s.inner.Floor(ctx) })
}

func (s *faultySession) WatchEvents(ctx context.Context, after store.Seq) iter.Seq2[store.Event, error] {
	return watched(ctx, s.f, s.call(OpWatchEvents), func(ctx context.Context) iter.Seq2[store.Event, error] {
		return s.inner.WatchEvents(ctx, after)
	})
}

func (s *faultySession) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	c := s.call(OpAppendEvents)
	if lease != nil {
		c.Names = []ref.Name{lease.Name}
	}
	return do(ctx, s.f, c, func() (store.AppendOutcome, error) { return s.inner.AppendEvents(ctx, bodies, lease) })
}

func (s *faultySession) TrimEvents(ctx context.Context, before store.Seq) (store.Seq, error) {
	return do(ctx, s.f, s.call(OpTrimEvents), func() (store.Seq, error) { return s.inner.TrimEvents(ctx, before) })
}
