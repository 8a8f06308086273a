package dynstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// faulty returns a client whose requests go through a transport that plays faults and counts.
func faulty(t testing.TB, seed uint64) (*dynamodb.Client, *awsfault.Transport) {
	t.Helper()
	e := emulator.Start(t)
	transport := awsfault.New(e.Transport(), awsfault.Options{Seed: seed, Probe: e.Emulated})
	return e.DynamoDB(emulator.WithTransport(transport)), transport
}

// hurry does not wait between attempts.
func hurry(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// storm is everything that a store must outlast but stale replicas, which may show a deleted object for a while.
func storm(p float64) awsfault.Plan {
	return slices.DeleteFunc(awsfault.Storm(p), func(f awsfault.Fault) bool { return f.What == awsfault.Effect(awsfault.Stale{}) })
}

// TestConformanceUnderFaults proves that no caller sees contention, throttles, lost requests, lost answers or batches done by half.
func TestConformanceUnderFaults(t *testing.T) {
	t.Parallel()
	client, transport := faulty(t, 7)
	table := newTable(t, newClient(t))
	large := newBodies()
	transport.Play(storm(0.03))
	storetest.Run(t, func(t testing.TB, clock *storetest.Clock) storetest.Backend {
		return &backend{dynstore.Options{
			Client: client, Table: table, Tenant: emulator.Name(t), Bodies: large, Now: clock.Now,
			Poll: 20 * time.Millisecond, Sleep: hurry,
		}}
	}, storetest.Capabilities{DurableAcrossReopen: true})
	t.Logf("met %v", transport.Counts().Faults)
}

// A rig is one session of a store under faults, with another handle that meets none.
type rig struct {
	t         *testing.T
	transport *awsfault.Transport
	clock     *storetest.Clock
	bodies    *bodies
	opts      dynstore.Options
	store     *dynstore.Store
	s         store.Session
	clean     store.Session
}

func newRig(t *testing.T) *rig {
	t.Helper()
	client, transport := faulty(t, 1)
	plain := newClient(t)
	clock := storetest.NewClock()
	large := newBodies()
	opts := dynstore.Options{Client: plain, Table: newTable(t, plain), Now: clock.Now, Sleep: hurry, Bodies: large}
	other := open(t, opts)
	opts.Client = client
	r := &rig{t: t, transport: transport, clock: clock, bodies: large, opts: opts, store: open(t, opts)}
	out, err := r.store.CreateSession(t.Context(), store.CreateOptions{ID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	r.s = out.(store.SessionCreated).Session
	if r.clean, err = other.OpenSession(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	return r
}

// cold returns a handle of a store that knows nothing yet.
func (r *rig) cold() store.Session {
	r.t.Helper()
	s, err := open(r.t, r.opts).OpenSession(r.t.Context(), "s")
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// notices returns the notices of the whole stream.
func (r *rig) notices() []string {
	r.t.Helper()
	var list []string
	for after := store.Seq(0); ; {
		page, err := r.clean.ReadEvents(r.t.Context(), after, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(page) == 0 {
			return list
		}
		for _, e := range page {
			after = e.Seq
			if n, ok := e.Body.(store.NoticeEvent); ok {
				list = append(list, n.Message)
			}
		}
	}
}

func notice(text string) []store.EventBody {
	return []store.EventBody{store.NoticeEvent{Level: store.Info, Message: text}}
}

func oid(s string) object.OID { return object.Hash([]byte(s)) }

// TestALostAnswerHappensOnce proves that a write whose answer is lost, before or after it was carried out or long after it was given up, is
// made exactly once.
func TestALostAnswerHappensOnce(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]awsfault.Effect{
		"lost request":  awsfault.LoseRequest{},
		"lost response": awsfault.LoseResponse{},
		"late by one":   awsfault.Late{After: 1},
		"late by two":   awsfault.Late{After: 2},
		"late by three": awsfault.Late{After: 3},
		"late by four":  awsfault.Late{After: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.transport.Play(awsfault.Plan{{Op: "UpdateItem", What: effect}, {Op: "TransactWriteItems", What: effect}})
			out, err := r.s.AppendEvents(t.Context(), notice("appended"), nil)
			if out != store.AppendOutcome(store.Appended{Seq: 1}) || err != nil {
				t.Errorf("appending: %#v, %v", out, err)
			}
			moved, err := r.s.UpdateRefs(t.Context(), []store.Update{{Name: "refs/x", To: oid("1")}},
				store.UpdateOptions{Reason: "r", Events: notice("updated")})
			if moved != store.UpdateOutcome(store.Updated{Seq: 3}) || err != nil {
				t.Errorf("updating: %#v, %v", moved, err)
			}
			r.transport.Play(nil)
			for range 5 { // whatever is late comes
				if _, err := r.s.LastSeq(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := r.notices(); len(got) != 2 || got[0] != "appended" || got[1] != "updated" {
				t.Errorf("the stream has %q", got)
			}
		})
	}
}

// TestALostAnswerBesideAnotherWriter proves that the events behind the expected number tell whose they are.
func TestALostAnswerBesideAnotherWriter(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"lost before": false, "lost after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			between := func() {
				if _, err := r.clean.AppendEvents(t.Context(), notice("other"), nil); err != nil {
					t.Error(err)
				}
			}
			effect := awsfault.Effect(awsfault.LoseRequest{})
			if after {
				effect = awsfault.LoseResponse{}
			}
			// The write is lost, another one comes in between, and only then is looked for it.
			r.transport.Play(awsfault.Plan{{Op: "UpdateItem", What: effect}, {Op: "GetItem", What: awsfault.Gate{Before: between}}})
			want := []string{"other", "mine"}
			if after {
				want = []string{"mine", "other"}
			}
			out, err := r.s.AppendEvents(t.Context(), notice("mine"), nil)
			done, ok := out.(store.Appended)
			if err != nil || !ok {
				t.Fatalf("appending: %#v, %v", out, err)
			}
			got := r.notices()
			if len(got) != 2 || got[0] != want[0] || got[1] != want[1] || got[done.Seq-1] != "mine" {
				t.Errorf("the stream has %q, and mine is said to be number %d", got, done.Seq)
			}
		})
	}
}

// TestAGrantOutlivesItsAnswer proves that an owner recognises its lease, and whom it took it from.
func TestAGrantOutlivesItsAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, err := r.clean.AcquireLease(t.Context(), "refs/heads/main", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Minute)
	r.transport.Play(awsfault.Plan{{Op: "UpdateItem", What: awsfault.LoseResponse{}}})
	out, err := r.s.AcquireLease(t.Context(), "refs/heads/main", time.Second)
	next, ok := out.(store.Acquired)
	if err != nil || !ok {
		t.Fatalf("acquiring: %#v, %v", out, err)
	}
	if !next.Takeover || next.Lease.Fence <= first.(store.Acquired).Lease.Fence {
		t.Errorf("after %#v came %#v", first, next)
	}
	r.transport.Play(awsfault.Plan{{Op: "UpdateItem", What: awsfault.LoseResponse{}}})
	if ok, err := r.s.ReleaseLease(t.Context(), next.Lease); err != nil || !ok {
		t.Errorf("releasing: %v, %v", ok, err)
	}
}

// TestALateAcquisitionTakesNothing proves that a request that was given up, and whose repetition got the lease, does not take the name when it
// comes after the release: nobody would give it back.
func TestALateAcquisitionTakesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for how, release := range map[string]func(store.Lease) (bool, error){
		"by itself": func(l store.Lease) (bool, error) { return r.s.ReleaseLease(t.Context(), l) },
		"with an update": func(l store.Lease) (bool, error) {
			out, err := r.s.UpdateRefs(t.Context(), []store.Update{{Name: "refs/x", To: oid("1")}}, store.UpdateOptions{Reason: "r", Lease: &l, Release: true})
			_, ok := out.(store.Updated)
			return ok, err
		},
	} {
		r.transport.Play(awsfault.Plan{{Op: "UpdateItem", What: awsfault.Late{After: 4}}})
		out, err := r.s.AcquireLease(t.Context(), "refs/heads/main", time.Minute)
		got, ok := out.(store.Acquired)
		if err != nil || !ok {
			t.Fatalf("acquiring: %#v, %v", out, err)
		}
		if ok, err := release(got.Lease); err != nil || !ok {
			t.Fatalf("releasing %s: %v, %v", how, ok, err)
		}
		for range 5 { // what is late comes
			_, _ = r.s.LastSeq(t.Context())
		}
		if l, ok, err := r.s.ReadLease(t.Context(), "refs/heads/main"); err != nil || ok {
			t.Errorf("released %s, the name is held by %+v, %v", how, l, err)
		}
		if n := r.transport.Counts().Faults["late"]; n == 0 {
			t.Error("nothing was late")
		}
	}
}

