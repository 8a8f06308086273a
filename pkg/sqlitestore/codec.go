package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/stepwell-dev/stepwell/internal/unpack"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// How a body is stored.
const (
	plain      = 0 // the bytes themselves
	compressed = 1 // one zstd frame
)

// Smaller bodies gain little and cost a call.
const compressFrom = 1 << 10

// maxBody bounds what a stored frame may grow to, so that a corrupt row cannot take all memory. Larger bodies stay plain.
const maxBody = 64 << 20

// A codec packs bodies. It may be used from many goroutines.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(1<<18), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("making the compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("making the decompressor: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

func (c *codec) close() {
	c.dec.Close()
	_ = c.enc.Close() // nothing is buffered: only whole bodies are encoded
}

// pack compresses a large body when that saves more than a tenth.
func (c *codec) pack(body []byte) (how int64, packed []byte) {
	if len(body) < compressFrom || len(body) > maxBody {
		return plain, body
	}
	z := c.enc.EncodeAll(body, make([]byte, 0, len(body)/2))
	if len(z) > len(body)-len(body)/10 {
		return plain, body
	}
	return compressed, z
}

func (c *codec) unpack(how int64, packed []byte) ([]byte, error) {
	switch how {
	case plain:
		return packed, nil
	case compressed:
		return c.dec.DecodeAll(packed, nil)
	}
	return nil, fmt.Errorf("unknown codec %d", how)
}

// The first byte of an event's row. Ref moves and deltas are nearly all events; written as JSON they would be larger than much
// of the content that they are about.
const (
	eventJSON  = 0
	eventZstd  = 1
	eventRef   = 2
	eventDelta = 3
)

var errEvent = errors.New("malformed event")

// packEvent returns the row of b. A value that is not I-JSON is an error.
func (c *codec) packEvent(b store.EventBody) ([]byte, error) {
	switch b := b.(type) {
	case store.RefEvent:
		return packRef(b)
	case store.DeltaEvent:
		return c.packDelta(b)
	case store.ProgressEvent, store.NoticeEvent:
	}
	data, err := store.EncodeEvent(b)
	if err != nil {
		return nil, err
	}
	how, packed := c.pack(data)
	if how == compressed {
		return append([]byte{eventZstd}, packed...), nil
	}
	return append([]byte{eventJSON}, packed...), nil
}

func (c *codec) unpackEvent(row []byte) (store.EventBody, error) {
	if len(row) == 0 {
		return nil, errEvent
	}
	switch kind, row := row[0], row[1:]; kind {
	case eventJSON:
		return store.DecodeEvent(row)
	case eventZstd:
		data, err := c.dec.DecodeAll(row, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errEvent, err)
		}
		return store.DecodeEvent(data)
	case eventRef:
		return unpackRef(row)
	case eventDelta:
		return c.unpackDelta(row)
	default:
		return nil, fmt.Errorf("%w: unknown form %d", errEvent, kind)
	}
}

const (
	hasFrom  = 1
	hasTo    = 2
	hasActor = 4
)

func packRef(e store.RefEvent) ([]byte, error) {
	if !utf8.ValidString(e.Reason) {
		return nil, errors.New("the reason is not valid UTF-8")
	}
	var flags byte
	var actor []byte
	if e.Actor != nil {
		flags |= hasActor
		var err error
		if actor, err = json.Marshal(e.Actor); err != nil {
			return nil, fmt.Errorf("encoding the actor: %w", err)
		}
	}
	if !e.From.IsZero() {
		flags |= hasFrom
	}
	if !e.To.IsZero() {
		flags |= hasTo
	}
	row := make([]byte, 0, 2+2*len(e.From)+len(e.Name)+len(e.Reason)+len(actor)+6)
	row = append(row, eventRef, flags)
	if !e.From.IsZero() {
		row = append(row, e.From[:]...)
	}
	if !e.To.IsZero() {
		row = append(row, e.To[:]...)
	}
	row = appendText(row, string(e.Name))
	row = appendText(row, e.Reason)
	return append(row, actor...), nil
}

func unpackRef(row []byte) (store.EventBody, error) {
	r := &unpack.Reader{Rest: row}
	flags := r.Byte()
	var e store.RefEvent
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
	switch {
	case r.Bad, len(r.Rest) != 0, flags > hasFrom|hasTo|hasActor, e.Reason == "":
		return nil, errEvent
	}
	if err := e.Name.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	return e, nil
}

func (c *codec) packDelta(e store.DeltaEvent) ([]byte, error) {
	if !utf8.ValidString(e.RunID) || !utf8.ValidString(e.Delta) {
		return nil, errors.New("the delta or its runId is not valid UTF-8")
	}
	how, text := c.pack([]byte(e.Delta))
	row := make([]byte, 0, len(e.RunID)+len(text)+16)
	row = append(row, eventDelta, byte(how))
	row = appendText(row, e.RunID)
	row = appendText(row, string(e.Part))
	row = binary.AppendUvarint(row, uint64(e.Attempt))
	row = binary.AppendUvarint(row, uint64(e.Index))
	return append(row, text...), nil
}

func (c *codec) unpackDelta(row []byte) (store.EventBody, error) {
	r := &unpack.Reader{Rest: row}
	how := r.Byte()
	e := store.DeltaEvent{RunID: r.Text(), Part: store.DeltaPart(r.Text()), Attempt: r.Int(), Index: r.Int()}
	text, err := c.unpack(int64(how), r.Rest)
	if err != nil || r.Bad || !utf8.Valid(text) {
		return nil, errEvent
	}
	e.Delta = string(text)
	if err := store.CheckEvents([]store.EventBody{e}); err != nil {
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	}
	return e, nil
}

func appendText(row []byte, s string) []byte {
	return append(binary.AppendUvarint(row, uint64(len(s))), s...)
}
