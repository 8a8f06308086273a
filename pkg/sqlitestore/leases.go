package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// leaseRow returns the newest grant of a name, which stays, without an owner, when it is released: its fence must go on from there.
func leaseRow(c *conn, session int64, name ref.Name) (store.Lease, error) {
	l := store.Lease{Name: name}
	_, err := c.one("SELECT owner, fence, expires_at FROM leases WHERE session=? AND name=?", func(row []driver.Value) (err error) {
		if l.Owner, err = asText(row[0]); err != nil {
			return err
		}
		if l.Fence, err = asInt(row[1]); err != nil {
			return err
		}
		expires, err := asInt(row[2])
		l.ExpiresAt = store.Millis(expires)
		return err
	}, session, string(name))
	return l, err
}

// live reports whether l excludes others: it has an owner, has not expired, and its Store has not provably ended.
func (s *session) live(l store.Lease) bool {
	return l.Owner != "" && s.store.millis() < l.ExpiresAt && !s.store.owner.abandoned(l.Owner)
}

// ReadLease implements [store.LeaseReader]. An abandoned lease is not live.
func (s *session) ReadLease(ctx context.Context, name ref.Name) (store.Lease, bool, error) {
	var l store.Lease
	err := s.read(ctx, func(c *conn) (err error) {
		if l, err = leaseRow(c, s.key, name); err == nil && l.Fence == 0 {
			err = s.exists(c)
		}
		return err
	})
	if err != nil {
		return store.Lease{}, false, fmt.Errorf("reading lease %s: %w", name, err)
	}
	if !s.live(l) {
		return store.Lease{}, false, nil
	}
	return l, true, nil
}

// AcquireLease implements [store.Leaser]. A lease whose Store is closed or whose process is dead is abandoned.
func (s *session) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	if err := store.CheckLease(name, ttl); err != nil {
		return nil, err
	}
	var out store.AcquireOutcome
	err := s.write(ctx, false, func(t *tx, p *position) error {
		l, err := leaseRow(t.conn, s.key, name)
		if err != nil {
			return err
		}
		if s.live(l) {
			out = store.Held{Holder: l}
			return errUndo
		}
		takeover := l.Owner != ""
		l.Owner, l.Fence, l.ExpiresAt = s.store.owner.grant(), l.Fence+1, expiry(s.store.millis(), ttl)
		out = store.Acquired{Lease: l, Takeover: takeover, Seq: p.next - 1}
		_, err = t.exec("INSERT INTO leases (session, name, owner, fence, expires_at) VALUES (?,?,?,?,?) "+
			"ON CONFLICT DO UPDATE SET owner=excluded.owner, fence=excluded.fence, expires_at=excluded.expires_at",
			s.key, string(name), l.Owner, l.Fence, int64(l.ExpiresAt))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("acquiring lease %s: %w", name, err)
	}
	return out, nil
}

func expiry(now store.Millis, ttl store.Duration) store.Millis {
	return now + store.Millis(ttl.Milliseconds())
}

// RenewLease implements [store.Leaser].
func (s *session) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	if err := store.CheckLease(l.Name, ttl); err != nil {
		return store.Lease{}, false, err
	}
	ok := false
	err := s.write(ctx, false, func(t *tx, _ *position) (err error) {
		now := s.store.millis()
		l.ExpiresAt = expiry(now, ttl)
		ok, err = t.holdLease(s.key, l, ttl, false, now)
		return err
	})
	if err != nil {
		return store.Lease{}, false, fmt.Errorf("renewing lease %s: %w", l.Name, err)
	}
	if !ok {
		return store.Lease{}, false, nil
	}
	return l, true, nil
}

// ReleaseLease implements [store.Leaser].
func (s *session) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	ok := false
	err := s.write(ctx, false, func(t *tx, _ *position) (err error) {
		ok, err = t.holdLease(s.key, l, 0, true, s.store.millis())
		return err
	})
	if err != nil {
		return false, fmt.Errorf("releasing lease %s: %w", l.Name, err)
	}
	return ok, nil
}

// holdLease checks that l is the newest grant of its name and not released, and in the same statement renews it, if renew is not
// zero, or releases it. Expiry is not looked at: nobody has taken the name since.
func (t *tx) holdLease(session int64, l store.Lease, renew store.Duration, release bool, now store.Millis) (ok bool, err error) {
	if l.Owner == "" {
		return false, nil
	}
	var n int64
	switch {
	case release:
		n, err = t.exec("UPDATE leases SET owner='', expires_at=0 WHERE session=? AND name=? AND owner=? AND fence=?",
			session, string(l.Name), l.Owner, l.Fence)
	case renew != 0:
		n, err = t.exec("UPDATE leases SET expires_at=? WHERE session=? AND name=? AND owner=? AND fence=?",
			int64(expiry(now, renew)), session, string(l.Name), l.Owner, l.Fence)
	default:
		n, _, err = t.number("SELECT 1 FROM leases WHERE session=? AND name=? AND owner=? AND fence=?",
			session, string(l.Name), l.Owner, l.Fence)
	}
	return n == 1, err
}
