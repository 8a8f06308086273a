package dynstore_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// noise is text of n bytes that does not compress below half.
func noise(seed string, n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, seed, i))
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()[:n]
}

func blob(t *testing.T, text string) object.Encoded {
	t.Helper()
	value, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, object.Blob{Value: value})
}

// reads expects a cold reader to get every object.
func (r *rig) reads(objs ...object.Encoded) {
	r.t.Helper()
	oids := make([]object.OID, len(objs))
	for i, o := range objs {
		oids[i] = o.OID
	}
	got, err := r.cold().GetObjects(r.t.Context(), oids)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, o := range got {
		if o == nil || encode(r.t, o).OID != oids[i] {
			r.t.Errorf("object %d of %d bytes came back as another", i, len(objs[i].Body))
		}
	}
}

// TestCallsOfEveryCount moves refs around where a transaction is full: effects of one run, keys, tombstones and lanes, each with an object.
func TestCallsOfEveryCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, n := range []int{39, 40, 41, 46, 47, 94, 95, 130, 250} {
		for family, name := range map[string]func(int) ref.Name{
			"effects":    func(i int) ref.Name { return ref.Effect(fmt.Sprint("run_", n), fmt.Sprint("call_", i)) },
			"keys":       func(i int) ref.Name { return ref.Key(fmt.Sprintf("%d/%d", n, i)) },
			"tombstones": func(i int) ref.Name { return ref.Tombstone(oid(fmt.Sprintf("%d/%d", n, i))) },
		} {
			made, cleared := make([]store.Update, n), make([]store.Update, n)
			objs, names := make([]object.Encoded, n), make([]ref.Name, n)
			for i := range n {
				objs[i] = blob(t, fmt.Sprintf("%s %d of %d", family, i, n))
				names[i] = name(i)
				made[i] = store.Update{Name: names[i], To: objs[i].OID}
				cleared[i] = store.Update{Name: names[i], From: objs[i].OID}
			}
			if err := r.move(store.UpdateOptions{Objects: objs}, made...)(); err != nil {
				t.Fatalf("making %d %s: %v", n, family, err)
			}
			r.reads(objs...)
			got, err := r.clean.ReadRefs(t.Context(), names...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if got[i] != objs[i].OID {
					t.Fatalf("%s %d of %d is at %s", family, i, n, got[i].Short())
				}
			}
			// One alone, then the others in one, through another handle.
			if _, err := r.clean.UpdateRefs(t.Context(), cleared[:1], store.UpdateOptions{Reason: "r"}); err != nil {
				t.Fatal(err)
			}
			if err := r.move(store.UpdateOptions{}, cleared[1:]...)(); err != nil {
				t.Fatalf("clearing %d %s: %v", n, family, err)
			}
		}
	}
	if refs, err := r.cold().ListRefs(t.Context(), ""); err != nil || len(refs) > 0 {
		t.Errorf("left are %v, %v", refs, err)
	}
}

