package storetest

import (
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

const (
	leaseName ref.Name = "refs/heads/main"
	ttl                = 30 * time.Second
)

func leaseTests() []test {
	return []test{
		{"C30 a live lease refuses a second acquire and names the holder", leaseHeld},
		{"C31 renew and release succeed for the holder, a second release does not", leaseRenewRelease},
		{"C32 B52 after expiry read shows none and a takeover gets a higher fence at once", leaseTakeover},
		{"B38 a lease is live until the millisecond of its expiry, and not at it", leaseBoundary},
		{"C33 the former holder cannot renew or release", leaseFormerHolder},
		{"an expired lease that nobody took is renewed", leaseExpiredUntaken},
		{"fences go up across release and expiry", leaseFencesGoUp},
		{"a grant says whether the last holder went without releasing", leaseTakeoverSaid},
		{"a grant says which event was the newest", leaseSeqSaid},
		{"leases of different names and sessions are independent", leaseIndependent},
		{"leases make no event", leaseSilent},
		{"a bad name or a ttl below a millisecond is refused", leaseInvalid},
	}
}

// held expects the name to be held.
func (f *fixture) held(s store.Session, name ref.Name) store.Lease {
	f.Helper()
	out := got(s.AcquireLease(f.Context(), name, ttl))(f)
	held, ok := out.(store.Held)
	if !ok {
		f.Fatalf("acquiring %s: got %#v, want Held", name, out)
	}
	return held.Holder
}

// expire moves the clock to where l no longer holds anybody off.
func (f *fixture) expire(l store.Lease) {
	f.clock.Set(l.ExpiresAt.Time().Add(f.caps.SkewMargin))
}

func leaseHeld(f *fixture) {
	if l, ok := f.lease(f.a, leaseName); ok {
		f.Errorf("a new session has the lease %v", l)
	}
	lease := f.acquire(f.a, leaseName, ttl)
	equal(f, "granted", store.Lease{
		Name: leaseName, Owner: lease.Owner, Fence: lease.Fence, ExpiresAt: f.clock.Millis() + store.Millis(ttl.Milliseconds()),
	}, lease)
	if lease.Owner == "" || lease.Fence < 1 {
		f.Errorf("the lease %v has no owner or no fence", lease)
	}
	f.both(func(name string, s store.Session) {
		equal(f, name+": holder", lease, f.held(s, leaseName))
		l, ok := f.lease(s, leaseName)
		if !ok {
			f.Errorf("%s: the lease is not there", name)
		}
		equal(f, name+": read", lease, l)
	})
}

func leaseRenewRelease(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.clock.Advance(10 * time.Second)
	renewed, ok, err := f.b.RenewLease(f.Context(), lease, time.Minute)
	f.must(err)
	if !ok {
		f.Fatal("the holder could not renew")
	}
	want := lease
	want.ExpiresAt = f.clock.Millis() + 60_000
	equal(f, "renewed", want, renewed)
	l, _ := f.lease(f.a, leaseName)
	equal(f, "read", want, l)

	// A shorter ttl shortens, and owner and fence are all that counts.
	f.clock.Advance(time.Second)
	renewed, ok, err = f.a.RenewLease(f.Context(), lease, time.Millisecond)
	f.must(err)
	if !ok || renewed.ExpiresAt != f.clock.Millis()+1 {
		f.Errorf("renewing to a millisecond gave %v, %v", renewed, ok)
	}

	equal(f, "release", true, got(f.a.ReleaseLease(f.Context(), lease))(f))
	if l, ok := f.lease(f.b, leaseName); ok {
		f.Errorf("after release the lease is %v", l)
	}
	equal(f, "second release", false, got(f.a.ReleaseLease(f.Context(), lease))(f))
	_, ok, err = f.a.RenewLease(f.Context(), lease, ttl)
	f.must(err)
	equal(f, "renew after release", false, ok)
	if l, ok := f.lease(f.b, leaseName); ok {
		f.Errorf("a refused renew made the lease %v", l)
	}
}

func leaseTakeover(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.expire(lease)
	f.both(func(name string, s store.Session) {
		if l, ok := f.lease(s, leaseName); ok {
			f.Errorf("%s: reads the expired lease %v", name, l)
		}
	})
	next := f.acquire(f.b, leaseName, ttl)
	if next.Fence <= lease.Fence || next.Owner == lease.Owner {
		f.Errorf("the lease %v was followed by %v", lease, next)
	}
}

func leaseBoundary(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.clock.Set(lease.ExpiresAt.Time().Add(-time.Millisecond))
	if _, ok := f.lease(f.b, leaseName); !ok {
		f.Error("the lease is gone a millisecond before its expiry")
	}
	f.held(f.b, leaseName)
	f.expire(lease)
	if _, ok := f.lease(f.b, leaseName); ok {
		f.Error("the lease is still there at its expiry")
	}
	f.acquire(f.b, leaseName, ttl)
}

func leaseFormerHolder(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.expire(lease)
	next := f.acquire(f.b, leaseName, ttl)
	forged := next
	forged.Fence = lease.Fence
	stolen := next
	stolen.Owner = lease.Owner
	for name, l := range map[string]store.Lease{"the former": lease, "the fence": forged, "the owner": stolen} {
		_, ok, err := f.a.RenewLease(f.Context(), l, time.Hour)
		f.must(err)
		equal(f, "renew with "+name, false, ok)
		equal(f, "release with "+name, false, got(f.a.ReleaseLease(f.Context(), l))(f))
	}
	l, ok := f.lease(f.a, leaseName)
	if !ok {
		f.Error("the successor lost its lease")
	}
	equal(f, "the successor's lease", next, l)
}

func leaseExpiredUntaken(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	f.clock.Set(lease.ExpiresAt.Time().Add(time.Hour))
	renewed, ok, err := f.a.RenewLease(f.Context(), lease, ttl)
	f.must(err)
	if !ok || renewed.ExpiresAt != f.clock.Millis()+store.Millis(ttl.Milliseconds()) || renewed.Fence != lease.Fence {
		f.Errorf("renewing an expired lease gave %v, %v", renewed, ok)
	}
	equal(f, "holder", renewed, f.held(f.b, leaseName))
	f.clock.Set(renewed.ExpiresAt.Time().Add(time.Hour))
	equal(f, "release after expiry", true, got(f.b.ReleaseLease(f.Context(), renewed))(f))
}

func leaseFencesGoUp(f *fixture) {
	var fence int64
	owners := map[string]bool{}
	for i := range 6 {
		s := []store.Session{f.a, f.b}[i%2]
		lease := f.acquire(s, leaseName, ttl)
		if lease.Fence <= fence {
			f.Errorf("the fence %d came after %d", lease.Fence, fence)
		}
		if owners[lease.Owner] {
			f.Errorf("the owner %q came twice", lease.Owner)
		}
		fence, owners[lease.Owner] = lease.Fence, true
		switch i % 3 {
		case 0:
			equal(f, "release", true, got(s.ReleaseLease(f.Context(), lease))(f))
		case 1:
			f.expire(lease)
		case 2:
			f.updated(s, store.UpdateOptions{Lease: &lease, Release: true}, store.Absent("refs/none"))
		}
	}
}

func leaseTakeoverSaid(f *fixture) {
	grant := func(want bool, what string) store.Lease {
		f.Helper()
		acquired := f.acquired(f.b, leaseName, ttl)
		equal(f, what, want, acquired.Takeover)
		return acquired.Lease
	}
	lease := grant(false, "takeover of a new name")
	got(f.a.ReleaseLease(f.Context(), lease))(f)
	lease = grant(false, "takeover after release")
	f.expire(lease)
	lease = grant(true, "takeover after expiry")
	f.updated(f.a, store.UpdateOptions{Lease: &lease, Release: true}, store.Absent("refs/none"))
	lease = grant(false, "takeover after release with an update")
	f.expire(lease)
	got(f.a.ReleaseLease(f.Context(), lease))(f)
	grant(false, "takeover after a late release")
}

func leaseSeqSaid(f *fixture) {
	for range 3 {
		acquired := f.acquired(f.b, leaseName, ttl)
		equal(f, "newest event", f.last(f.a), acquired.Seq)
		got(f.b.ReleaseLease(f.Context(), acquired.Lease))(f)
		got(f.a.AppendEvents(f.Context(), []store.EventBody{store.NoticeEvent{Level: store.Info, Owner: "test", Message: "more"}}, nil))(f)
	}
}

func leaseIndependent(f *fixture) {
	other := f.create(f.storeA, store.CreateOptions{ID: "other"})
	x := f.acquire(f.a, leaseName, ttl)
	y := f.acquire(f.a, "refs/heads/main-2", ttl)
	z := f.acquire(other, leaseName, ttl)
	if x.Owner == y.Owner || x.Owner == z.Owner {
		f.Errorf("owners repeat: %v, %v, %v", x, y, z)
	}
	out := f.update(other, store.UpdateOptions{Lease: &x}, store.Update{Name: "refs/x", To: id("1")})
	equal(f, "the lease of another session", store.UpdateOutcome(store.Fenced{}), out)
	equal(f, "release", true, got(f.a.ReleaseLease(f.Context(), x))(f))
	f.held(f.b, "refs/heads/main-2")
	f.held(other, leaseName)
}

func leaseSilent(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	_, _, err := f.a.RenewLease(f.Context(), lease, ttl)
	f.must(err)
	got(f.a.ReleaseLease(f.Context(), lease))(f)
	equal(f, "last sequence number", store.Seq(0), f.last(f.b))
	if oid := f.read(f.b, leaseName); oid != (object.OID{}) {
		f.Errorf("the lease moved the ref of its name to %s", oid)
	}
}

func leaseInvalid(f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	for _, tc := range []struct {
		name ref.Name
		ttl  store.Duration
	}{
		{"", ttl},
		{"refs/../x", ttl},
		{leaseName, 0},
		{leaseName, -ttl},
		{leaseName, 999 * time.Microsecond},
	} {
		_, err := f.a.AcquireLease(f.Context(), tc.name, tc.ttl)
		f.refused("acquire "+string(tc.name)+" for "+tc.ttl.String(), err, store.ErrInvalid)
		l := lease
		l.Name = tc.name
		_, _, err = f.a.RenewLease(f.Context(), l, tc.ttl)
		f.refused("renew "+string(tc.name)+" for "+tc.ttl.String(), err, store.ErrInvalid)
	}
	equal(f, "holder", lease, f.held(f.b, leaseName))
}
