package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// leases judge the calls on the leases of a session. The order of grants is that of their fences; when a lease ends is known from its
// release or the next grant, up to the duration of those calls.
type leases struct {
	margin  store.Millis
	names   map[ref.Name]*leaseName
	grants  map[leaseKey]*leaseGrant
	granted int
	refused int
}

type leaseName struct {
	grants []*leaseGrant // by fence
	lost   []*Op         // acquisitions whose outcome is unknown
	held   []*Op         // acquisitions that met a holder
}

// A leaseKey is a lease without its expiry.
type leaseKey struct {
	name  ref.Name
	owner string
	fence int64
}

func keyOf(l store.Lease) leaseKey { return leaseKey{name: l.Name, owner: l.Owner, fence: l.Fence} }

// A leaseGrant is one granted lease and what its holder did with it.
type leaseGrant struct {
	by    *Op
	lease store.Lease
	took  bool
	ends  []*Op  // calls that released it, or may have
	uses  []*Op  // calls that were told that it holds
	noes  []*Op  // calls that were told that it does not
	terms []term // what may have set its expiry
	next  *Op    // of the grants after it the one that returned first
	began int64  // when the first grant after it was called
}

// A term is a call that set the expiry of a lease, to something from least to most.
type term struct {
	*Op

	least, most store.Millis
}

func newLeases(ops []*Op, margin store.Millis) *leases {
	l := &leases{margin: margin, names: map[ref.Name]*leaseName{}, grants: map[leaseKey]*leaseGrant{}}
	for _, o := range ops {
		if d, ok := o.Did.(Acquires); ok {
			l.acquired(o, d)
		}
	}
	for _, o := range ops {
		if lease := o.lease(); lease != nil {
			if g := l.grants[keyOf(*lease)]; g != nil {
				g.used(o)
			}
		}
		if o.verdict() == refused {
			l.refused++
		}
	}
	for _, n := range l.names {
		slices.SortFunc(n.grants, func(a, b *leaseGrant) int { return cmp.Compare(a.lease.Fence, b.lease.Fence) })
	}
	return l
}

func (l *leases) acquired(o *Op, d Acquires) {
	n := l.names[d.Name]
	if n == nil {
		n = &leaseName{}
		l.names[d.Name] = n
	}
	if !o.Known() {
		n.lost = append(n.lost, o)
		return
	}
	switch out := d.Outcome.(type) {
	case store.Acquired:
		g := &leaseGrant{by: o, lease: out.Lease, took: out.Takeover, began: math.MaxInt64}
		g.terms = []term{{Op: o, least: out.Lease.ExpiresAt, most: out.Lease.ExpiresAt}}
		n.grants = append(n.grants, g)
		l.grants[keyOf(out.Lease)] = g
		l.granted++
	case store.Held:
		n.held = append(n.held, o)
	}
}

// used notes a call that stands on the lease.
func (g *leaseGrant) used(o *Op) {
	switch o.verdict() {
	case held:
		g.uses = append(g.uses, o)
	case refused:
		g.noes = append(g.noes, o)
		return
	case silent:
	}
	// A conflict changes nothing.
	if d, ok := o.Did.(Updates); ok && o.Known() {
		if _, ok := d.Outcome.(store.Updated); !ok {
			return
		}
	}
	if o.releases() {
		g.ends = append(g.ends, o)
	}
	if ttl := store.Millis(o.renews().Milliseconds()); ttl > 0 {
		t := term{Op: o, least: o.Earliest + ttl, most: math.MaxInt64}
		if o.Known() {
			t.most = o.Latest + ttl
		}
		if d, ok := o.Did.(Renews); ok && o.Known() {
			t.least, t.most = d.Renewed.ExpiresAt, d.Renewed.ExpiresAt
		}
		g.terms = append(g.terms, t)
	}
}

// grantsInOrder checks that fences go up in real time, and that nobody was granted what another still held.
func (l *leases) grantsInOrder() error {
	for _, n := range l.names {
		var latest *Op
		for i, g := range n.grants {
			if latest != nil && g.by.Return < latest.Call {
				return fmt.Errorf("a later grant has a lower fence: %v came after %v", latest, g.by)
			}
			if latest == nil || g.by.Call > latest.Call {
				latest = g.by
			}
			var before *leaseGrant
			if i > 0 {
				before = n.grants[i-1]
				if before.lease.Fence == g.lease.Fence {
					return fmt.Errorf("two grants have one fence: %v and %v", before.by, g.by)
				}
			}
			if err := l.succeeds(n, before, g); err != nil {
				return err
			}
		}
		for i := len(n.grants) - 2; i >= 0; i-- {
			g, after := n.grants[i], n.grants[i+1]
			g.next, g.began = after.next, min(after.began, after.by.Call)
			if g.next == nil || after.by.Return < g.next.Return {
				g.next = after.by
			}
		}
	}
	return nil
}