// TestAKeyMovesBetweenItsHomes proves that a ref has one value whether it lives alone, in a bucket, or was in both.
func TestAKeyMovesBetweenItsHomes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []store.Update
	for i := range 60 {
		all = append(all, store.Update{Name: ref.Key(fmt.Sprint(i)), To: oid("1")})
	}
	one := all[0]
	turn := func(s store.Session, from, to object.OID, list ...store.Update) {
		t.Helper()
		moves := make([]store.Update, len(list))
		for i, u := range list {
			moves[i] = store.Update{Name: u.Name, From: from, To: to}
		}
		out, err := s.UpdateRefs(t.Context(), moves, store.UpdateOptions{Reason: "r"})
		if _, ok := out.(store.Updated); err != nil || !ok {
			t.Fatalf("moving %d refs: %#v, %v", len(list), out, err)
		}
		for name, s := range map[string]store.Session{"cold": r.cold(), "warm": r.s} {
			got, err := s.ReadRefs(t.Context(), one.Name)
			if err != nil || got[0] != to {
				t.Errorf("%s: reads %v, %v, want %s", name, got, err, to.Short())
			}
			want := len(list)
			if to.IsZero() {
				want = 0
			}
			if refs, err := s.ListRefs(t.Context(), ref.Keys); err != nil || len(refs) != want {
				t.Errorf("%s: lists %d refs, %v, want %d", name, len(refs), err, want)
			}
		}
	}
	turn(r.s, object.OID{}, oid("1"), one)     // alone
	turn(r.clean, oid("1"), object.OID{}, one) // gone
	turn(r.s, object.OID{}, oid("2"), one)     // alone again
	turn(r.s, oid("2"), object.OID{}, one)     //
	turn(r.s, object.OID{}, oid("3"), all...)  // with many
	turn(r.clean, oid("3"), oid("4"), all...)  //
	turn(r.s, oid("4"), object.OID{}, all...)  //
	turn(r.s, object.OID{}, oid("5"), one)     // alone once more
	turn(r.clean, oid("5"), object.OID{}, one) //
	turn(r.clean, object.OID{}, oid("6"), one) //
	if err := r.move(store.UpdateOptions{}, many(all, oid("6"))...)(); err != nil {
		t.Fatal(err) // a deletion among many hides the item of the one
	}
	if got, err := r.cold().ReadRefs(t.Context(), one.Name); err != nil || !got[0].IsZero() {
		t.Errorf("a ref deleted among many reads %v, %v", got, err)
	}
}

// many deletes the first of the refs and makes the others.
func many(all []store.Update, from object.OID) []store.Update {
	moves := []store.Update{{Name: all[0].Name, From: from}}
	return append(moves, all[1:]...)
}

// TestAHeadWithManyLanes proves that deleting a head of any width is one update.
func TestAHeadWithManyLanes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := []store.Update{{Name: ref.Head("main"), To: oid("1")}, {Name: ref.Run("main"), To: oid("1")}}
	for i := range 60 {
		lane := fmt.Sprint("lane-", i)
		made = append(made, store.Update{Name: ref.QueueTip("main", lane), To: oid("1")}, store.Update{Name: ref.QueueBase("main", lane), To: oid("1")})
	}
	cleared := make([]store.Update, len(made))
	for i, u := range made {
		cleared[i] = store.Update{Name: u.Name, From: u.To}
	}
	for _, updates := range [][]store.Update{made, cleared} {
		if err := r.move(store.UpdateOptions{}, updates...)(); err != nil {
			t.Fatal(err)
		}
	}
	if refs, err := r.clean.ListRefs(t.Context(), ""); err != nil || len(refs) > 0 {
		t.Errorf("left are %v, %v", refs, err)
	}
}

// TestObjectsOfEverySize rides, puts and places objects at and around each border, alone and together.
func TestObjectsOfEverySize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var objs []object.Encoded
	for _, size := range []int{1, 500, 512, 900, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 17 << 10, 64 << 10, 400 << 10, 1 << 20, 8 << 20} {
		o := blob(t, noise(fmt.Sprint(size), size))
		if err := r.move(store.UpdateOptions{Objects: []object.Encoded{o}}, store.Update{Name: ref.Fact(fmt.Sprint(size)), To: o.OID})(); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		r.reads(o)
		objs = append(objs, blob(t, noise(fmt.Sprint("together", size), size)))
	}
	for i := range 150 { // more than ride in one transaction
		objs = append(objs, blob(t, noise(fmt.Sprint("more", i), 900)))
	}
	if err := r.move(store.UpdateOptions{Objects: objs}, store.Update{Name: "refs/facts/all", To: objs[0].OID})(); err != nil {
		t.Fatal(err)
	}
	r.reads(objs...)
	if got := len(r.bodies.keys()); got != 12 {
		t.Errorf("%d bodies are kept apart, want 12", got)
	}
	if err := r.s.PutObjects(t.Context(), objs); err != nil {
		t.Fatal(err)
	}
	if got := len(r.bodies.keys()); got != 12 {
		t.Errorf("putting objects again made %d bodies", got)
	}
	if err := r.store.DeleteSession(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if left := r.bodies.keys(); len(left) > 0 {
		t.Errorf("the deleted session left the bodies %q", left)
	}
}

