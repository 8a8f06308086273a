package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Workload is what a few clients do to a few refs and leases, drawn from a seed: moves of several refs with and without a lease, guesses
// that are out of date, assertions, reads, appends, leases that are renewed, released, left to expire and used when they are lost.
type Workload struct {
	Seed    uint64
	Clients int
	Calls   int // of each client
	Refs    int
	Leases  int
	// Advance moves the stores' clock.
	Advance func(time.Duration)
	// Turn is called by a client before each of its calls; nil lets them run freely.
	Turn func(client int)
}

// Run lets the clients work until each has made its calls. Each item of handles opens the same sessions, in the same order; the clients
// share them evenly. A call that fails has an unknown outcome, unless the store refuses to work at all, which is returned.
func (w Workload) Run(ctx context.Context, r *Recorder, handles [][]store.Session) error {
	errs := make([]error, w.Clients)
	var wg sync.WaitGroup
	for i := range w.Clients {
		c := &client{
			Workload: w, id: i, random: rand.New(rand.NewPCG(w.Seed, uint64(i))),
		}
		for _, s := range handles[i%len(handles)] {
			c.desks = append(c.desks, &desk{s: r.Wrap(s, i), seen: map[ref.Name]object.OID{}, leases: map[ref.Name]store.Lease{}})
		}
		wg.Go(func() { errs[i] = c.run(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// A client makes one call at a time.
type client struct {
	Workload

	id     int
	calls  int
	random *rand.Rand
	desks  []*desk
}

// A desk is what a client knows about one session.
type desk struct {
	s      store.Session
	seen   map[ref.Name]object.OID
	leases map[ref.Name]store.Lease
}

func (c *client) run(ctx context.Context) error {
	for c.calls = range c.Calls {
		if c.Turn != nil {
			c.Turn(c.id)
		}
		if c.chance(0.15) {
			c.Advance(time.Duration(c.random.IntN(3000)) * time.Millisecond)
		}
		err := c.call(ctx, c.desks[c.random.IntN(len(c.desks))])
		if errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrUnknownSession) || errors.Is(err, store.ErrClosed) {
			return fmt.Errorf("client %d, call %d: %w", c.id, c.calls, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) chance(p float64) bool { return c.random.Float64() < p }

func (c *client) ttl() store.Duration {
	return time.Duration(1000+c.random.IntN(7000)) * time.Millisecond
}

func (c *client) leaseName() ref.Name {
	return ref.Name(fmt.Sprintf("refs/heads/%d", c.random.IntN(c.Leases)))
}

// text returns one that no other call of the workload has.
func (c *client) text(n int) string { return fmt.Sprintf("%d/%d/%d/%d", c.Seed, c.id, c.calls, n) }

func (c *client) call(ctx context.Context, d *desk) error {
	switch p := c.random.IntN(100); {
	case p < 25:
		return c.read(ctx, d)
	case p < 65:
		return c.update(ctx, d)
	case p < 77:
		return c.append(ctx, d)
	default:
		return c.lease(ctx, d)
	}
}

// names returns from one to most names of refs.
func (c *client) names(most int) []ref.Name {
	var names []ref.Name
	for _, i := range c.random.Perm(c.Refs)[:1+c.random.IntN(min(most, c.Refs))] {
		names = append(names, ref.Name(fmt.Sprintf("refs/x/%d", i)))
	}
	return names
}

func (c *client) read(ctx context.Context, d *desk) error {
	names := c.names(c.Refs)
	oids, err := d.s.ReadRefs(ctx, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		d.seen[name] = oids[i]
	}
	return nil
}

func (c *client) update(ctx context.Context, d *desk) error {
	var updates []store.Update
	for i, name := range c.names(3) {
		from := d.seen[name]
		if c.chance(0.1) {
			from = object.OID{}
		}
		u := store.Assert(name, from)
		switch {
		case c.chance(0.2):
		case c.chance(0.1):
			u.To = object.OID{}
		default:
			u.To = object.Hash([]byte(c.text(i)))
		}
		updates = append(updates, u)
	}
	opts := store.UpdateOptions{Reason: c.text(-1), Events: c.notices(c.random.IntN(3))}
	if l, ok := d.leases[c.leaseName()]; ok && c.chance(0.7) {
		opts.Lease = &l
		if c.chance(0.2) {
			opts.Renew = c.ttl()
		}
		opts.Release = c.chance(0.1)
	}
	out, err := d.s.UpdateRefs(ctx, updates, opts)
	if err != nil {
		return err
	}
	switch out := out.(type) {
	case store.Updated:
		for _, u := range updates {
			d.seen[u.Name] = u.To
		}
	case store.UpdateConflict:
		d.seen[out.Name] = out.Actual
	case store.Fenced:
		c.lost(d, opts.Lease)
	}
	return nil
}

// lost forgets a lease, mostly.
func (c *client) lost(d *desk, l *store.Lease) {
	if c.chance(0.7) {
		delete(d.leases, l.Name)
	}
}

func (c *client) notices(n int) []store.EventBody {
	var list []store.EventBody
	for i := range n {
		list = append(list, store.NoticeEvent{Level: store.Info, Message: c.text(100 + i)})
	}
	return list
}

func (c *client) append(ctx context.Context, d *desk) error {
	var lease *store.Lease
	if l, ok := d.leases[c.leaseName()]; ok && c.chance(0.7) {
		lease = &l
	}
	out, err := d.s.AppendEvents(ctx, c.notices(1+c.random.IntN(3)), lease)
	if err != nil {
		return err
	}
	if _, fenced := out.(store.Fenced); fenced {
		c.lost(d, lease)
	}
	return nil
}

// lease acquires, renews or releases.
func (c *client) lease(ctx context.Context, d *desk) error {
	name := c.leaseName()
	l, mine := d.leases[name]
	p := c.random.Float64()
	switch {
	case mine && p < 0.4:
		renewed, ok, err := d.s.RenewLease(ctx, l, c.ttl())
		if err != nil {
			return err
		}
		if ok {
			d.leases[name] = renewed
			return nil
		}
		c.lost(d, &l)
	case mine && p < 0.65:
		if _, err := d.s.ReleaseLease(ctx, l); err != nil {
			return err
		}
		c.lost(d, &l)
	default:
		out, err := d.s.AcquireLease(ctx, name, c.ttl())
		if err != nil {
			return err
		}
		if got, ok := out.(store.Acquired); ok {
			d.leases[name] = got.Lease
		}
	}
	return nil
}
