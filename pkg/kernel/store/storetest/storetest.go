package storetest

import (
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// An Opener makes a fresh, empty backend, whose stores go by clock, and frees it when the test ends.
type Opener func(t testing.TB, clock *Clock) Backend

// A Backend is data that stores can be opened on.
type Backend interface {
	// Open returns another store on the same data, with a connection of its own. The suite closes it.
	Open(t testing.TB) store.Store
}

// Capabilities are where stores rightly differ. The zero value asks for what every store can do.
type Capabilities struct {
	// DurableAcrossReopen means that a backend keeps its data when every store on it has been closed.
	DurableAcrossReopen bool

	// SkewMargin is how long after its expiry a lease still holds others off, in a store whose processes have different
	// clocks. It is zero where one clock decides.
	SkewMargin store.Duration

	// AbandonsLeases means that the store knows when the handle that granted a lease is closed or its process dead, and grants
	// the name anew at once.
	AbandonsLeases bool

	// ForeignWriteTimes means that the write times of objects come from a service's clock. The suite then cannot foretell
	// them.
	ForeignWriteTimes bool

	// CorruptObject stores body as the object oid without any check. Without it what readers make of corrupt objects is not
	// tried.
	CorruptObject func(t testing.TB, b Backend, session store.SessionID, oid object.OID, body []byte)

	// CorruptEvent replaces the stored payload of an event without any check. Without it what readers make of corrupt events
	// is not tried.
	CorruptEvent func(t testing.TB, b Backend, session store.SessionID, seq store.Seq, payload []byte)
}

// Run tries every promise of the contract on backends that open makes, a new one for each test. A test's name begins with the
// numbers of the conformance requirements (C) and field reports (B) that it proves.
func Run(t *testing.T, open Opener, caps Capabilities) {
	s := &suite{open: open, caps: caps}
	for _, topic := range []struct {
		name  string
		tests []test
	}{
		{"Objects", objectTests()},
		{"Chain", chainTests()},
		{"Corruption", corruptionTests(caps)},
		{"Refs", refTests()},
		{"Update", updateTests()},
		{"Leases", leaseTests()},
		{"Fences", fenceTests()},
		{"Events", eventTests()},
		{"Watch", watchTests()},
		{"Sessions", sessionTests(caps)},
		{"Closing", closingTests()},
		{"Concurrency", concurrencyTests()},
		{"Sizes", sizeTests()},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.tests {
				t.Run(c.name, func(t *testing.T) { c.run(s.start(t)) })
			}
		})
	}
}

type suite struct {
	open Opener
	caps Capabilities
}

// A test is one promise.
type test struct {
	name string
	run  func(*fixture)
}