// TestEventsOfEverySize appends and moves with events that fill packs and pages.
func TestEventsOfEverySize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var want []string
	for round, sizes := range [][]int{{10}, {230 << 10, 10, 20}, {1, 600, 700, 800}, {230 << 10, 230 << 10, 230 << 10}, {330 << 10}, {5, 300 << 10, 300 << 10, 300 << 10, 5}} {
		var bodies []store.EventBody
		for i, size := range sizes {
			text := noise(fmt.Sprint(round, i), size)
			want = append(want, text)
			bodies = append(bodies, notice(text)...)
		}
		if round%2 == 0 {
			if _, err := r.s.AppendEvents(t.Context(), bodies, nil); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		} else if err := r.move(store.UpdateOptions{Events: bodies}, store.Absent("refs/none"))(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	got := r.notices()
	if len(got) != len(want) {
		t.Fatalf("%d events came back, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d came back as another", i+1)
		}
	}
}

// TestWhatCannotFitIsRefused names the limit and writes nothing.
func TestWhatCannotFitIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	opts := r.opts
	opts.Bodies = nil
	inline, err := open(t, opts).OpenSession(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	huge := notice(noise("huge", 360<<10))
	var long []store.EventBody
	for i := range 26 {
		long = append(long, notice(noise(fmt.Sprint(i), 340<<10))...)
	}
	for name, call := range map[string]func() error{
		"an object without a place": func() error {
			return inline.PutObjects(t.Context(), []object.Encoded{blob(t, noise("x", 1<<20))})
		},
		"one event":         func() error { _, err := r.s.AppendEvents(t.Context(), huge, nil); return err },
		"one with a ref":    r.move(store.UpdateOptions{Events: huge}, store.Update{Name: "refs/x", To: oid("1")}),
		"events altogether": func() error { _, err := r.s.AppendEvents(t.Context(), long, nil); return err },
	} {
		var limit *dynstore.LimitError
		if err := call(); !errors.Is(err, dynstore.ErrLimit) || !errors.As(err, &limit) || limit.Got <= limit.Most {
			t.Errorf("%s: got %v, want a LimitError", name, err)
		}
	}
	if got, err := r.clean.LastSeq(t.Context()); err != nil || got != 0 {
		t.Errorf("what was refused left %d events, %v", got, err)
	}
	if got, err := r.clean.ListObjects(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("what was refused left objects %v, %v", got, err)
	}
}

// TestBatchesDoneByHalf proves that what a batch leaves over is done, and that contention and throttles are outlasted.
func TestBatchesDoneByHalf(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var objs []object.Encoded
	for i := range 120 {
		objs = append(objs, blob(t, noise(fmt.Sprint(i), 3000)))
	}
	r.transport.Play(awsfault.Plan{{What: awsfault.Unprocessed{}, Times: 12}})
	if err := r.s.PutObjects(t.Context(), objs); err != nil {
		t.Fatal(err)
	}
	if met := r.transport.Counts().Faults["unprocessed"]; met == 0 {
		t.Error("no batch was done by half")
	}
	r.reads(objs...)
	r.transport.Play(awsfault.Plan{
		{Op: "TransactWriteItems", What: awsfault.Conflict{}, Times: 10},
		{Op: "TransactWriteItems", What: awsfault.Throttle{}, Nth: 11, Times: 5},
		{Op: "TransactWriteItems", What: awsfault.Cancel{Codes: []string{"None", "ThrottlingError"}}, Nth: 16},
	})
	if err := r.move(store.UpdateOptions{}, store.Update{Name: "refs/x", To: oid("1")})(); err != nil {
		t.Error(err)
	}
	r.transport.Play(awsfault.Plan{{Op: "TransactWriteItems", What: awsfault.Conflict{}, Times: awsfault.Always}})
	if err := r.move(store.UpdateOptions{}, store.Update{Name: "refs/y", To: oid("1")})(); !errors.Is(err, dynstore.ErrBusy) {
		t.Errorf("endless contention gave %v, want ErrBusy", err)
	}
}
