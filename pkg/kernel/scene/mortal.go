package scene

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// errDead is what a process that has died gets from every write: it makes none.
var errDead = errors.New("the process is dead")

// A mortal is a session handle of a process that can die. Nothing it would write after its death arrives; what it wrote before stays.
type mortal struct {
	store.Session
	dead atomic.Bool
}

func (m *mortal) die() { m.dead.Store(true) }

// UpdateRefs implements [store.RefWriter].
func (m *mortal) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Session.UpdateRefs(ctx, updates, opts)
}

// AppendEvents implements [store.EventWriter].
func (m *mortal) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Session.AppendEvents(ctx, bodies, lease)
}

// AcquireLease implements [store.Leaser].
func (m *mortal) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Session.AcquireLease(ctx, name, ttl)
}

// RenewLease implements [store.Leaser].
func (m *mortal) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	if m.dead.Load() {
		return store.Lease{}, false, errDead
	}
	return m.Session.RenewLease(ctx, l, ttl)
}

// ReleaseLease implements [store.Leaser].
func (m *mortal) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	if m.dead.Load() {
		return false, errDead
	}
	return m.Session.ReleaseLease(ctx, l)
}
