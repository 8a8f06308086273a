package memstore

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A row is one stored object. Its write time is guarded by the repository's lock; its body never changes.
type row struct {
	body    []byte
	at      store.Millis
	decoded atomic.Pointer[object.Object] // the body, once verified
}

func (r *row) object(oid object.OID) (object.Object, error) {
	if o := r.decoded.Load(); o != nil {
		return *o, nil
	}
	o, err := object.Decode(oid, r.body)
	if err != nil {
		return nil, err
	}
	r.decoded.Store(&o)
	return o, nil
}

func (r *repository) put(objs []object.Encoded, now store.Millis) {
	for _, o := range objs {
		if old, ok := r.objects[o.OID]; ok {
			old.at = now
			continue
		}
		r.objects[o.OID] = &row{body: bytes.Clone(o.Body), at: now}
	}
}

// GetObject implements [store.ObjectReader].
func (s *session) GetObject(ctx context.Context, oid object.OID) (object.Object, bool, error) {
	objs, err := s.GetObjects(ctx, []object.OID{oid})
	if err != nil {
		return nil, false, err
	}
	return objs[0], objs[0] != nil, nil
}

// GetObjects implements [store.ObjectReader].
func (s *session) GetObjects(ctx context.Context, oids []object.OID) ([]object.Object, error) {
	rows := make([]*row, len(oids))
	err := s.view(ctx, func(r *repository) error {
		for i, oid := range oids {
			rows[i] = r.objects[oid]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	objs := make([]object.Object, len(oids))
	for i, row := range rows {
		if row == nil {
			continue
		}
		if objs[i], err = row.object(oids[i]); err != nil {
			return nil, err
		}
	}
	return objs, nil
}

// Chain implements [store.ObjectReader].
func (s *session) Chain(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	var chain []store.Entry
	err := s.view(ctx, func(r *repository) error {
		for oid := from; !oid.IsZero() && oid != stop && len(chain) < limit; {
			row, ok := r.objects[oid]
			if !ok {
				return nil
			}
			o, err := row.object(oid)
			if err != nil {
				return err
			}
			chain = append(chain, store.Entry{OID: oid, Object: o})
			oid = object.Parent(o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return chain, nil
}

// ListObjects implements [store.ObjectReader].
func (s *session) ListObjects(ctx context.Context) ([]store.Stored, error) {
	var list []store.Stored
	err := s.view(ctx, func(r *repository) error {
		for oid, row := range r.objects {
			list = append(list, store.Stored{OID: oid, At: row.at})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b store.Stored) int { return a.OID.Compare(b.OID) })
	return list, err
}

// PutObjects implements [store.ObjectWriter].
func (s *session) PutObjects(ctx context.Context, objs []object.Encoded) error {
	if err := store.CheckObjects(objs); err != nil {
		return err
	}
	return s.update(ctx, func(r *repository, now store.Millis) error {
		r.put(objs, now)
		return nil
	})
}

// DeleteObjects implements [store.ObjectWriter].
func (s *session) DeleteObjects(ctx context.Context, oids []object.OID, before store.Millis) (int, error) {
	n := 0
	err := s.update(ctx, func(r *repository, _ store.Millis) error {
		for _, oid := range oids {
			if row, ok := r.objects[oid]; ok && row.at < before {
				delete(r.objects, oid)
				n++
			}
		}
		return nil
	})
	return n, err
}
