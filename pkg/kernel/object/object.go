package object

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Millis is epoch milliseconds.
type Millis = message.Millis

// An Object is one immutable value: [Commit], [Change], [Run], [Stack], [Blob], or a state of an effect: [Intent],
// [Waiting], [Expired], [Signal], [Result].
//
//sumtype:decl
type Object interface{ object() }

func (Commit) object()  {}
func (Change) object()  {}
func (Run) object()     {}
func (Stack) object()   {}
func (Blob) object()    {}
func (Intent) object()  {}
func (Waiting) object() {}
func (Expired) object() {}
func (Signal) object()  {}
func (Result) object()  {}

// An Actor is durable attribution: who did it, from where. It is data, never authority.
type Actor struct {
	ClientID string `json:"clientId,omitzero"`
	UserID   string `json:"userId,omitzero"`
	Device   string `json:"device,omitzero"`
}

// A Commit is one entry of a conversation. Parent alone is model context; Imports, Change and Run are provenance
// (invariant 41).
type Commit struct {
	Parent  OID    `json:"parent"`            // zero at a root
	Imports []OID  `json:"imports,omitempty"` // commits summarised or carried over
	Change  OID    `json:"change,omitzero"`   // the change this commit landed
	Run     string `json:"run,omitzero"`      // the run that wrote it
	Body    Body   `json:"body"`
	At      Millis `json:"at"`
	Author  *Actor `json:"author,omitzero"` // copied from the change
	Key     string `json:"key,omitzero"`    // submission key, copied from the change
}

// A Change is one submitted entry of a lane. Changes link to the older one of their lane; pending is what lies between a
// lane's base and its tip.
type Change struct {
	Previous OID `json:"previous"` // zero starts the chain
	// Lane is head/lane on the first change of a chain, and absent on the others: the same words said at the same moment into two empty
	// lanes are two changes.
	Lane       string `json:"lane,omitzero"`
	Supersedes OID    `json:"supersedes,omitzero"` // the change that this copy replaced on redelivery
	Body       Body   `json:"body"`
	At         Millis `json:"at"` // submission time, kept on redelivery
	Author     *Actor `json:"author,omitzero"`
	Key        string `json:"key,omitzero"`
}

// A Stack says which head a head was cut from, and where.
type Stack struct {
	Parent string `json:"parent"` // a head name
	Base   OID    `json:"base"`   // zero when the parent was unborn
}

// A Blob is a small JSON value.
type Blob struct {
	Value jsontext.Value `json:"value"`
}

// Kind returns the kind of o: commit, change, run, effect, stack or blob.
func Kind(o Object) string {
	switch o.(type) {
	case Commit:
		return "commit"
	case Change:
		return "change"
	case Run:
		return "run"
	case Intent, Waiting, Expired, Signal, Result:
		return "effect"
	case Stack:
		return "stack"
	case Blob:
		return "blob"
	}
	panic("unreachable")
}

// Parent returns the object that o continues: a commit's parent, a change's previous, else zero.
func Parent(o Object) OID {
	switch o := o.(type) {
	case Commit:
		return o.Parent
	case Change:
		return o.Previous
	case Run, Stack, Blob, Intent, Waiting, Expired, Signal, Result:
		return OID{}
	}
	panic("unreachable")
}

// Links returns the objects that o keeps alive (invariant 38). A change keeps its previous but not what it supersedes.
func Links(o Object) []OID {
	switch o := o.(type) {
	case Commit:
		return present(append([]OID{o.Parent, o.Change}, o.Imports...)...)
	case Change:
		return present(o.Previous)
	case Stack:
		return present(o.Base)
	case Waiting:
		return present(o.Intent)
	case Expired:
		return present(o.Intent, o.Waiting)
	case Signal:
		return present(o.Intent, o.Waiting)
	case Result:
		return present(o.Intent)
	case Run, Blob, Intent:
		return nil
	}
	panic("unreachable")
}

func present(oids ...OID) []OID {
	out := oids[:0]
	for _, o := range oids {
		if !o.IsZero() {
			out = append(out, o)
		}
	}
	return out
}
