package store

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/union"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// An Event is one entry of a session's stream, which is both the reflog and the live feed.
type Event struct {
	Seq  Seq
	At   Millis
	Body EventBody
}

// An EventBody is [RefEvent], [DeltaEvent], [ProgressEvent] or [NoticeEvent].
//
//sumtype:decl
type EventBody interface{ eventBody() }

func (RefEvent) eventBody()      {}
func (DeltaEvent) eventBody()    {}
func (ProgressEvent) eventBody() {}
func (NoticeEvent) eventBody()   {}

type (
	// RefEvent records one ref write. Only UpdateRefs makes it.
	RefEvent struct {
		Name   ref.Name      `json:"name"`
		From   object.OID    `json:"from"` // null: it was absent
		To     object.OID    `json:"to"`   // null: it was deleted
		Reason string        `json:"reason"`
		Actor  *object.Actor `json:"actor,omitzero"`
	}
	// DeltaEvent is a piece of a message that is still streaming, keyed by run, attempt and content index (invariant 39).
	DeltaEvent struct {
		RunID   string    `json:"runId"`
		Attempt int       `json:"attempt"`
		Index   int       `json:"index"`
		Part    DeltaPart `json:"part"`
		Delta   string    `json:"delta"`
	}
	// ProgressEvent is a running tool's word.
	ProgressEvent struct {
		RunID    string   `json:"runId"`
		CallID   string   `json:"callId"`
		Progress Progress `json:"progress"`
	}
	// NoticeEvent is a remark for people.
	NoticeEvent struct {
		Level   Level  `json:"level"`
		Owner   string `json:"owner"`
		Message string `json:"message"`
	}
)

// A DeltaPart says what a delta adds to.
type DeltaPart string

// The delta parts.
const (
	TextPart     DeltaPart = "text"
	ThinkingPart DeltaPart = "thinking"
)

// A Level is a notice's weight.
type Level string

// The levels.
const (
	Info  Level = "info"
	Warn  Level = "warn"
	Error Level = "error"
)

// Progress is what a running tool shows.
type Progress struct {
	Text    string         `json:"text"`
	Title   string         `json:"title,omitzero"`
	Details jsontext.Value `json:"details,omitzero"`
}

//nolint:gochecknoglobals // immutable codec table
var eventBodies = union.New("kind", EventKind,
	union.Kind[EventBody, RefEvent]("ref"),
	union.Kind[EventBody, DeltaEvent]("delta"),
	union.Kind[EventBody, ProgressEvent]("progress"),
	union.Kind[EventBody, NoticeEvent]("notice"),
)

// EventKind returns the wire word of b.
func EventKind(b EventBody) string {
	switch b.(type) {
	case RefEvent:
		return "ref"
	case DeltaEvent:
		return "delta"
	case ProgressEvent:
		return "progress"
	case NoticeEvent:
		return "notice"
	}
	panic("unreachable")
}

// EncodeEvent returns the JSON of b for storage. A value that is not I-JSON is an error.
func EncodeEvent(b EventBody) ([]byte, error) {
	if b == nil {
		return nil, errNoEvent
	}
	data, err := json.Marshal(b, json.WithMarshalers(eventBodies.Marshalers()), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, err
	}
	if err := object.CheckJSON(data); err != nil {
		return nil, err
	}
	return data, nil
}

// DecodeEvent reads what [EncodeEvent] wrote. A malformed payload, one without a required member included, is an error.
func DecodeEvent(data []byte) (EventBody, error) {
	var b EventBody
	err := json.Unmarshal(data, &b, json.WithUnmarshalers(eventBodies.Unmarshalers()), json.RejectUnknownMembers(true))
	if err != nil {
		return nil, err
	}
	if err := checkEvent(b); err != nil {
		return nil, err
	}
	// Encoding again brings every required member, so a missing one shows. Spelling may differ: a store may have moved the
	// payload through a JSON writer with other habits.
	again, err := EncodeEvent(b)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(again, data) || sameJSON(again, data) {
		return b, nil
	}
	return nil, errIncomplete
}

var errIncomplete = errors.New("a required member is missing")

func sameJSON(a, b []byte) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}
