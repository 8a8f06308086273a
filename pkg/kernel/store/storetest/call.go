package storetest

import (
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// An Op names a method of [store.Store] or [store.Session].
type Op string

// The numbered methods. Close and ID are not among them: they do nothing to the data.
const (
	OpCreateSession Op = "CreateSession"
	OpOpenSession   Op = "OpenSession"
	OpListSessions  Op = "ListSessions"
	OpDeleteSession Op = "DeleteSession"
	OpWatchSessions Op = "WatchSessions"
	OpInfo          Op = "Info"
	OpGetObject     Op = "GetObject"
	OpGetObjects    Op = "GetObjects"
	OpChain         Op = "Chain"
	OpListObjects   Op = "ListObjects"
	OpPutObjects    Op = "PutObjects"
	OpDeleteObjects Op = "DeleteObjects"
	OpReadRefs      Op = "ReadRefs"
	OpListRefs      Op = "ListRefs"
	OpUpdateRefs    Op = "UpdateRefs"
	OpReadLease     Op = "ReadLease"
	OpAcquireLease  Op = "AcquireLease"
	OpRenewLease    Op = "RenewLease"
	OpReleaseLease  Op = "ReleaseLease"
	OpReadEvents    Op = "ReadEvents"
	OpLastSeq       Op = "LastSeq"
	OpFloor         Op = "Floor"
	OpWatchEvents   Op = "WatchEvents"
	OpAppendEvents  Op = "AppendEvents"
	OpTrimEvents    Op = "TrimEvents"
)

// Writes reports whether o changes what is stored.
func (o Op) Writes() bool {
	switch o {
	case OpCreateSession, OpDeleteSession, OpPutObjects, OpDeleteObjects, OpUpdateRefs, OpAcquireLease, OpRenewLease,
		OpReleaseLease, OpAppendEvents, OpTrimEvents:
		return true
	case OpOpenSession, OpListSessions, OpWatchSessions, OpInfo, OpGetObject, OpGetObjects, OpChain, OpListObjects,
		OpReadRefs, OpListRefs, OpReadLease, OpReadEvents, OpLastSeq, OpFloor, OpWatchEvents:
		return false
	}
	panic("unreachable")
}

// A Call is one call of a [Faulty] store.
type Call struct {
	N       int             // from 1, over the store and all its sessions
	Op      Op              // the method
	Session store.SessionID // "" for a list or a watch of sessions
	Reason  string          // of an UpdateRefs or a CreateSession
	Names   []ref.Name      // of refs or of a lease, in the order given; for ListRefs the prefix
}

// String returns the call in one line, for a failing test's message.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s", c.N, c.Op)
	if c.Session != "" {
		fmt.Fprintf(&b, " %s", c.Session)
	}
	if c.Reason != "" {
		fmt.Fprintf(&b, " %q", c.Reason)
	}
	for _, n := range c.Names {
		fmt.Fprintf(&b, " %s", n)
	}
	return b.String()
}

// A Moment is a side of a call.
type Moment int

// The moments of a call.
const (
	Before Moment = iota + 1 // the call has not taken effect and, if it fails now, never does
	After                    // the call has taken effect, and the caller does not know yet
)

// String returns "before" or "after".
func (m Moment) String() string {
	switch m {
	case Before:
		return "before"
	case After:
		return "after"
	}
	panic("unreachable")
}