// succeeds checks a grant against the one before it, nil when there is none.
func (l *leases) succeeds(n *leaseName, before, g *leaseGrant) error {
	stranger := begun(n.lost, g.by.Return)
	if before == nil {
		if g.took && !stranger {
			return fmt.Errorf("taken over from nobody: %v", g.by)
		}
		return nil
	}
	released := begun(before.ends, g.by.Return)
	if !released && g.by.Latest < before.expiry(g.by)+l.margin {
		return fmt.Errorf("granted although %v holds it: %v", before.by, g.by)
	}
	if stranger {
		return nil
	}
	if !released && !g.took {
		return fmt.Errorf("not called a takeover although nobody released %v: %v", before.by, g.by)
	}
	if g.took && slices.ContainsFunc(before.ends, (*Op).Known) {
		return fmt.Errorf("called a takeover although the holder had released %v: %v", before.by, g.by)
	}
	return nil
}

// expiry returns the earliest that a lease may have expired at when another was granted: the least of its terms, without those that were
// surely replaced by then.
func (g *leaseGrant) expiry(then *Op) store.Millis {
	var replaced int64
	for _, t := range g.terms {
		if t.Return < then.Call {
			replaced = max(replaced, t.Call)
		}
	}
	least := store.Millis(math.MaxInt64)
	for _, t := range g.terms {
		if t.Return >= replaced {
			least = min(least, t.least)
		}
	}
	return least
}

// uses checks what holders were told.
func (l *leases) uses() error {
	for _, n := range l.names {
		for _, g := range n.grants {
			if err := g.check(n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *leaseGrant) check(n *leaseName) error {
	first, second := int64(Open), int64(Open) // of the releases the two that returned first
	var end, no *Op
	for _, e := range g.ends {
		if e.Return < first {
			first, second, end = e.Return, first, e
		} else if e.Return < second {
			second = e.Return
		}
	}
	if second != Open {
		return fmt.Errorf("released twice, once by %v", end)
	}
	for _, o := range g.noes {
		if no == nil || o.Return < no.Return {
			no = o
		}
	}
	for _, o := range g.uses {
		switch {
		case o.Return < g.by.Call:
			return fmt.Errorf("used before it was granted by %v: %v", g.by, o)
		case end != nil && o != end && end.Return < o.Call:
			return fmt.Errorf("used after it was released by %v: %v", end, o)
		case g.next != nil && g.next.Return < o.Call:
			return fmt.Errorf("used after it was lost to %v: %v", g.next, o)
		case no != nil && no.Return < o.Call:
			return fmt.Errorf("used after it was refused to %v: %v", no, o)
		}
	}
	for _, o := range g.noes {
		if !begun(g.ends, o.Return) && g.began > o.Return && !begun(n.lost, o.Return) {
			return fmt.Errorf("refused although nothing had ended the lease of %v: %v", g.by, o)
		}
	}
	return nil
}

// contenders checks what those were told who met a holder.
func (l *leases) contenders() error {
	for name, n := range l.names {
		for _, o := range n.held {
			d, ok := o.Did.(Acquires)
			if !ok {
				continue
			}
			out, ok := d.Outcome.(store.Held)
			if !ok {
				continue
			}
			h := out.Holder
			if h.Name != name || h.ExpiresAt+l.margin <= o.Earliest {
				return fmt.Errorf("held off by an expired lease: %v", o)
			}
			g := l.grants[keyOf(h)]
			if g == nil {
				if !begun(n.lost, o.Return) {
					return fmt.Errorf("held off by somebody who was never granted: %v", o)
				}
				continue
			}
			for _, e := range g.ends {
				if e.Return < o.Call {
					return fmt.Errorf("held off by a lease that %v had released: %v", e, o)
				}
			}
			if g.by.Call > o.Return || g.next != nil && g.next.Return < o.Call {
				return fmt.Errorf("held off by a lease that was not granted yet or lost already, to %v: %v", g.next, o)
			}
			if !slices.ContainsFunc(g.terms, func(t term) bool {
				return t.Call <= o.Return && t.least <= h.ExpiresAt && h.ExpiresAt <= t.most
			}) {
				return fmt.Errorf("nobody made the lease last until %d: %v", h.ExpiresAt, o)
			}
		}
	}
	return nil
}

// sequence checks that the stream has no write under a lease after one under a later lease, or after its release.
func (l *leases) sequence(writes []write) error {
	type newest struct {
		fence    int64
		released bool
		by       *Op
	}
	names := map[ref.Name]newest{}
	for _, o := range writes {
		lease := o.lease()
		if lease == nil {
			continue
		}
		if o.Known() && l.grants[keyOf(*lease)] == nil {
			return fmt.Errorf("written under a lease that nobody was granted: %v", o)
		}
		n := names[lease.Name]
		if lease.Fence < n.fence || lease.Fence == n.fence && n.released {
			return fmt.Errorf("number %d was written under a lease that had ended for %v: %v", o.seq, n.by, o)
		}
		names[lease.Name] = newest{fence: lease.Fence, released: o.releases(), by: o.Op}
	}
	return nil
}

// begun reports whether one of ops was called before a moment.
func begun(ops []*Op, moment int64) bool {
	return slices.ContainsFunc(ops, func(o *Op) bool { return o.Call <= moment })
}
