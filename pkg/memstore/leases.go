package memstore

import (
	"context"
	"crypto/rand"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A grant is the newest grant of a name. It stays when the lease is released, without an owner, so that the fence goes on
// from there.
type grant struct {
	owner   string
	fence   int64
	expires store.Millis
}

func (g grant) lease(name ref.Name) store.Lease {
	return store.Lease{Name: name, Owner: g.owner, Fence: g.fence, ExpiresAt: g.expires}
}

// live reports whether g excludes others: from the millisecond expires on it does not.
func (g grant) live(now store.Millis) bool { return g.owner != "" && now < g.expires }

// holds reports whether l is the newest grant of its name. Expiry does not matter: nobody has taken the name since.
func (r *repository) holds(l store.Lease) bool {
	g := r.leases[l.Name]
	return g.owner != "" && g.owner == l.Owner && g.fence == l.Fence
}

func (r *repository) renew(name ref.Name, ttl store.Duration, now store.Millis) store.Lease {
	g := r.leases[name]
	g.expires = now + store.Millis(ttl.Milliseconds())
	r.leases[name] = g
	return g.lease(name)
}

func (r *repository) release(name ref.Name) { r.leases[name] = grant{fence: r.leases[name].fence} }

// ReadLease implements [store.LeaseReader].
func (s *session) ReadLease(ctx context.Context, name ref.Name) (store.Lease, bool, error) {
	var g grant
	live := false
	err := s.view(ctx, func(r *repository) error {
		g = r.leases[name]
		live = g.live(store.Millis(s.store.now().UnixMilli()))
		return nil
	})
	if err != nil || !live {
		return store.Lease{}, false, err
	}
	return g.lease(name), true, nil
}

// AcquireLease implements [store.Leaser].
func (s *session) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	if err := store.CheckLease(name, ttl); err != nil {
		return nil, err
	}
	var out store.AcquireOutcome
	err := s.update(ctx, func(r *repository, now store.Millis) error {
		g := r.leases[name]
		if g.live(now) {
			out = store.Held{Holder: g.lease(name)}
			return nil
		}
		r.leases[name] = grant{owner: "owner_" + rand.Text(), fence: g.fence + 1}
		out = store.Acquired{Lease: r.renew(name, ttl, now), Takeover: g.owner != "", Seq: r.last}
		return nil
	})
	return out, err
}

// RenewLease implements [store.Leaser].
func (s *session) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	if err := store.CheckLease(l.Name, ttl); err != nil {
		return store.Lease{}, false, err
	}
	var renewed store.Lease
	ok := false
	err := s.update(ctx, func(r *repository, now store.Millis) error {
		if ok = r.holds(l); ok {
			renewed = r.renew(l.Name, ttl, now)
		}
		return nil
	})
	return renewed, ok, err
}

// ReleaseLease implements [store.Leaser].
func (s *session) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	ok := false
	err := s.update(ctx, func(r *repository, _ store.Millis) error {
		if ok = r.holds(l); ok {
			r.release(l.Name)
		}
		return nil
	})
	return ok, err
}
