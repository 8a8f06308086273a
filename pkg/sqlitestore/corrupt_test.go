package sqlitestore_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A row that no longer is its object is found by whoever reads it first: each case is read by a new Store, with an empty cache.
func TestObjects_CorruptRowsAreFound(t *testing.T) {
	bomb, err := zstd.NewWriter(nil)
	must(t, err)
	huge := bomb.EncodeAll(make([]byte, 80<<20), nil)
	for _, tc := range []struct {
		name, set string
		body      []byte
	}{
		{"another body", "codec=0, body=?", []byte(`{"kind":"blob","value":2}`)},
		{"unknown codec", "codec=9, body=?", []byte(`{}`)},
		{"not a frame", "codec=1, body=?", []byte("nonsense")},
		{"a frame that grows too large", "codec=1, body=?", huge},
		{"empty", "codec=0, body=?", []byte{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := newPath(t)
			e := encode(t, object.Blob{Value: jsontext.Value(`1`)})
			must(t, create(t, open(t, path, nil), "s").PutObjects(t.Context(), []object.Encoded{e}))
			sql(t, path, "UPDATE objects SET "+tc.set, tc.body)
			s := reopen(t, open(t, path, nil), "s")
			var corrupt *object.CorruptError
			if _, _, err := s.GetObject(t.Context(), e.OID); !errors.As(err, &corrupt) || corrupt.OID != e.OID {
				t.Errorf("GetObject: %v, want a CorruptError of %s", err, e.OID)
			}
			if _, err := s.Chain(t.Context(), e.OID, object.OID{}, 5); !errors.Is(err, object.ErrCorrupt) {
				t.Errorf("Chain: %v, want ErrCorrupt", err)
			}
		})
	}
}

// The parent column is not under the hash; a forged one must not lead a walk astray.
func TestChain_ForgedParentColumn(t *testing.T) {
	path := newPath(t)
	s := create(t, open(t, path, nil), "s")
	first := encode(t, commit(object.OID{}, 1))
	second := encode(t, commit(first.OID, 2))
	third := encode(t, commit(second.OID, 3))
	must(t, s.PutObjects(t.Context(), []object.Encoded{first, second, third}))
	sql(t, path, "UPDATE objects SET parent=? WHERE oid=?", first.OID[:], third.OID[:])
	chain, err := reopen(t, open(t, path, nil), "s").Chain(t.Context(), third.OID, object.OID{}, 5)
	if !errors.Is(err, object.ErrCorrupt) {
		t.Errorf("Chain = %d entries, %v; want ErrCorrupt", len(chain), err)
	}
}

func TestEvents_GapIsFound(t *testing.T) {
	path := newPath(t)
	s := create(t, open(t, path, nil), "s")
	for _, name := range []string{"a", "b", "c"} {
		_, err := s.AppendEvents(t.Context(), []store.EventBody{store.NoticeEvent{Level: store.Info, Message: name}}, nil)
		must(t, err)
	}
	for _, gone := range []int64{3, 2} { // the end, then also the middle
		sql(t, path, "DELETE FROM events WHERE seq=?", gone)
		if events, err := s.ReadEvents(t.Context(), store.Seq(gone-1), 0); err == nil {
			t.Errorf("without event %d ReadEvents = %v", gone, events)
		}
	}
	if events, err := s.ReadEvents(t.Context(), 0, 1); err != nil || len(events) != 1 {
		t.Errorf("ReadEvents of what is there = %v, %v", events, err)
	}
}

func TestEvents_MalformedRowIsFound(t *testing.T) {
	path := newPath(t)
	s := create(t, open(t, path, nil), "s")
	set(t.Context(), t, s, "refs/a", object.OID{}, oid("a"))
	corruptEvent(t, &backend{path: path}, "s", 1, []byte(`{"kind":"ref"}`))
	if events, err := s.ReadEvents(t.Context(), 0, 0); err == nil {
		t.Errorf("ReadEvents = %v, want an error", events)
	}
}
