package sqlitestore

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A packed object is ready to be written.
type packed struct {
	oid    object.OID
	kind   string
	parent []byte // nil when there is none
	how    int64
	body   []byte
	plain  []byte // the canonical bytes, of the caller
}

// A body is a cached object. What was just written is decoded, and so verified, when it is first read.
type body struct {
	canonical []byte
	decoded   atomic.Pointer[object.Object]
}

func (b *body) object(oid object.OID) (object.Object, error) {
	if o := b.decoded.Load(); o != nil {
		return *o, nil
	}
	o, err := object.Decode(oid, b.canonical)
	if err != nil {
		return nil, err
	}
	b.decoded.Store(&o)
	return o, nil
}

// packObjects compresses objects that were checked.
func (s *Store) packObjects(objs []object.Encoded) []packed {
	out := make([]packed, len(objs))
	for i, o := range objs {
		p := packed{oid: o.OID, kind: object.Kind(o.Object), plain: o.Body}
		if parent := object.Parent(o.Object); !parent.IsZero() {
			p.parent = parent[:]
		}
		p.how, p.body = s.codec.pack(o.Body)
		out[i] = p
	}
	return out
}

func (t *tx) putObjects(session int64, objs []packed, now store.Millis) error {
	for _, o := range objs {
		_, err := t.exec("INSERT INTO objects (session, oid, kind, parent, at, codec, body) VALUES (?,?,?,?,?,?,?) "+
			"ON CONFLICT (session, oid) DO UPDATE SET at=excluded.at",
			session, o.oid[:], o.kind, blob(o.parent), int64(now), o.how, o.body)
		if err != nil {
			return err
		}
	}
	return nil
}

// blob makes a nil slice NULL.
func blob(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return b
}

// remember caches what was committed: most objects are read again soon.
func (s *session) remember(objs []packed) {
	for _, o := range objs {
		s.cache(o.oid, &body{canonical: bytes.Clone(o.plain)})
	}
}

// cache keeps b, whose decoded form takes about twice the room of its bytes.
func (s *session) cache(oid object.OID, b *body) {
	s.store.cache.Add(cacheKey{s.key, oid}, b, int64(3*len(b.canonical)+512))
}

// PutObjects implements [store.ObjectWriter]. All are stored or none.
func (s *session) PutObjects(ctx context.Context, objs []object.Encoded) error {
	if err := store.CheckObjects(objs); err != nil {
		return err
	}
	rows := s.store.packObjects(objs)
	err := s.write(ctx, true, func(t *tx, _ *position) error {
		return t.putObjects(s.key, rows, s.store.millis())
	})
	if err != nil {
		return fmt.Errorf("putting objects: %w", err)
	}
	s.remember(rows)
	return nil
}

// DeleteObjects implements [store.ObjectWriter].
func (s *session) DeleteObjects(ctx context.Context, oids []object.OID, before store.Millis) (int, error) {
	var n int
	err := s.write(ctx, true, func(t *tx, _ *position) error {
		n = 0
		for _, oid := range oids {
			deleted, err := t.exec("DELETE FROM objects WHERE session=? AND oid=? AND at<?", s.key, oid[:], int64(before))
			if err != nil {
				return err
			}
			n += int(deleted)
		}
		return nil
	})
	for _, oid := range oids {
		s.store.cache.Remove(cacheKey{s.key, oid})
	}
	if err != nil {
		return 0, fmt.Errorf("deleting objects: %w", err)
	}
	return n, nil
}

// GetObject implements [store.ObjectReader].
func (s *session) GetObject(ctx context.Context, oid object.OID) (object.Object, bool, error) {
	objs, err := s.GetObjects(ctx, []object.OID{oid})
	if err != nil {
		return nil, false, err
	}
	return objs[0], objs[0] != nil, nil
}

// maxIn is how many values a statement asks for at once.
const maxIn = 64

// GetObjects implements [store.ObjectReader].
func (s *session) GetObjects(ctx context.Context, oids []object.OID) ([]object.Object, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	out := make([]object.Object, len(oids))
	var missing []object.OID
	for i, oid := range oids {
		b, ok := s.store.cache.Get(cacheKey{s.key, oid})
		if !ok {
			missing = append(missing, oid)
			continue
		}
		o, err := b.object(oid)
		if err != nil {
			return nil, err
		}
		out[i] = o
	}
	if len(missing) == 0 {
		return out, nil
	}
	found := make(map[object.OID]object.Object, len(missing))
	err := s.read(ctx, func(c *conn) error {
		for rest := missing; len(rest) > 0; {
			n := min(len(rest), maxIn)
			if err := s.load(c, rest[:n], found); err != nil {
				return err
			}
			if rest = rest[n:]; ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if len(found) == 0 {
			return s.exists(c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading objects: %w", err)
	}
	for i, oid := range oids {
		if out[i] == nil {
			out[i] = found[oid]
		}
	}
	return out, nil
}

func (s *session) load(c *conn, oids []object.OID, found map[object.OID]object.Object) error {
	args := make([]driver.Value, 1, len(oids)+1)
	args[0] = s.key
	for _, oid := range oids {
		args = append(args, oid[:])
	}
	return c.query("SELECT oid, codec, body FROM objects WHERE session=? AND oid IN (?"+strings.Repeat(",?", len(oids)-1)+")",
		func(row []driver.Value) error {
			oid, o, err := s.decode(row)
			found[oid] = o
			return err
		}, args...)
}

// decode verifies a row of oid, codec and body, and caches it.
func (s *session) decode(row []driver.Value) (object.OID, object.Object, error) {
	oid, err := asOID(row[0])
	if err != nil {
		return oid, nil, err
	}
	key := cacheKey{s.key, oid}
	if b, ok := s.store.cache.Get(key); ok {
		o, err := b.object(oid)
		return oid, o, err
	}
	how, err := asInt(row[1])
	if err != nil {
		return oid, nil, &object.CorruptError{OID: oid, Reason: err.Error()}
	}
	stored, err := asBytes(row[2])
	if err != nil {
		return oid, nil, &object.CorruptError{OID: oid, Reason: err.Error()}
	}
	canonical, err := s.store.codec.unpack(how, stored)
	if err != nil {
		return oid, nil, &object.CorruptError{OID: oid, Reason: "it cannot be unpacked: " + err.Error()}
	}
	b := &body{canonical: canonical}
	o, err := b.object(oid)
	if err == nil {
		s.cache(oid, b)
	}
	return oid, o, err
}

func asOID(v driver.Value) (object.OID, error) {
	b, err := asBytes(v)
	if err != nil {
		return object.OID{}, err
	}
	if len(b) != len(object.OID{}) {
		return object.OID{}, errors.New("a stored oid does not have 32 bytes")
	}
	return object.OID(b), nil
}

// ListObjects implements [store.ObjectReader].
func (s *session) ListObjects(ctx context.Context) ([]store.Stored, error) {
	var list []store.Stored
	err := s.read(ctx, func(c *conn) error {
		err := c.query("SELECT oid, at FROM objects WHERE session=? ORDER BY oid", func(row []driver.Value) error {
			oid, err := asOID(row[0])
			if err != nil {
				return err
			}
			at, err := asInt(row[1])
			if err != nil {
				return err
			}
			list = append(list, store.Stored{OID: oid, At: store.Millis(at)})
			return ctx.Err()
		}, s.key)
		if err == nil && len(list) == 0 {
			err = s.exists(c)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing objects: %w", err)
	}
	return list, nil
}
