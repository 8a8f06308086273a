package dynstore

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/unpack"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// The first byte of a stored event. Most are ref moves and deltas, of which JSON would spell more around the content than there is of it.
const (
	eventJSON  = 0
	eventRef   = 1
	eventDelta = 2
)

// What a ref event has, as bits.
const (
	hasFrom  = 1
	hasTo    = 2
	hasActor = 4
)

var errEvent = errors.New("malformed event")

// encodeEvents returns the stored bytes of each body, or says which one cannot be stored.
func encodeEvents(bodies []store.EventBody) ([][]byte, error) {
	out := make([][]byte, len(bodies))
	for i, b := range bodies {
		data, err := encodeEvent(b)
		if err != nil {
			return nil, fmt.Errorf("%w: event %d (%s): %w", store.ErrInvalid, i, store.EventKind(b), err)
		}
		out[i] = data
	}
	return out, nil
}

func encodeEvent(b store.EventBody) ([]byte, error) {
	switch e := b.(type) {
	case store.RefEvent:
		return encodeRefEvent(e)
	case store.DeltaEvent:
		return encodeDelta(e), nil
	case store.ProgressEvent, store.NoticeEvent:
	}
	data, err := store.EncodeEvent(b)
	if err != nil {
		return nil, err
	}
	return append([]byte{eventJSON}, data...), nil
}

func encodeRefEvent(e store.RefEvent) ([]byte, error) {
	if !utf8.ValidString(e.Reason) {
		return nil, errors.New("the reason is not valid UTF-8")
	}
	var flags byte
	var oids, actor []byte
	if !e.From.IsZero() {
		flags, oids = flags|hasFrom, append(oids, e.From[:]...)
	}
	if !e.To.IsZero() {
		flags, oids = flags|hasTo, append(oids, e.To[:]...)
	}
	if e.Actor != nil {
		var err error
		if actor, err = json.Marshal(e.Actor); err != nil {
			return nil, fmt.Errorf("encoding the actor: %w", err)
		}
		flags |= hasActor
	}
	out := append([]byte{eventRef, flags}, oids...)
	for _, s := range []string{string(e.Name), e.Reason} {
		out = append(binaryAppend(out, len(s)), s...)
	}
	return append(out, actor...), nil
}

func decodeEvent(data []byte) (store.EventBody, error) {
	r := &unpack.Reader{Rest: data}
	switch form := r.Byte(); {
	case r.Bad:
		return nil, errEvent
	case form == eventJSON:
		return store.DecodeEvent(r.Rest)
	case form == eventRef:
		return decodeRefEvent(r)
	case form == eventDelta:
		return decodeDelta(r)
	default:
		return nil, fmt.Errorf("%w: unknown form %d", errEvent, form)
	}
}

func decodeRefEvent(r *unpack.Reader) (store.EventBody, error) {
	var e store.RefEvent
	flags := r.Byte()
	if flags&hasFrom != 0 {
		copy(e.From[:], r.Take(len(e.From)))
	}
	if flags&hasTo != 0 {
		copy(e.To[:], r.Take(len(e.To)))
	}
	e.Name, e.Reason = ref.Name(r.Text()), r.Text()
	if flags&hasActor != 0 {
		e.Actor = new(object.Actor)
		if err := json.Unmarshal(r.Take(len(r.Rest)), e.Actor, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("%w: actor: %w", errEvent, err)
		}
	}
	if r.Bad || len(r.Rest) != 0 || flags > hasFrom|hasTo|hasActor || e.Reason == "" {
		return nil, errEvent
	}
	if err := e.Name.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	return e, nil
}

// encodeDelta writes a delta that was checked.
func encodeDelta(e store.DeltaEvent) []byte {
	out := []byte{eventDelta}
	for _, s := range []string{e.RunID, string(e.Part)} {
		out = append(binaryAppend(out, len(s)), s...)
	}
	out = binaryAppend(out, e.Attempt)
	out = binaryAppend(out, e.Index)
	return append(out, e.Delta...)
}

func decodeDelta(r *unpack.Reader) (store.EventBody, error) {
	e := store.DeltaEvent{RunID: r.Text(), Part: store.DeltaPart(r.Text()), Attempt: r.Int(), Index: r.Int()}
	if r.Bad {
		return nil, errEvent
	}
	e.Delta = string(r.Rest)
	if err := store.CheckEvents([]store.EventBody{e}); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	return e, nil
}
