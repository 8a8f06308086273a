package storetest

import (
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func fenceTests() []test {
	return []test{
		{"C34 B51 a holder that was taken over moves no ref and appends no event", fenceTakenOver},
		{"C34 B51 a holder that released is fenced", fenceReleased},
		{"a lease fences refs of any name", fenceAnyRef},
		{"an expired lease that nobody took still publishes", fenceExpiredUntaken},
		{"renew rides on an update", fenceRenew},
		{"release rides on an update", fenceRelease},
		{"renew and release ride only when the update is made", fenceRideOnlyOnSuccess},
		{"without a lease nothing is fenced", fenceWithoutLease},
	}
}

// fenced expects l to be refused by updates and appends, and nothing to change.
func (f *fixture) fenced(what string, s store.Session, l store.Lease) {
	f.Helper()
	f.unchanged(what, func() {
		out := f.update(s, store.UpdateOptions{
			Lease: &l, Renew: time.Hour, Release: true,
			Objects: []object.Encoded{f.blob("fenced")}, Events: []store.EventBody{notice("fenced")},
		}, store.Update{Name: "refs/fenced", To: id("1")})
		equal(f, what+": update", store.UpdateOutcome(store.Fenced{}), out)
		out = f.update(s, store.UpdateOptions{Lease: &l}, store.Absent("refs/fenced"))
		equal(f, what+": assertion", store.UpdateOutcome(store.Fenced{}), out)
		appended := got(s.AppendEvents(f.Context(), []store.EventBody{notice("fenced")}, &l))(f)
		equal(f, what+": append", store.AppendOutcome(store.Fenced{}), appended)
	})
}

// publishes expects l to be honoured by updates and appends.
func (f *fixture) publishes(what string, s store.Session, l store.Lease) {
	f.Helper()
	last := f.last(s)
	seq := f.updated(s, store.UpdateOptions{Lease: &l}, store.Update{Name: "refs/published", To: id("1")})
	equal(f, what+": update", last+1, seq)
	out := got(s.AppendEvents(f.Context(), []store.EventBody{notice("published")}, &l))(f)
	equal(f, what+": append", store.AppendOutcome(store.Appended{Seq: last + 2}), out)
	f.set(s, "refs/published", id("1"), object.OID{})
}

func fenceTakenOver(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.publishes("the holder", f.a, lease)
	f.expire(lease)
	next := f.acquire(f.b, leaseName, ttl)
	f.fenced("the former holder", f.a, lease)
	l, _ := f.lease(f.a, leaseName)
	equal(f, "the successor's lease", next, l)
	f.publishes("the successor", f.b, next)
	f.expire(next)
	f.fenced("the former holder, when the successor expired", f.a, lease)
	for what, forged := range map[string]store.Lease{
		"no owner":         {Name: leaseName, Fence: next.Fence},
		"another's owner":  {Name: leaseName, Owner: lease.Owner, Fence: next.Fence},
		"another's fence":  {Name: leaseName, Owner: next.Owner, Fence: lease.Fence},
		"a name never had": {Name: "refs/heads/other", Owner: next.Owner, Fence: next.Fence},
	} {
		f.fenced(what, f.a, forged)
	}
}

func fenceReleased(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	got(f.a.ReleaseLease(f.Context(), lease))(f)
	f.fenced("after release", f.a, lease)
	f.fenced("without an owner, after release", f.a, store.Lease{Name: leaseName, Fence: lease.Fence})
	next := f.acquire(f.b, leaseName, ttl)
	f.fenced("after the next grant", f.a, lease)
	f.publishes("the next holder", f.b, next)
}

func fenceAnyRef(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.updated(f.a, store.UpdateOptions{Lease: &lease},
		store.Update{Name: leaseName, To: id("1")}, store.Update{Name: "refs/runs/main", To: id("2")})
	equal(f, "ref", id("2"), f.read(f.b, "refs/runs/main"))
}

func fenceExpiredUntaken(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.clock.Set(lease.ExpiresAt.Time().Add(time.Hour))
	f.publishes("the expired holder", f.a, lease)
	if l, ok := f.lease(f.b, leaseName); ok {
		f.Errorf("publishing brought back the lease %v", l)
	}
}

func fenceRenew(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.clock.Advance(10 * time.Second)
	f.updated(f.a, store.UpdateOptions{Lease: &lease, Renew: time.Minute}, store.Update{Name: "refs/x", To: id("1")})
	want := lease
	want.ExpiresAt = f.clock.Millis() + 60_000
	l, _ := f.lease(f.b, leaseName)
	equal(f, "lease", want, l)

	f.clock.Set(want.ExpiresAt.Time().Add(time.Hour))
	f.updated(f.a, store.UpdateOptions{Lease: &lease, Renew: time.Minute}, store.Assert("refs/x", id("1")))
	want.ExpiresAt = f.clock.Millis() + 60_000
	l, _ = f.lease(f.b, leaseName)
	equal(f, "lease renewed by an assertion after its expiry", want, l)
	equal(f, "last sequence number", store.Seq(1), f.last(f.b))
}

func fenceRelease(f *fixture) {
	for _, renew := range []store.Duration{0, time.Minute} {
		lease := f.acquire(f.a, leaseName, ttl)
		f.updated(f.a, store.UpdateOptions{Lease: &lease, Renew: renew, Release: true}, store.Absent("refs/x"))
		if l, ok := f.lease(f.b, leaseName); ok {
			f.Errorf("after a release with an update the lease is %v", l)
		}
		f.fenced("the holder that released", f.a, lease)
		next := f.acquire(f.b, leaseName, ttl)
		if next.Fence <= lease.Fence {
			f.Errorf("the fence %d came after %d", next.Fence, lease.Fence)
		}
		got(f.b.ReleaseLease(f.Context(), next))(f)
	}
}

func fenceRideOnlyOnSuccess(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	for _, opts := range []store.UpdateOptions{
		{Lease: &lease, Renew: time.Hour},
		{Lease: &lease, Release: true},
	} {
		out := f.update(f.a, opts, store.Assert("refs/x", id("wrong")))
		equal(f, "outcome", store.UpdateOutcome(store.UpdateConflict{Name: "refs/x"}), out)
		l, _ := f.lease(f.b, leaseName)
		equal(f, "lease after a conflict", lease, l)
	}
}

func fenceWithoutLease(f *fixture) {
	f.acquire(f.a, leaseName, ttl)
	f.set(f.b, leaseName, object.OID{}, id("1"))
	f.append(f.b, notice("n"))
	equal(f, "last sequence number", store.Seq(2), f.last(f.a))
}
