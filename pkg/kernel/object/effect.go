package object

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// An Effect is one state of one tool call: [Intent], [Waiting], [Expired], [Signal] or [Result].
//
//	                 +-> signal --+
//	intent -> waiting|            +-> result
//	   |             +-> expired -+
//	   +------------------------------>
//
// The time of every later state is at least one millisecond after the earlier one's, so that two otherwise identical
// waits have different oids: the oid of a Waiting is its wait id.
//
//sumtype:decl
type Effect interface {
	Object
	effect()
}

func (Intent) effect()  {}
func (Waiting) effect() {}
func (Expired) effect() {}
func (Signal) effect()  {}
func (Result) effect()  {}

// A ReplayPolicy says what recovery may do with a call whose outcome is unknown.
type ReplayPolicy string

const (
	// ReplaySafe says that executing again is harmless: at least once.
	ReplaySafe ReplayPolicy = "safe"
	// ReplayNever says at most once: an interrupted call settles with an unknown outcome.
	ReplayNever ReplayPolicy = "never"
)

// Valid reports whether p is one of the listed policies.
func (p ReplayPolicy) Valid() bool { return p == ReplaySafe || p == ReplayNever }

// An Intent is written before the tool runs.
type Intent struct {
	RunID  string         `json:"runId"`
	CallID string         `json:"callId"`
	Tool   string         `json:"tool"`
	Args   jsontext.Value `json:"args"`
	Replay ReplayPolicy   `json:"replay"`
	At     Millis         `json:"at"`
}

// A Waiting is a parked call. With a Selection it asks a participant; without one it is background work.
type Waiting struct {
	Intent    OID                `json:"intent"`
	At        Millis             `json:"at"`
	Selection *message.Selection `json:"selection,omitzero"`
	Until     Millis             `json:"until,omitzero"` // zero waits for ever
}

// An Expired is a wait whose deadline a runner has claimed.
type Expired struct {
	Intent  OID    `json:"intent"`
	Waiting OID    `json:"waiting"` // the exact wait that was claimed
	At      Millis `json:"at"`
}

// A Signal is a wait that a participant has answered.
type Signal struct {
	Intent  OID            `json:"intent"`
	Waiting OID            `json:"waiting"` // the exact wait that was answered
	Signal  jsontext.Value `json:"signal"`
	At      Millis         `json:"at"`
	Author  *Actor         `json:"author,omitzero"`
}

// A Result is a settled call.
type Result struct {
	Intent OID                `json:"intent"`
	Result message.ToolResult `json:"result"`
	At     Millis             `json:"at"`
}

// IntentOf returns the oid of the intent behind e, which itself has the oid self.
func IntentOf(self OID, e Effect) OID {
	switch e := e.(type) {
	case Intent:
		return self
	case Waiting:
		return e.Intent
	case Expired:
		return e.Intent
	case Signal:
		return e.Intent
	case Result:
		return e.Intent
	}
	panic("unreachable")
}

// EffectAt returns the time of e.
func EffectAt(e Effect) Millis {
	switch e := e.(type) {
	case Intent:
		return e.At
	case Waiting:
		return e.At
	case Expired:
		return e.At
	case Signal:
		return e.At
	case Result:
		return e.At
	}
	panic("unreachable")
}

// StateName returns the wire word of e.
func StateName(e Effect) string {
	switch e.(type) {
	case Intent:
		return "intent"
	case Waiting:
		return "waiting"
	case Expired:
		return "expired"
	case Signal:
		return "signal"
	case Result:
		return "result"
	}
	panic("unreachable")
}
