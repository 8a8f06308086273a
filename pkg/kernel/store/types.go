package store

import (
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// An Entry is one object of a chain.
type Entry struct {
	OID    object.OID
	Object object.Object
}

// A Stored object is a row of the collector's list.
type Stored struct {
	OID object.OID
	At  Millis // last write time
}

// A Ref is a name and what it points to.
type Ref struct {
	Name ref.Name
	OID  object.OID
}

// An Update moves one ref from one oid to another; zero means absent. From equal to To is an assertion.
type Update struct {
	Name     ref.Name
	From, To object.OID
}

// Assert returns the update that only checks that name points to oid.
func Assert(name ref.Name, oid object.OID) Update { return Update{Name: name, From: oid, To: oid} }

// Absent returns the update that only checks that name is absent.
func Absent(name ref.Name) Update { return Update{Name: name} }

// UpdateOptions go with a compare-and-swap.
type UpdateOptions struct {
	Reason  string           // reflog line of every ref event; required
	Lease   *Lease           // fences the update
	Renew   Duration         // with Lease: also extends it to this long from now
	Release bool             // with Lease: also releases it, after everything else
	Actor   *object.Actor    // attribution of every ref event
	Objects []object.Encoded // made durable before or together with the refs
	Events  []EventBody      // appended after the ref events
}

// An UpdateOutcome is [Updated], [UpdateConflict] or [Fenced].
//
//sumtype:decl
type UpdateOutcome interface{ updateOutcome() }

// An AppendOutcome is [Appended] or [Fenced].
//
//sumtype:decl
type AppendOutcome interface{ appendOutcome() }

func (Updated) updateOutcome()        {}
func (UpdateConflict) updateOutcome() {}
func (Fenced) updateOutcome()         {}
func (Appended) appendOutcome()       {}
func (Fenced) appendOutcome()         {}

type (
	// Updated means that everything was written. Seq is the last sequence number.
	Updated struct{ Seq Seq }
	// UpdateConflict names the first ref that was not where the update expected it.
	UpdateConflict struct {
		Name   ref.Name
		Actual object.OID
	}
	// Fenced means that the lease is someone else's by now and nothing was written.
	Fenced struct{}
	// Appended means that the events were written. Seq is the last sequence number.
	Appended struct{ Seq Seq }
)

// A Lease is fenced execution authority over one name. Fence goes up with every grant of the name.
type Lease struct {
	Name      ref.Name
	Owner     string // globally unique per grant
	Fence     int64
	ExpiresAt Millis
}

// An AcquireOutcome is [Acquired] or [Held].
//
//sumtype:decl
type AcquireOutcome interface{ acquireOutcome() }

func (Acquired) acquireOutcome() {}
func (Held) acquireOutcome()     {}

type (
	// Acquired has the new lease. Takeover says that the name's last holder did not release it: it expired, or its process is dead. Seq is
	// the session's newest event at the grant.
	Acquired struct {
		Lease    Lease
		Takeover bool
		Seq      Seq
	}
	// Held names the current holder.
	Held struct{ Holder Lease }
)
