package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// An Event is one entry of a session's feed. On the wire its body's members stand beside "seq".
//
// One stored event can project to several of these with the same Seq. Only the last of them has More unset, and only then
// may a reader move its cursor to Seq: resuming after an earlier one would skip the rest.
type Event struct {
	Seq  int64
	More bool // further events of the same Seq follow
	Body EventBody
}

// An EventBody is one of the kinds of the feed: [CommitEvent], [HeadMovedEvent], [RunEvent], [QueuedEvent], [LandedEvent],
// [QueueCancelledEvent], [EffectEvent], [StackEvent], [FactEvent], [DeletedEvent], [SyncedEvent], [TextDeltaEvent],
// [ReasoningDeltaEvent], [ToolProgressEvent] or [DiagnosticEvent]; or [UnknownEvent], so that an older client keeps its
// cursor moving.
//
//sumtype:decl
type EventBody interface{ eventBody() }

func (CommitEvent) eventBody()         {}
func (HeadMovedEvent) eventBody()      {}
func (RunEvent) eventBody()            {}
func (QueuedEvent) eventBody()         {}
func (LandedEvent) eventBody()         {}
func (QueueCancelledEvent) eventBody() {}
func (EffectEvent) eventBody()         {}
func (StackEvent) eventBody()          {}
func (FactEvent) eventBody()           {}
func (DeletedEvent) eventBody()        {}
func (SyncedEvent) eventBody()         {}
func (TextDeltaEvent) eventBody()      {}
func (ReasoningDeltaEvent) eventBody() {}
func (ToolProgressEvent) eventBody()   {}
func (DiagnosticEvent) eventBody()     {}
func (UnknownEvent) eventBody()        {}

type (
	// CommitEvent: a commit joined a head. A client folds it by oid, since a snapshot may hold it already.
	CommitEvent struct {
		Head string     `json:"head"`
		Item CommitItem `json:"item"`
	}
	// HeadMovedEvent: a head's ref moved. Null is unborn.
	HeadMovedEvent struct {
		Head   string        `json:"head"`
		From   object.OID    `json:"from"`
		To     object.OID    `json:"to"`
		Reason string        `json:"reason"`
		Actor  *object.Actor `json:"actor,omitzero"`
	}
	// RunEvent: a run started or changed.
	RunEvent struct {
		Head string  `json:"head"`
		Run  RunInfo `json:"run"`
	}
	// QueuedEvent: a user message became pending.
	QueuedEvent struct {
		Head string      `json:"head"`
		Item PendingItem `json:"item"`
	}
	// LandedEvent: a change left its lane.
	LandedEvent struct {
		Head   string     `json:"head"`
		Change object.OID `json:"change"`
	}
	// QueueCancelledEvent: a change was withdrawn.
	QueueCancelledEvent struct {
		Change object.OID `json:"change"`
	}
	// EffectEvent: a tool call changed its state. WaitID, Selection and Until belong to [EffectWaiting].
	EffectEvent struct {
		RunID     string             `json:"runId"`
		CallID    string             `json:"callId"`
		State     EffectState        `json:"state"`
		WaitID    object.OID         `json:"waitId,omitzero"`
		Tool      string             `json:"tool"`
		Args      jsontext.Value     `json:"args"`
		Selection *message.Selection `json:"selection,omitzero"`
		Until     message.Millis     `json:"until,omitzero"`
	}
	// StackEvent: a head's stack changed.
	StackEvent struct {
		Head   string     `json:"head"`
		Parent string     `json:"parent"`
		Base   object.OID `json:"base"`
	}
	// FactEvent: a session fact changed; without a value it was removed.
	FactEvent struct {
		Key   string         `json:"key"`
		Value jsontext.Value `json:"value,omitzero"`
	}
	// DeletedEvent: the session is being deleted.
	DeletedEvent struct{}
	// SyncedEvent: the history up to its Seq has been replayed; what follows is live. It is not stored.
	SyncedEvent struct{}
	// TextDeltaEvent is a piece of an answer that is still streaming (invariant 39).
	TextDeltaEvent struct {
		RunID   string `json:"runId"`
		Attempt int    `json:"attempt"`
		Index   int    `json:"index"`
		Delta   string `json:"delta"`
	}
	// ReasoningDeltaEvent is a piece of reasoning that is still streaming.
	ReasoningDeltaEvent struct {
		RunID   string `json:"runId"`
		Attempt int    `json:"attempt"`
		Index   int    `json:"index"`
		Delta   string `json:"delta"`
	}
	// ToolProgressEvent is a running tool's word.
	ToolProgressEvent struct {
		RunID    string   `json:"runId"`
		CallID   string   `json:"callId"`
		Progress Progress `json:"progress"`
	}
	// DiagnosticEvent is a remark for people.
	DiagnosticEvent struct {
		Level   Level  `json:"level"`
		Owner   string `json:"owner"`
		Message string `json:"message"`
	}
	// UnknownEvent is an event of a kind this program does not know. Raw is the whole event.
	UnknownEvent struct {
		Kind string
		Raw  jsontext.Value
	}
)

// A CommitItem is a commit with its id.
type CommitItem struct {
	OID    object.OID    `json:"oid"`
	Commit object.Commit `json:"commit"`
}

// Progress is what a running tool shows.
type Progress struct {
	Text    string         `json:"text"`
	Title   string         `json:"title,omitzero"`
	Details jsontext.Value `json:"details,omitzero"`
}

// An EffectState is the state of a tool call in an [EffectEvent].
type EffectState string

// The effect states.
const (
	EffectIntent  EffectState = "intent"
	EffectWaiting EffectState = "waiting"
	EffectExpired EffectState = "expired"
	EffectSignal  EffectState = "signal"
	EffectResult  EffectState = "result"
)

// A Level is a diagnostic's weight.
type Level string

// The levels.
const (
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)