// TestACreationOutlivesItsAnswer proves that a creator recognises its session, and a deletion its own.
func TestACreationOutlivesItsAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, effect := range []awsfault.Effect{awsfault.LoseRequest{}, awsfault.LoseResponse{}, awsfault.Late{After: 1}, awsfault.Late{After: 2}} {
		r.transport.Play(awsfault.Plan{{Op: "TransactWriteItems", What: effect}})
		out, err := r.store.CreateSession(t.Context(), store.CreateOptions{
			ID: "new", Reason: "r", Refs: []store.Update{{Name: "refs/x", To: oid("1")}},
		})
		created, ok := out.(store.SessionCreated)
		if err != nil || !ok {
			t.Fatalf("creating: %#v, %v", out, err)
		}
		if last, err := created.Session.LastSeq(t.Context()); err != nil || last != 1 {
			t.Errorf("the new session has %d events, %v", last, err)
		}
		r.transport.Play(awsfault.Plan{{Op: "TransactWriteItems", What: effect}})
		if err := r.store.DeleteSession(t.Context(), "new"); err != nil {
			t.Fatal(err)
		}
		r.transport.Play(nil)
		for range 3 { // whatever is late comes
			_, _ = r.s.LastSeq(t.Context())
		}
		if _, err := r.store.OpenSession(t.Context(), "new"); err == nil {
			t.Error("the deleted session came back")
		}
	}
}

// TestAReplicaThatLags proves that what was written a moment ago is read although a replica does not have it yet.
func TestAReplicaThatLags(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	chain := make([]object.Encoded, 20)
	var parent object.OID
	for i := range chain {
		chain[i] = encode(t, object.Commit{Parent: parent, Body: object.SummaryBody{Text: "s"}, At: object.Millis(i)})
		parent = chain[i].OID
	}
	if err := r.clean.PutObjects(t.Context(), chain); err != nil {
		t.Fatal(err)
	}
	r.transport.Play(awsfault.Plan{{What: awsfault.Stale{}, Times: awsfault.Always}})
	if got, err := r.s.Chain(t.Context(), parent, object.OID{}, 100); err != nil || len(got) != len(chain) {
		t.Errorf("the chain has %d of %d, %v", len(got), len(chain), err)
	}
	if r.transport.Counts().Faults["stale"] == 0 {
		t.Error("no replica lagged")
	}
}
