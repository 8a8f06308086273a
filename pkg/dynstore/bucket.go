package dynstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell-dev/stepwell/internal/unpack"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// attrRefs has the refs of a bucket, or the oid of an item with one ref.
const attrRefs = "r"

// attrStamp is the sequence number of the last transaction that wrote a ref item.
const attrStamp = "n"

// A bucket is one item of refs. In the overflow buckets a zero oid says that the ref is absent whatever its own item says. It is a
// value: what is shared is never changed in place. The nil bucket is one that is not stored.
type bucket struct {
	stamp store.Seq
	refs  map[ref.Name]object.OID
}

// encodeRefs writes refs in the order of their names, each name as the length of what it shares with the one before, and the rest.
func encodeRefs(refs map[ref.Name]object.OID) []byte {
	var out []byte
	var last ref.Name
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		shared := 0
		for shared < len(last) && shared < len(name) && last[shared] == name[shared] {
			shared++
		}
		out = binaryAppend(out, shared)
		out = binaryAppend(out, len(name)-shared)
		out = append(out, name[shared:]...)
		oid := refs[name]
		out = append(out, oid[:]...)
		last = name
	}
	return out
}

func binaryAppend(out []byte, n int) []byte {
	return binary.AppendUvarint(out, uint64(n)) //nolint:gosec // lengths
}

var errRefs = errors.New("a stored ref item is malformed")

func decodeBucket(it item) (*bucket, error) {
	if it == nil {
		return nil, nil //nolint:nilnil // an item that is not stored is an empty bucket
	}
	stamp, err := intOf(it, attrStamp)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefs, err)
	}
	b := &bucket{stamp: store.Seq(stamp), refs: map[ref.Name]object.OID{}}
	r := &unpack.Reader{Rest: binaryOf(it, attrRefs)}
	var last ref.Name
	for len(r.Rest) > 0 {
		shared := r.Int()
		if shared > len(last) {
			return nil, errRefs
		}
		name := last[:shared] + ref.Name(r.Take(r.Int()))
		oid := r.Take(len(object.OID{}))
		if r.Bad {
			return nil, errRefs
		}
		b.refs[name] = object.OID(oid)
		last = name
	}
	return b, nil
}

// get returns the oid of name; ok is false when the bucket says nothing of it.
func (b *bucket) get(name ref.Name) (oid object.OID, ok bool) {
	if b == nil {
		return object.OID{}, false
	}
	oid, ok = b.refs[name]
	return oid, ok
}

// A move is where a ref of a bucket goes. A deletion is kept when it has to hide an item of the ref's own.
type move struct {
	to   object.OID
	keep bool
}

// with returns the bucket after the moves of one transaction.
func (b *bucket) with(moves map[ref.Name]move, stamp store.Seq) *bucket {
	next := &bucket{stamp: stamp, refs: map[ref.Name]object.OID{}}
	if b != nil {
		next.refs = maps.Clone(b.refs)
	}
	for name, m := range moves {
		if m.to.IsZero() && !m.keep {
			delete(next.refs, name)
		} else {
			next.refs[name] = m.to
		}
	}
	return next
}

func (b *bucket) item(p, s string) item {
	it := key(p, s)
	it[attrStamp], it[attrRefs] = number(b.stamp), binaryValue(encodeRefs(b.refs))
	return it
}
