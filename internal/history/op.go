package history

import (
	"fmt"
	"math"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Open is the Return of a call whose outcome is unknown.
const Open = math.MaxInt64

// An Op is one recorded call.
type Op struct {
	Session store.SessionID
	Client  int
	// Call and Return are ticks of the recorder: what returned before another call began has the smaller tick.
	Call, Return int64
	// Earliest and Latest are the store's clock before the call and after the return; Latest is the end of time for an open call.
	Earliest, Latest store.Millis
	// Did is what was asked and answered.
	Did Did
}

// Known reports whether the caller learned the outcome.
func (o *Op) Known() bool { return o.Return != Open }

// String describes o for the report of a violation.
func (o *Op) String() string {
	answer := "?"
	if o.Known() {
		answer = o.answer()
	}
	return fmt.Sprintf("[%s client %d, %d to %d] %s = %s", o.Session, o.Client, o.Call, o.Return, o.question(), answer)
}

// A Did is a call with its answer, which has no meaning when the outcome is unknown: [Updates], [Reads], [Acquires],
// [Renews], [Releases] or [Appends].
//
//sumtype:decl
type Did interface{ did() }

type (
	// Updates is a call of UpdateRefs.
	Updates struct {
		Updates []store.Update
		Options store.UpdateOptions
		Outcome store.UpdateOutcome
	}
	// Reads is a call of ReadRefs. One that failed is not recorded: it says nothing.
	Reads struct {
		Names []ref.Name
		OIDs  []object.OID
	}
	// Acquires is a call of AcquireLease.
	Acquires struct {
		Name    ref.Name
		TTL     store.Duration
		Outcome store.AcquireOutcome
	}
	// Renews is a call of RenewLease.
	Renews struct {
		Lease   store.Lease
		TTL     store.Duration
		Renewed store.Lease
		OK      bool
	}
	// Releases is a call of ReleaseLease.
	Releases struct {
		Lease store.Lease
		OK    bool
	}
	// Appends is a call of AppendEvents.
	Appends struct {
		Bodies  []store.EventBody
		Lease   *store.Lease
		Outcome store.AppendOutcome
	}
)

func (Updates) did()  {}
func (Reads) did()    {}
func (Acquires) did() {}
func (Renews) did()   {}
func (Releases) did() {}
func (Appends) did()  {}

// events returns what a call adds to the stream when it succeeds.
func (o *Op) events() []store.EventBody {
	switch d := o.Did.(type) {
	case Updates:
		var list []store.EventBody
		for _, u := range d.Updates {
			if u.From != u.To {
				list = append(list, store.RefEvent{Name: u.Name, From: u.From, To: u.To, Reason: d.Options.Reason, Actor: d.Options.Actor})
			}
		}
		return append(list, d.Options.Events...)
	case Appends:
		return d.Bodies
	case Reads, Acquires, Renews, Releases:
	}
	return nil
}

// lease returns the lease that a call stands on, nil when there is none.
func (o *Op) lease() *store.Lease {
	switch d := o.Did.(type) {
	case Updates:
		return d.Options.Lease
	case Appends:
		return d.Lease
	case Renews:
		return &d.Lease
	case Releases:
		return &d.Lease
	case Reads, Acquires:
	}
	return nil
}

// releases reports whether a call gives up its lease when it succeeds.
func (o *Op) releases() bool {
	switch d := o.Did.(type) {
	case Updates:
		return d.Options.Release
	case Releases:
		return true
	case Reads, Acquires, Renews, Appends:
	}
	return false
}

// renews returns how long a call extends its lease by when it succeeds, zero when it does not.
func (o *Op) renews() store.Duration {
	switch d := o.Did.(type) {
	case Updates:
		if !d.Options.Release {
			return d.Options.Renew
		}
	case Renews:
		return d.TTL
	case Reads, Acquires, Releases, Appends:
	}
	return 0
}

// A verdict is what an answer says about the lease that the call stands on.
type verdict int

const (
	silent  verdict = iota // the outcome is unknown, or there is no lease
	held                   // the lease was the newest grant of its name
	refused                // it was not
)

func (o *Op) verdict() verdict {
	if !o.Known() || o.lease() == nil {
		return silent
	}
	ok := true
	switch d := o.Did.(type) {
	case Updates:
		_, fenced := d.Outcome.(store.Fenced)
		ok = !fenced
	case Appends:
		_, fenced := d.Outcome.(store.Fenced)
		ok = !fenced
	case Renews:
		ok = d.OK
	case Releases:
		ok = d.OK
	case Reads, Acquires:
	}
	if ok {
		return held
	}
	return refused
}

func (o *Op) question() string {
	switch d := o.Did.(type) {
	case Updates:
		s := "UpdateRefs"
		for _, u := range d.Updates {
			s += fmt.Sprintf(" %s:%s>%s", u.Name, u.From.Short(), u.To.Short())
		}
		if l := d.Options.Lease; l != nil {
			s += fmt.Sprintf(" under %s/%d renew %v release %t", l.Name, l.Fence, d.Options.Renew, d.Options.Release)
		}
		return fmt.Sprintf("%s and %d events", s, len(d.Options.Events))
	case Reads:
		return fmt.Sprintf("ReadRefs %v", d.Names)
	case Acquires:
		return fmt.Sprintf("AcquireLease %s for %v", d.Name, d.TTL)
	case Renews:
		return fmt.Sprintf("RenewLease %s/%d for %v", d.Lease.Name, d.Lease.Fence, d.TTL)
	case Releases:
		return fmt.Sprintf("ReleaseLease %s/%d", d.Lease.Name, d.Lease.Fence)
	case Appends:
		if d.Lease != nil {
			return fmt.Sprintf("AppendEvents %d under %s/%d", len(d.Bodies), d.Lease.Name, d.Lease.Fence)
		}
		return fmt.Sprintf("AppendEvents %d", len(d.Bodies))
	}
	return ""
}

func (o *Op) answer() string {
	switch d := o.Did.(type) {
	case Updates:
		return fmt.Sprintf("%T%+v", d.Outcome, d.Outcome)
	case Reads:
		s := ""
		for _, oid := range d.OIDs {
			s += " " + oid.Short()
		}
		return s
	case Acquires:
		return fmt.Sprintf("%T%+v", d.Outcome, d.Outcome)
	case Renews:
		return fmt.Sprintf("%t until %d", d.OK, d.Renewed.ExpiresAt)
	case Releases:
		return fmt.Sprint(d.OK)
	case Appends:
		return fmt.Sprintf("%T%+v", d.Outcome, d.Outcome)
	}
	return ""
}
