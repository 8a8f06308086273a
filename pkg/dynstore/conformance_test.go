package dynstore_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// A bodies is an object store in memory.
type bodies struct {
	mu    sync.Mutex
	byKey map[string][]byte
}

func newBodies() *bodies { return &bodies{byKey: map[string][]byte{}} }

func (b *bodies) Put(_ context.Context, key string, body []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byKey[key] = slices.Clone(body)
	return nil
}

func (b *bodies) Get(_ context.Context, key string) ([]byte, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, ok := b.byKey[key]
	return body, ok, nil
}

func (b *bodies) Delete(_ context.Context, keys ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		delete(b.byKey, k)
	}
	return nil
}

func (b *bodies) Keys(_ context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, k := range b.keys() {
			if strings.HasPrefix(k, prefix) && !yield(k, nil) {
				return
			}
		}
	}
}

func (b *bodies) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.byKey))
}

// newClient returns a client of the cloud.
func newClient(t testing.TB) *dynamodb.Client {
	t.Helper()
	return emulator.Start(t).DynamoDB()
}

// newTable makes a table, once for all tests of a binary that ask through the same value.
func newTable(t testing.TB, client *dynamodb.Client) string {
	t.Helper()
	table := emulator.Name(t)
	if err := dynstore.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	return table
}

// A backend is one tenant of a table, so that tests share it.
type backend struct{ opts dynstore.Options }

func (b *backend) Open(t testing.TB) store.Store { return open(t, b.opts) }

func open(t testing.TB, opts dynstore.Options) *dynstore.Store {
	t.Helper()
	s, err := dynstore.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	client := newClient(t)
	table := newTable(t, client)
	for name, large := range map[string]func() dynstore.Bodies{
		"inline": func() dynstore.Bodies { return nil },
		"bodies": func() dynstore.Bodies { return newBodies() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opener := func(t testing.TB, clock *storetest.Clock) storetest.Backend {
				return &backend{dynstore.Options{
					Client: client, Table: table, Tenant: emulator.Name(t), Bodies: large(), Now: clock.Now,
					Poll: 20 * time.Millisecond, SkewMargin: time.Second,
				}}
			}
			storetest.Run(t, opener, storetest.Capabilities{
				DurableAcrossReopen: true,
				SkewMargin:          time.Second,
				CorruptObject: func(t testing.TB, b storetest.Backend, id store.SessionID, oid object.OID, body []byte) {
					t.Helper()
					if err := open(t, b.(*backend).opts).PlantObject(t.Context(), id, oid, body); err != nil {
						t.Fatal(err)
					}
				},
				CorruptEvent: func(t testing.TB, b storetest.Backend, id store.SessionID, seq store.Seq, payload []byte) {
					t.Helper()
					if err := open(t, b.(*backend).opts).PlantEvent(t.Context(), id, seq, payload); err != nil {
						t.Fatal(err)
					}
				},
			})
		})
	}
}
