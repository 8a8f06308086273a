package dynstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// CreateSession implements [store.Store]. Directory and session are made in one transaction.
func (s *Store) CreateSession(ctx context.Context, opts store.CreateOptions) (store.CreateOutcome, error) {
	if err := store.CheckCreate(opts); err != nil {
		return nil, err
	}
	u := &update{opts: store.UpdateOptions{Objects: opts.Objects}}
	if len(opts.Refs) > 0 {
		var err error
		u, err = newUpdate(opts.Refs, store.UpdateOptions{Reason: opts.Reason, Actor: opts.Actor, Objects: opts.Objects})
		if err != nil {
			return nil, err
		}
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	u.at = s.millis()
	created, err := s.create(ctx, opts.ID, opts.Owner, u)
	if err != nil {
		return nil, fmt.Errorf("creating session %q: %w", opts.ID, err)
	}
	if created == nil {
		return store.SessionExists{}, nil
	}
	s.announce()
	return store.SessionCreated{Session: created}, nil
}

// create returns nil when the id is taken.
func (s *Store) create(ctx context.Context, id store.SessionID, owner string, u *update) (*session, error) {
	tx := newTx()
	e := entry{id: id, owner: owner, incarnation: rand.Text()[:16], created: u.at}
	h := s.handle(id, e.incarnation)
	h.owner = owner
	keep := false
	defer func() {
		if !keep {
			_ = h.Close() // it never fails
		}
	}()
	var err error
	if u.objects, err = h.stow(ctx, u.opts.Objects, u.at); err != nil {
		return nil, err
	}
	p, c, err := h.genesis(u, e, batch{tx: tx, at: u.at, events: u.events})
	if err != nil {
		return nil, err
	}
	if rest := p.ride(u.objects); len(rest) > 0 {
		// Nothing is put for a session that will not be.
		if _, taken, err := s.lookup(ctx, id); err != nil || taken {
			return nil, err
		}
		if err := s.putObjects(ctx, h.repo, rest); err != nil {
			return nil, err
		}
	}
	made, err := s.make(ctx, p, tx, e)
	if err != nil {
		return nil, err
	}
	if !made {
		return nil, s.scrap(ctx, h.partition)
	}
	h.advance(c, c, p.items)
	s.remember(h.repo, u.objects)
	keep = true
	return h, nil
}

// genesis puts the transaction together that makes a session.
func (r *repo) genesis(u *update, e entry, b batch) (*plan, *control, error) {
	p := &plan{repo: r}
	absent := &expr{}
	absent.absent()
	listings := e.listings(r.store.tenant)
	name := key(directory(r.store.tenant), namePrefix+string(e.id))
	c := &control{created: e.created, leases: map[ref.Name]grant{}}
	next := c
	packed := false
	if len(b.events) > 0 {
		next = c.appended(b.encode(), len(b.events))
		if packed = next.full(r.partition); packed {
			next = c.packed(len(b.events))
		}
	}
	for _, it := range append(listings, name) {
		it[attrIncarnation], it[attrCreated] = text(e.incarnation), number(e.created)
		if e.owner != "" {
			it[attrOwnedBy] = text(e.owner)
		}
	}
	if err := p.put(name, absent); err != nil {
		return nil, nil, err
	}
	for _, it := range listings {
		if err := p.put(it, nil); err != nil {
			return nil, nil, err
		}
	}
	at := p.reserve()
	if err := p.refs(&view{control: c}, u.writes, next.seq); err != nil {
		return nil, nil, err
	}
	next.buckets = p.made
	it := next.item(r.partition)
	p.actions[at].Put, p.size = &types.Put{TableName: &r.store.table, Item: it}, p.size+sizeOf(it)
	if packed {
		if err := p.packs(c, b); err != nil {
			return nil, nil, err
		}
	}
	return p, next, nil
}

// make sends the transaction until it is known whether it happened. It may be sent twice: its incarnation in the directory tells whose
// session it is.
func (s *Store) make(ctx context.Context, p *plan, tx txID, e entry) (bool, error) {
	in := p.input(tx)
	for pace := s.pacer(); ; {
		_, err := s.client.TransactWriteItems(ctx, in, once)
		if err == nil {
			return true, nil
		}
		why := classify(ctx, err)
		switch why {
		case fatal:
			return false, err
		case refused:
			old, failed := oldItem(err, 0)
			return failed && textOf(old, attrIncarnation) == e.incarnation, nil
		case contended, throttled, unknown:
		}
		if err := pace.after(ctx, why, err); err != nil {
			return false, err
		}
		if why != throttled {
			if found, ok, err := s.lookup(ctx, e.id); err != nil || ok {
				return ok && found.incarnation == e.incarnation, err
			}
		}
	}
}

// announce wakes the watches of this Store for a new session.
func (s *Store) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.sessions)
	s.sessions = make(chan struct{})
}
