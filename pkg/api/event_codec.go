package api

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/union"
)

//nolint:gochecknoglobals // immutable codec table
var eventBodies = union.New("kind", EventKind,
	union.Kind[EventBody, CommitEvent]("commit"),
	union.Kind[EventBody, HeadMovedEvent]("head_moved"),
	union.Kind[EventBody, RunEvent]("run"),
	union.Kind[EventBody, QueuedEvent]("queued"),
	union.Kind[EventBody, LandedEvent]("landed"),
	union.Kind[EventBody, QueueCancelledEvent]("queue_cancelled"),
	union.Kind[EventBody, EffectEvent]("effect"),
	union.Kind[EventBody, StackEvent]("stack"),
	union.Kind[EventBody, FactEvent]("fact"),
	union.Kind[EventBody, DeletedEvent]("deleted"),
	union.Kind[EventBody, SyncedEvent]("synced"),
	union.Kind[EventBody, TextDeltaEvent]("text_delta"),
	union.Kind[EventBody, ReasoningDeltaEvent]("reasoning_delta"),
	union.Kind[EventBody, ToolProgressEvent]("tool_progress"),
	union.Kind[EventBody, DiagnosticEvent]("diagnostic"),
)

// EventKind returns the wire word of b.
func EventKind(b EventBody) string {
	switch b := b.(type) {
	case CommitEvent:
		return "commit"
	case HeadMovedEvent:
		return "head_moved"
	case RunEvent:
		return "run"
	case QueuedEvent:
		return "queued"
	case LandedEvent:
		return "landed"
	case QueueCancelledEvent:
		return "queue_cancelled"
	case EffectEvent:
		return "effect"
	case StackEvent:
		return "stack"
	case FactEvent:
		return "fact"
	case DeletedEvent:
		return "deleted"
	case SyncedEvent:
		return "synced"
	case TextDeltaEvent:
		return "text_delta"
	case ReasoningDeltaEvent:
		return "reasoning_delta"
	case ToolProgressEvent:
		return "tool_progress"
	case DiagnosticEvent:
		return "diagnostic"
	case UnknownEvent:
		return b.Kind
	}
	panic("unreachable")
}

// Durable reports whether e is stored, so that its Seq, when More is unset, can be resumed from.
func (e Event) Durable() bool {
	_, synced := e.Body.(SyncedEvent)
	return !synced
}

var errNoBody = errors.New("event has no body")

// MarshalJSONTo writes the members of the body beside seq.
func (e Event) MarshalJSONTo(enc *jsontext.Encoder) error {
	if e.Body == nil {
		return errNoBody
	}
	if u, ok := e.Body.(UnknownEvent); ok {
		return enc.WriteValue(u.Raw)
	}
	body, err := Marshal(e.Body)
	if err != nil {
		return err
	}
	raw := strconv.AppendInt([]byte(`{"seq":`), e.Seq, 10)
	if e.More {
		raw = append(raw, `,"more":true`...)
	}
	raw = append(raw, ',')
	return enc.WriteValue(append(raw, body[1:]...)) // the body has at least its kind
}

// UnmarshalJSONFrom reads what MarshalJSONTo writes, and events of kinds that are not known yet.
func (e *Event) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var envelope struct {
		Seq  int64  `json:"seq"`
		More bool   `json:"more,omitzero"`
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return err
	}
	if envelope.Seq < 0 || envelope.Kind == "" {
		return errors.New("an event needs seq and kind")
	}
	e.Seq, e.More = envelope.Seq, envelope.More
	err = Unmarshal(raw, &e.Body)
	// A word that is new anywhere in the event makes the whole event unknown, not the stream broken.
	var unknown *union.UnknownError
	if errors.As(err, &unknown) {
		e.Body = UnknownEvent{Kind: envelope.Kind, Raw: bytes.Clone(raw)}
		return nil
	}
	return err
}
