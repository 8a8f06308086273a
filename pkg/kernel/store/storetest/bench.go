package storetest

import (
	"fmt"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Benchmark measures the operations that a kernel lives on, each on a backend of its own.
func Benchmark(b *testing.B, open Opener) {
	s := &suite{open: open}
	for _, c := range []struct {
		name string
		run  func(*testing.B, *fixture)
	}{
		{"Put", benchPut},
		{"Get", benchGet},
		{"Chain64", func(b *testing.B, f *fixture) { benchChain(b, f, 64) }},
		{"Chain1000", func(b *testing.B, f *fixture) { benchChain(b, f, 1000) }},
		{"Update4", benchUpdate},
		{"Submit", benchSubmit},
		{"Append", benchAppend},
		{"ReadPage", benchReadPage},
		{"AcquireRelease", benchLease},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			c.run(b, s.start(b))
		})
	}
}

// benchPut stores one new object of about a kilobyte.
func benchPut(b *testing.B, f *fixture) {
	objs := make([]object.Encoded, b.N)
	for i := range objs {
		objs[i] = f.blob(fmt.Sprintf("%01000d", i))
	}
	b.ResetTimer()
	for _, e := range objs {
		f.put(f.a, e)
	}
}

// benchGet reads one object that was read before.
func benchGet(b *testing.B, f *fixture) {
	e := f.blob(fmt.Sprintf("%01000d", 0))
	f.put(f.a, e)
	for b.Loop() {
		f.has(f.b, e.OID)
	}
}

// benchChain reads a chain of n commits that was read before.
func benchChain(b *testing.B, f *fixture, n int) {
	objs := f.commits(n)
	f.put(f.a, objs...)
	for b.Loop() {
		if chain := got(f.b.Chain(f.Context(), objs[n-1].OID, object.OID{}, n))(f); len(chain) != n {
			b.Fatalf("the chain has %d of %d", len(chain), n)
		}
	}
}

// benchUpdate moves four refs under a lease.
func benchUpdate(b *testing.B, f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	updates := make([]store.Update, 4)
	for i := range updates {
		updates[i].Name = ref.Name(fmt.Sprintf("refs/bench/%d", i))
	}
	round := 0
	for b.Loop() {
		round++
		to := id(fmt.Sprint(round))
		for i := range updates {
			updates[i].From, updates[i].To = updates[i].To, to
		}
		f.updated(f.a, store.UpdateOptions{Lease: &lease}, updates...)
	}
}

// benchSubmit is shaped like a submission: a new change rides on an update that moves a lane's tip, leaves a receipt, and
// asserts that the session is not being deleted.
func benchSubmit(b *testing.B, f *fixture) {
	changes := f.changes(b.N)
	b.ResetTimer()
	var tip object.OID
	for i, e := range changes {
		f.updated(f.a, store.UpdateOptions{Reason: "submit", Objects: []object.Encoded{e}},
			store.Update{Name: ref.QueueTip("main", "prompt"), From: tip, To: e.OID},
			store.Update{Name: ref.Key(fmt.Sprint(i)), To: e.OID},
			store.Absent(ref.Deleted))
		tip = e.OID
	}
}

// benchAppend adds 16 deltas under a lease, as a streaming response does.
func benchAppend(b *testing.B, f *fixture) {
	lease := f.acquire(f.a, leaseName, ttl)
	bodies := make([]store.EventBody, 16)
	for i := range bodies {
		bodies[i] = store.DeltaEvent{RunID: "run_1", Attempt: 1, Part: store.TextPart, Delta: "a few words "}
	}
	for b.Loop() {
		got(f.a.AppendEvents(f.Context(), bodies, &lease))(f)
	}
}

// benchReadPage reads one page of events.
func benchReadPage(b *testing.B, f *fixture) {
	f.numbered(f.a, store.DefaultPage)
	for b.Loop() {
		if page := got(f.b.ReadEvents(f.Context(), 0, 0))(f); len(page) != store.DefaultPage {
			b.Fatalf("the page has %d events", len(page))
		}
	}
}

// benchLease takes a lease and gives it back.
func benchLease(b *testing.B, f *fixture) {
	for b.Loop() {
		lease := f.acquire(f.a, leaseName, ttl)
		got(f.a.ReleaseLease(f.Context(), lease))(f)
	}
}
