package dynstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// An update is one UpdateRefs call.
type update struct {
	updates []store.Update
	opts    store.UpdateOptions
	names   []ref.Name
	writes  []store.Update
	events  [][]byte // the ref events of writes, then the caller's
	objects []*stowed
	at      store.Millis
	release string // id of the release of its lease
}

func newUpdate(updates []store.Update, opts store.UpdateOptions) (*update, error) {
	if err := store.CheckUpdate(updates, opts); err != nil {
		return nil, err
	}
	u := &update{updates: updates, opts: opts, release: newRelease()}
	var bodies []store.EventBody
	for _, m := range updates {
		u.names = append(u.names, m.Name)
		if m.From == m.To {
			continue
		}
		u.writes = append(u.writes, m)
		bodies = append(bodies, store.RefEvent{Name: m.Name, From: m.From, To: m.To, Reason: opts.Reason, Actor: opts.Actor})
	}
	var err error
	u.events, err = encodeEvents(append(bodies, opts.Events...))
	return u, err
}

// judge returns what stands against the update, nil when nothing does.
func (u *update) judge(v *view) store.UpdateOutcome {
	if l := u.opts.Lease; l != nil && !v.control.holds(*l) {
		return store.Fenced{}
	}
	for _, m := range u.updates {
		if actual := v.ref(m.Name); actual != m.From {
			return store.UpdateConflict{Name: m.Name, Actual: actual}
		}
	}
	return nil
}

// UpdateRefs implements [store.RefWriter].
func (s *session) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	u, err := newUpdate(updates, opts)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.yield()
	u.at = s.store.millis()
	out, err := s.update(ctx, u)
	if err != nil {
		err = s.unput(ctx, u.objects, err)
		return nil, fmt.Errorf("updating refs: %w", err)
	}
	return out, nil
}

func (r *repo) update(ctx context.Context, u *update) (store.UpdateOutcome, error) {
	v, remembered, err := r.prepare(ctx, u)
	if err != nil {
		return nil, err
	}
	for p := r.store.pacer(); ; {
		out := u.judge(v)
		if out == nil {
			if out, err = r.apply(ctx, u, v); err != nil || out != nil {
				return out, err
			}
			if p.attempt > 0 || !remembered {
				if err := p.wait(ctx, firstWait, errMoved); err != nil {
					return nil, err
				}
			}
		} else if !remembered {
			return out, nil
		}
		r.forget()
		remembered = false
		if v, err = r.look(ctx, u.names); err != nil {
			return nil, err
		}
	}
}

// prepare stows the objects of an update and returns what to judge it on. Only a write finds out whether what is remembered still holds.
func (r *repo) prepare(ctx context.Context, u *update) (v *view, remembered bool, err error) {
	if len(u.events) > 0 {
		v = r.recall(u.names)
	}
	remembered = v != nil
	err = each(ctx, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			u.objects, err = r.stow(ctx, u.opts.Objects, u.at)
		} else if !remembered {
			v, err = r.look(ctx, u.names)
		}
		return err
	})
	return v, remembered, err
}

// apply makes a judged update. The outcome is nil when the session has moved since.
func (r *repo) apply(ctx context.Context, u *update, v *view) (store.UpdateOutcome, error) {
	if len(u.events) == 0 {
		return r.applyLease(ctx, u, v)
	}
	b := batch{tx: newTx(), at: u.at, events: u.events}
	pl, next, err := r.plan(u, v, b)
	if err != nil {
		return nil, err
	}
	if err := r.store.putObjects(ctx, r, pl.ride(u.objects)); err != nil {
		return nil, err
	}
	in := pl.input(b.tx)
	committed, err := r.settle(ctx, v.control.seq, b.tx, func(ctx context.Context) error {
		_, err := r.store.client.TransactWriteItems(ctx, in, once)
		return err
	})
	if err != nil {
		r.forget()
		return nil, err
	}
	if !committed {
		return nil, nil //nolint:nilnil // not made yet
	}
	r.advance(v.control, next, pl.items)
	r.store.remember(r, u.objects)
	return store.Updated{Seq: next.seq}, nil
}

// plan puts the transaction together and returns the control item as it will be.
func (r *repo) plan(u *update, v *view, b batch) (*plan, *control, error) {
	p := &plan{repo: r}
	p.reserve()
	c, e := v.control, &expr{}
	e.expect(e.attr(attrSeq), number(c.seq))
	next := c.appended(b.encode(), len(b.events))
	if err := p.refs(v, u.writes, next.seq); err != nil {
		return nil, nil, err
	}
	if next.buckets |= p.made; next.buckets != c.buckets {
		e.set(e.attr(attrBuckets), number(int64(next.buckets))) //nolint:gosec // bits, whatever they spell
	}
	if l := u.opts.Lease; l != nil {
		e.held(*l)
		next = u.relet(e, next)
	}
	switch {
	case !u.stirs():
	case c.wake == 0 || c.wake > u.at:
		next.wake = u.at
		e.wake(r.partition, u.at)
	default: // it is there, unless a look that did not see this has just settled the session
		e.expect(e.attr(attrWake), number(c.wake))
	}
	if next.full(r.partition) {
		if err := p.packs(c, b); err != nil {
			return nil, nil, err
		}
		next.tail = nil
		e.set(e.attr(attrTail), list(nil))
	} else {
		e.grow(b.encode())
	}
	e.set(e.attr(attrSeq), number(next.seq))
	p.update(e, sizeOf(c.item(r.partition)))
	return p, next, nil
}

// relet adds what the update does to its lease.
func (u *update) relet(e *expr, c *control) *control {
	l := u.opts.Lease
	switch {
	case u.opts.Release:
		e.release(*l, u.release)
		return c.released(*l, u.release)
	case u.opts.Renew != 0:
		g := c.leases[l.Name]
		g.expires = u.at + store.Millis(u.opts.Renew.Milliseconds())
		e.renew(l.Name, g.expires)
		return c.with(l.Name, &g)
	}
	return c
}

// applyLease makes an update that moves no ref and has no event.
func (r *repo) applyLease(ctx context.Context, u *update, v *view) (store.UpdateOutcome, error) {
	if err := r.store.putObjects(ctx, r, u.objects); err != nil {
		return nil, err
	}
	r.store.remember(r, u.objects)
	e := &expr{}
	done := store.Updated{Seq: v.control.seq}
	if u.opts.Lease == nil {
		return done, nil
	}
	next := u.relet(e, v.control)
	if next == v.control {
		return done, nil
	}
	e.expect(e.attr(attrSeq), number(v.control.seq))
	e.held(*u.opts.Lease)
	_, err := r.writeControl(ctx, e, func(now *control) resolution {
		l := *u.opts.Lease
		switch {
		case u.opts.Release && !now.holds(l):
			return now.releasing(l, u.release, v.control)
		case !now.holds(l):
			return pending
		case !u.opts.Release && now.leases[l.Name].expires == next.leases[l.Name].expires:
			return happened
		}
		return never
	})
	if err == nil {
		r.observe(next, refItems{})
		return done, nil
	}
	if classify(ctx, err) == refused {
		return nil, nil //nolint:nilnil // not made yet
	}
	return nil, err
}

// grow adds a batch to the tail.
func (e *expr) grow(b []byte) {
	tail := e.attr(attrTail)
	e.sets = append(e.sets, fmt.Sprintf("%s = list_append(%s, %s)", tail, tail,
		e.value(&types.AttributeValueMemberL{Value: []types.AttributeValue{binaryValue(b)}})))
}
