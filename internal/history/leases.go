package history

import (
	"cmp"
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
