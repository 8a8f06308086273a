package dynstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// writeControl makes a conditional update of the control item that may be made twice, and returns the item as it was before; with an error, as
// it was when the update was refused. When a repetition is refused, judge says what became of the first attempt, whose answer was lost.
func (r *repo) writeControl(ctx context.Context, e *expr, judge func(now *control) resolution) (before *control, err error) {
	in := r.controlUpdate(e)
	doubt := false
	for p := r.store.pacer(); ; {
		out, err := r.store.client.UpdateItem(ctx, in, once)
		if err == nil {
			return decodeControl(out.Attributes)
		}
		switch why := classify(ctx, err); why {
		case fatal:
			return nil, err
		case refused:
			now, bad := r.refusal(err)
			if bad != nil {
				return nil, bad
			}
			if !doubt {
				return now, err
			}
			switch judge(now) {
			case happened:
				return now, nil
			case never:
				return now, err
			case pending:
				return nil, errOutcome
			}
		case contended, throttled, unknown:
			doubt = doubt || why == unknown
			if err := p.after(ctx, why, err); err != nil {
				return nil, err
			}
		}
	}
}

// refusal returns the control item that failed a condition.
func (r *repo) refusal(err error) (*control, error) {
	old := oldOf(err)
	if len(old) == 0 {
		r.forget()
		return nil, store.ErrUnknownSession
	}
	c, err := decodeControl(old)
	if err != nil {
		return nil, err
	}
	r.observe(c, refItems{})
	return c, nil
}

// ReadLease implements [store.LeaseReader].
func (s *session) ReadLease(ctx context.Context, name ref.Name) (store.Lease, bool, error) {
	if err := s.ready(ctx); err != nil {
		return store.Lease{}, false, err
	}
	c, err := s.control(ctx)
	if err != nil {
		return store.Lease{}, false, fmt.Errorf("reading lease %s: %w", name, err)
	}
	g, ok := c.leases[name]
	if !ok || s.store.millis() >= g.expires {
		return store.Lease{}, false, nil
	}
	return g.lease(name), true, nil
}

// AcquireLease implements [store.Leaser]. It is one write, whether granted or not. A lost answer does not lose the lease: the owner's id
// in the control item tells whose it is.
func (s *session) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	if err := store.CheckLease(name, ttl); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	out, err := s.acquire(ctx, name, ttl)
	if err != nil {
		return nil, fmt.Errorf("acquiring lease %s: %w", name, err)
	}
	return out, nil
}

func (r *repo) acquire(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	if c := r.last(); c != nil {
		if size := sizeOf(c.item(r.partition)); size > maxLeases {
			return nil, &LimitError{What: "bytes of the session's leases", Got: size, Most: maxLeases}
		}
	}
	now := r.store.millis()
	g := grant{owner: rand.Text()[:16], expires: now + store.Millis(ttl.Milliseconds())}
	e := &expr{}
	e.exists()
	e.conditions = append(e.conditions, fmt.Sprintf("(attribute_not_exists(%s) OR %s <= %s)",
		e.of(attrOwner, name), e.of(attrExpiry, name), e.value(number(now-store.Millis(r.store.skewMargin.Milliseconds())))))
	// A request that was given up and comes late must not take the name again that its repetition got and gave back.
	e.conditions = append(e.conditions, fmt.Sprintf("NOT begins_with(%s, %s)", e.attr(attrReleased), e.value(text(g.owner))))
	owner := e.of(attrOwner, name)
	e.sets = append(e.sets, fmt.Sprintf("%s = if_not_exists(%s, %s)", e.of(attrPrevious, name), owner, e.value(text(nobody))))
	e.set(owner, text(g.owner))
	e.set(e.of(attrExpiry, name), number(g.expires))
	fences, one := e.attr(attrFences), e.value(number(1))
	for _, path := range []string{fences, e.of(attrFence, name)} {
		e.sets = append(e.sets, fmt.Sprintf("%s = %s + %s", path, fences, one))
	}
	before, err := r.writeControl(ctx, e, func(now *control) resolution {
		switch at := now.leases[name]; g.owner {
		case at.owner:
			return happened
		case at.previous: // it was granted, and taken over by now
			return pending
		}
		return never
	})
	if err != nil {
		if before != nil {
			return store.Held{Holder: before.leases[name].lease(name)}, nil
		}
		return nil, err
	}
	if old := before.leases[name]; old.owner == g.owner { // the answer to the first attempt was lost
		return store.Acquired{Lease: old.lease(name), Takeover: old.previous != nobody, Seq: before.seq}, nil
	}
	g.previous = nobody
	if old, ok := before.leases[name]; ok {
		g.previous = old.owner
	}
	after := before.with(name, &g)
	after.fences++
	g.fence = after.fences
	after.leases[name] = g
	r.observe(after, refItems{})
	return store.Acquired{Lease: g.lease(name), Takeover: g.previous != nobody, Seq: before.seq}, nil
}

// RenewLease implements [store.Leaser].
func (s *session) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	if err := store.CheckLease(l.Name, ttl); err != nil {
		return store.Lease{}, false, err
	}
	if err := s.ready(ctx); err != nil {
		return store.Lease{}, false, err
	}
	l.ExpiresAt = s.store.millis() + store.Millis(ttl.Milliseconds())
	e := &expr{}
	e.held(l)
	e.renew(l.Name, l.ExpiresAt)
	before, err := s.writeControl(ctx, e, func(now *control) resolution {
		if now.fences == l.Fence || s.store.millis() < l.ExpiresAt {
			return never // nobody has taken it over since, so it was not renewed and is not held
		}
		return pending
	})
	if err != nil {
		if before != nil {
			return store.Lease{}, false, nil
		}
		return store.Lease{}, false, fmt.Errorf("renewing lease %s: %w", l.Name, err)
	}
	g := before.leases[l.Name]
	g.expires = l.ExpiresAt
	s.observe(before.with(l.Name, &g), refItems{})
	return l, true, nil
}

// ReleaseLease implements [store.Leaser].
func (s *session) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	if err := l.Name.Check(); err != nil || l.Owner == "" {
		return false, s.exists(ctx) // nothing can be held under it
	}
	known, id := s.last(), newRelease()
	e := &expr{}
	e.held(l)
	e.release(l, id)
	before, err := s.writeControl(ctx, e, func(now *control) resolution { return now.releasing(l, id, known) })
	if err != nil {
		if before != nil {
			return false, nil
		}
		return false, fmt.Errorf("releasing lease %s: %w", l.Name, err)
	}
	s.observe(before.released(l, id), refItems{})
	return true, nil
}

func newRelease() string { return rand.Text()[:6] }

// released returns c as a release of l leaves it.
func (c *control) released(l store.Lease, id string) *control {
	after := c.with(l.Name, nil)
	after.release = l.Owner + id
	return after
}

// releasing says what became of the release id of l by its holder, when l is not the newest grant of its name any more. The control item before it
// may be nil, when it is not known.
func (c *control) releasing(l store.Lease, id string, before *control) resolution {
	g, leased := c.leases[l.Name]
	switch {
	case leased && g.previous == l.Owner:
		return never // it was taken over
	case c.release == l.Owner+id:
		return happened
	case before != nil && c.release == before.release:
		return never // there was no release since
	}
	return pending
}
