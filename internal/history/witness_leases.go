package history

import (
	"fmt"
	"math"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

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
