package dynstore

import (
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/internal/unpack"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A batch is the events of one transaction: its id, its time, and the encoded events. Batches are stored one behind the other, in the
// control item's tail and in packs; which numbers they have follows from where the last one ends.
type batch struct {
	tx     txID
	at     store.Millis
	events [][]byte
}

// A txID names a transaction, so that it can tell whether it happened.
type txID [12]byte

func (b batch) encode() []byte {
	size := len(b.tx) + 16
	for _, e := range b.events {
		size += len(e) + 4
	}
	out := append(make([]byte, 0, size), b.tx[:]...)
	out = binaryAppend(out, int(b.at))
	out = binaryAppend(out, len(b.events))
	for _, e := range b.events {
		out = append(binaryAppend(out, len(e)), e...)
	}
	return out
}

var errPack = errors.New("stored events are malformed")

func decodeBatch(r *unpack.Reader) (batch, error) {
	var b batch
	copy(b.tx[:], r.Take(len(b.tx)))
	b.at = store.Millis(r.Int())
	n := r.Int()
	if r.Bad || n > len(r.Rest) {
		return batch{}, errPack
	}
	b.events = make([][]byte, n)
	for i := range b.events {
		b.events[i] = r.Take(r.Int())
	}
	if r.Bad {
		return batch{}, errPack
	}
	return b, nil
}

// A record is one stored event that was not decoded yet.
type record struct {
	seq  store.Seq
	at   store.Millis
	tx   txID
	data []byte
}

func (r record) event() (store.Event, error) {
	body, err := decodeEvent(r.data)
	if err != nil {
		return store.Event{}, fmt.Errorf("stored event %d is malformed: %w", r.seq, err)
	}
	return store.Event{Seq: r.seq, At: r.at, Body: body}, nil
}

// records takes encoded batches apart, of which the last event is number last.
func records(encoded [][]byte, last store.Seq) ([]record, error) {
	var out []record
	for _, data := range encoded {
		for r := (&unpack.Reader{Rest: data}); len(r.Rest) > 0; {
			b, err := decodeBatch(r)
			if err != nil {
				return nil, err
			}
			for _, e := range b.events {
				out = append(out, record{at: b.at, tx: b.tx, data: e})
			}
		}
	}
	for i := range out {
		out[i].seq = last - store.Seq(len(out)-1-i)
	}
	return out, nil
}

// A pack is one item of events.
type pack struct {
	last  store.Seq
	count int
	data  []byte // batches
}

// packs puts the tail and a new batch into as few packs as hold them.
func packs(c *control, b batch) ([]pack, error) {
	before, err := records(c.tail, c.seq)
	if err != nil {
		return nil, err
	}
	var out []pack
	open := pack{last: c.seq - store.Seq(len(before))}
	var pending batch // of the open pack, not encoded yet
	size := 0
	flush := func() {
		if len(pending.events) > 0 {
			open.data = append(open.data, pending.encode()...)
			pending.events = nil
		}
	}
	add := func(tx txID, at store.Millis, event []byte) error {
		cost := len(event) + 4 + len(tx) + 16
		if cost > maxPack {
			return &LimitError{What: "bytes of one event", Got: len(event), Most: maxPack}
		}
		if size+cost > maxPack {
			flush()
			out = append(out, open)
			open, size = pack{last: open.last}, 0
		}
		if pending.tx != tx || pending.at != at {
			flush()
			pending = batch{tx: tx, at: at}
		}
		pending.events = append(pending.events, event)
		open.last++
		open.count++
		size += cost
		return nil
	}
	for _, r := range before {
		if err := add(r.tx, r.at, r.data); err != nil {
			return nil, err
		}
	}
	for _, e := range b.events {
		if err := add(b.tx, b.at, e); err != nil {
			return nil, err
		}
	}
	flush()
	return append(out, open), nil
}

// The attributes of a pack.
const (
	attrCount = "k"
	attrCodec = "c"
	attrBody  = "b"
)

func (c *codec) packItem(partition string, p pack) item {
	it := key(partition, packKey(p.last))
	it[attrCount] = number(p.count)
	how, data := c.pack(p.data)
	if how != plain {
		it[attrCodec] = number(how)
	}
	it[attrBody] = binaryValue(data)
	return it
}

// unpackItem returns the records of a pack.
func (c *codec) unpackItem(it item) ([]record, error) {
	var last int64
	if _, err := fmt.Sscanf(textOf(it, attrSort), packPrefix+"%d", &last); err != nil {
		return nil, fmt.Errorf("%w: key %q", errPack, textOf(it, attrSort))
	}
	how, err := optionalInt(it, attrCodec)
	if err != nil {
		return nil, err
	}
	data, err := c.unpack(how, binaryOf(it, attrBody))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPack, err)
	}
	return records([][]byte{data}, store.Seq(last))
}
