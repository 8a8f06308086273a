package sqlitestore_test

import (
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// A backend is one file.
type backend struct {
	path string
	opts *sqlitestore.Options
}

func (b *backend) Open(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), b.path, b.opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func opener(t testing.TB, clock *storetest.Clock) storetest.Backend {
	t.Helper()
	return &backend{path: newPath(t), opts: &sqlitestore.Options{Now: clock.Now}}
}

func corruptObject(t testing.TB, b storetest.Backend, session store.SessionID, oid object.OID, body []byte) {
	t.Helper()
	sql(t, b.(*backend).path, "INSERT INTO objects (session, oid, kind, parent, at, codec, body) "+
		"SELECT key, ?, 'planted', NULL, 0, 0, ? FROM sessions WHERE id=? ON CONFLICT DO UPDATE SET codec=0, body=excluded.body",
		oid[:], body, string(session))
}

func corruptEvent(t testing.TB, b storetest.Backend, session store.SessionID, seq store.Seq, payload []byte) {
	t.Helper()
	row := append([]byte{0}, payload...)
	sql(t, b.(*backend).path, "UPDATE events SET body=? WHERE seq=? AND session=(SELECT key FROM sessions WHERE id=?)",
		row, int64(seq), string(session))
}

func TestConformance(t *testing.T) {
	storetest.Run(t, opener, storetest.Capabilities{
		DurableAcrossReopen: true,
		AbandonsLeases:      true,
		CorruptObject:       corruptObject,
		CorruptEvent:        corruptEvent,
	})
}
