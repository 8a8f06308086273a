package memstore

import (
	"bytes"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// PlantObject stores body as the object oid without any check, as a damaged disk would. It is for tests of what readers make
// of corruption.
func (s *Store) PlantObject(id store.SessionID, oid object.OID, body []byte) error {
	return s.plant(id, func(r *repository) error {
		r.objects[oid] = &row{body: bytes.Clone(body), at: r.created}
		return nil
	})
}

// PlantEvent replaces the stored payload of the event seq without any check. It is for tests like those of
// [Store.PlantObject].
func (s *Store) PlantEvent(id store.SessionID, seq store.Seq, payload []byte) error {
	return s.plant(id, func(r *repository) error {
		if seq <= r.floor || seq > r.last {
			return fmt.Errorf("no event %d between %d and %d", seq, r.floor, r.last)
		}
		r.events[seq-r.floor-1].body = bytes.Clone(payload)
		return nil
	})
}

func (s *Store) plant(id store.SessionID, f func(*repository) error) error {
	r, ok := s.data.find(id)
	if !ok {
		return fmt.Errorf("planting in session %q: %w", id, store.ErrUnknownSession)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return f(r)
}
