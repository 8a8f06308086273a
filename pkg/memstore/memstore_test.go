package memstore_test

import (
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
)

type backend struct{ data *memstore.Store }

func (b backend) Open(testing.TB) store.Store { return b.data.Another() }

func open(_ testing.TB, clock *storetest.Clock) storetest.Backend {
	return backend{memstore.New(&memstore.Options{Now: clock.Now})}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, open, storetest.Capabilities{
		DurableAcrossReopen: true,
		CorruptObject: func(t testing.TB, b storetest.Backend, session store.SessionID, oid object.OID, body []byte) {
			t.Helper()
			if err := b.(backend).data.PlantObject(session, oid, body); err != nil {
				t.Fatal(err)
			}
		},
		CorruptEvent: func(t testing.TB, b storetest.Backend, session store.SessionID, seq store.Seq, payload []byte) {
			t.Helper()
			if err := b.(backend).data.PlantEvent(session, seq, payload); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, open) }
