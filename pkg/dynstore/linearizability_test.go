package dynstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/internal/history"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// errImpatient ends a call between two attempts, so that its caller never learns what became of it.
var errImpatient = errors.New("out of patience")

// impatient does not wait between attempts, and sometimes makes none any more.
func impatient(seed uint64, p float64) func(context.Context, time.Duration) error {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 5))
	return func(ctx context.Context, _ time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < p {
			return errImpatient
		}
		return ctx.Err()
	}
}

// A histories is what was recorded of two stores on one table, both under one storm; a third store meets no fault.
type histories struct {
	clock  *storetest.Clock
	stores [2]*dynstore.Store
	clean  *dynstore.Store
	storm  *awsfault.Transport
	margin time.Duration

	sessions, calls int
	found           history.Findings
}

func newHistories(t *testing.T, seed uint64, plan awsfault.Plan) *histories {
	t.Helper()
	client, transport := faulty(t, seed)
	plain := newClient(t)
	h := &histories{clock: storetest.NewClock(), storm: transport, margin: 500 * time.Millisecond}
	opts := dynstore.Options{Client: plain, Table: newTable(t, plain), Tenant: emulator.Name(t), Now: h.clock.Now, SkewMargin: h.margin, Sleep: hurry}
	h.clean = open(t, opts)
	opts.Client = client
	for i := range h.stores {
		opts.Sleep = impatient(seed+uint64(i), 0.08)
		h.stores[i] = open(t, opts)
	}
	// Writes that happen although nobody is told.
	for _, op := range []string{"UpdateItem", "TransactWriteItems"} {
		plan = append(plan, awsfault.Fault{What: awsfault.LoseResponse{}, Op: op, Probability: 0.08})
	}
	transport.Play(plan)
	return h
}

// run makes a history of new sessions, and holds each against its stream.
func (h *histories) run(t *testing.T, w history.Workload, ids ...store.SessionID) []history.Op {
	t.Helper()
	handles := make([][]store.Session, len(h.stores))
	for _, id := range ids {
		if _, err := h.clean.CreateSession(t.Context(), store.CreateOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		for i, st := range h.stores {
			handles[i] = append(handles[i], h.handle(t, st, id))
		}
	}
	r := history.NewRecorder(h.clock.Now)
	w.Advance = h.clock.Advance
	if err := w.Run(t.Context(), r, handles); err != nil {
		t.Fatal(err)
	}
	ops := r.Ops()
	parts := history.Sessions(ops)
	for _, id := range ids {
		stream, err := history.Stream(t.Context(), h.handle(t, h.clean, id))
		if err != nil {
			t.Fatal(err)
		}
		f, err := history.Witness(parts[id], stream, h.margin)
		if err != nil {
			t.Errorf("seed %d, session %s: witness: %v", w.Seed, id, err)
		}
		h.sessions++
		h.calls += len(parts[id])
		h.found = h.found.Plus(f)
	}
	return ops
}

// handle opens a session, which an impatient store may have to try again.
func (h *histories) handle(t *testing.T, st *dynstore.Store, id store.SessionID) store.Session {
	t.Helper()
	for {
		s, err := st.OpenSession(t.Context(), id)
		if err == nil {
			return s
		}
		if !errors.Is(err, errImpatient) {
			t.Fatal(err)
		}
	}
}

func (h *histories) report(t *testing.T) {
	t.Helper()
	t.Logf("%d histories of one session, %d calls: %+v; met %v", h.sessions, h.calls, h.found, h.storm.Counts().Faults)
	if f := h.found; f.Unknown == 0 || f.Fenced == 0 || f.Grants == 0 {
		t.Error("the histories lack something to judge")
	}
	if share := float64(h.found.Unknown) / float64(h.calls); share > 0.08 {
		t.Errorf("of the calls %.0f %% have an unknown outcome", 100*share)
	}
}

// TestLinearizable proves that calls of many clients through two stores under a storm of faults have one order that explains every answer,
// whether that order is searched for or taken from the stream.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	h := newHistories(t, 11, awsfault.Storm(0.03))
	for seed := range uint64(20) {
		w := history.Workload{Seed: seed, Clients: 4 + int(seed%5), Calls: 40, Refs: 4, Leases: 2}
		ops := h.run(t, w, store.SessionID(fmt.Sprintf("a%d", seed)), store.SessionID(fmt.Sprintf("b%d", seed)))
		if err := history.Linearizable(ops, h.margin, time.Minute); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	h.report(t)
}

// TestLongHistory holds a long history of one session against its stream.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	h := newHistories(t, 12, awsfault.Storm(0.02))
	h.run(t, history.Workload{Seed: 1, Clients: 8, Calls: 300, Refs: 6, Leases: 3}, "long")
	h.report(t)
}

// A forgetful cloud says of some transactions that they were made, and does not make them.
type forgetful struct {
	dynstore.API
	n atomic.Int64
}

func (f *forgetful) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if f.n.Add(1)%5 == 0 {
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	return f.API.TransactWriteItems(ctx, in, opts...)
}

// TestABrokenStoreIsRejected proves that both checkers see what goes wrong in this store too.
func TestABrokenStoreIsRejected(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	clock := storetest.NewClock()
	opts := dynstore.Options{Client: client, Table: newTable(t, client), Now: clock.Now, Sleep: hurry}
	clean := open(t, opts)
	opts.Client = &forgetful{API: client}
	broken := open(t, opts)
	for seed := range uint64(3) {
		id := store.SessionID(fmt.Sprintf("s%d", seed))
		if _, err := clean.CreateSession(t.Context(), store.CreateOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		s, err := broken.OpenSession(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r := history.NewRecorder(clock.Now)
		w := history.Workload{Seed: seed, Clients: 4, Calls: 40, Refs: 3, Leases: 2, Advance: clock.Advance}
		if err := w.Run(t.Context(), r, [][]store.Session{{s}}); err != nil {
			t.Fatal(err)
		}
		if s, err = clean.OpenSession(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		stream, err := history.Stream(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		_, byWitness := history.Witness(r.Ops(), stream, 0)
		bySearch := history.Linearizable(r.Ops(), 0, time.Minute)
		if byWitness == nil || bySearch == nil {
			t.Errorf("seed %d: the witness says %v, the search %v", seed, byWitness, bySearch)
		}
	}
}
