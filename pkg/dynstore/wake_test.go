package dynstore_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// stir moves a ref that was not there.
func (r *rig) stir(name ref.Name, to string) {
	r.t.Helper()
	out, err := r.s.UpdateRefs(r.t.Context(), []store.Update{{Name: name, To: oid(to)}}, store.UpdateOptions{Reason: "test"})
	if _, ok := out.(store.Updated); err != nil || !ok {
		r.t.Fatalf("moving %s: %#v, %v", name, out, err)
	}
}

func (r *rig) mark() dynstore.Mark {
	r.t.Helper()
	m, err := r.store.Mark(r.t.Context(), "s", "")
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func (r *rig) due() []dynstore.DueSession {
	r.t.Helper()
	due, err := dynstore.Due(r.t.Context(), r.opts.Client, r.opts.Table, r.now(), 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return due
}

func (r *rig) now() store.Millis { return store.Millis(r.clock.Now().UnixMilli()) }

func (r *rig) settle(at store.Millis) bool {
	r.t.Helper()
	seq, err := r.clean.LastSeq(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	ok, err := r.store.Settle(r.t.Context(), "s", seq, at)
	if err != nil {
		r.t.Fatal(err)
	}
	return ok
}

// TestMark proves that what may let a head go on marks the session, that nothing else does, and that only a look that saw everything takes it away.
func TestMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/facts/name", "1")
	r.stir("refs/heads/main", "2")
	if m := r.mark(); m != (dynstore.Mark{}) || len(r.due()) != 0 {
		t.Errorf("a fact and a head mark the session: %+v, %v", m, r.due())
	}
	since := r.now()
	for i, name := range []ref.Name{"refs/queues/main/queue/tip", "refs/runs/main", "refs/effects/run_1/a"} {
		r.stir(name, string(rune('3'+i)))
		if m := r.mark(); m.At != since {
			t.Errorf("after %s the mark is %+v, want since %d", name, m, since)
		}
		r.clock.Advance(time.Second) // a mark that is there stays as it is
	}
	if due := r.due(); len(due) != 1 || due[0].Session != "s" || due[0].At != since {
		t.Errorf("due are %+v", due)
	}
	seq, err := r.clean.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.clean.AppendEvents(t.Context(), []store.EventBody{store.NoticeEvent{Level: store.Info, Owner: "o", Message: "m"}}, nil); err != nil {
		t.Fatal(err)
	}
	if ok, err := r.store.Settle(t.Context(), "s", seq, 0); err != nil || ok {
		t.Errorf("settling on a look from before an event: %v, %v", ok, err)
	}
	later := r.now() + 60_000
	if !r.settle(later) || r.mark().At != later || len(r.due()) != 0 {
		t.Errorf("put off, the mark is %+v and due are %v", r.mark(), r.due())
	}
	r.stir("refs/effects/run_1/b", "9")
	if m := r.mark(); m.At != r.now() {
		t.Errorf("what comes before its time moves the mark to %+v, want %d", m, r.now())
	}
	for range 2 { // again is the same as once
		if !r.settle(0) {
			t.Error("the mark cannot be taken away")
		}
	}
	if r.mark().At != 0 || len(r.due()) != 0 {
		t.Errorf("taken away, the mark is %+v and due are %v", r.mark(), r.due())
	}
	if _, err := r.store.Mark(t.Context(), "none", ""); err == nil {
		t.Error("a session that is not there has a mark")
	}
}

// TestMark_settledBehindAWriter proves that a session that is settled between a writer's look and its write is marked all the same.
func TestMark_settledBehindAWriter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/runs/main", "1") // the writer remembers the mark
	since := r.now()
	seq, err := r.clean.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Second)
	other := open(t, r.otherOpts())
	if ok, err := other.Settle(t.Context(), "s", seq, since+3_600_000); err != nil || !ok {
		t.Fatalf("settling: %v, %v", ok, err)
	}
	r.stir("refs/effects/run_1/a", "2")
	if m := r.mark(); m.At != r.now() {
		t.Errorf("the mark is %+v, want %d", m, r.now())
	}
}

// otherOpts are those of another process, which meets no faults.
func (r *rig) otherOpts() dynstore.Options {
	opts := r.opts
	opts.Client = newClient(r.t)
	return opts
}

// TestMark_lostAnswers proves that settling outlives lost answers and late requests.
func TestMark_lostAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/runs/main", "1")
	for _, effect := range []awsfault.Effect{awsfault.LoseRequest{}, awsfault.LoseResponse{}, awsfault.Late{After: 1}, awsfault.Throttle{}} {
		for _, at := range []store.Millis{r.now() + 1000, 0} {
			r.transport.Play(awsfault.Plan{{Op: "UpdateItem", What: effect}})
			if !r.settle(at) || r.mark().At != at {
				t.Errorf("%T: settled at %d the mark is %+v", effect, at, r.mark())
			}
		}
	}
}

// TestMark_heldUntil proves that the mark tells of leases, and that an image of the stream says the same.
func TestMark_heldUntil(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/queues/main/queue/tip", "1")
	out, err := r.s.AcquireLease(t.Context(), "refs/heads/main", time.Minute)
	got, ok := out.(store.Acquired)
	if err != nil || !ok {
		t.Fatalf("acquiring: %#v, %v", out, err)
	}
	if m := r.mark(); m.HeldUntil != got.Lease.ExpiresAt {
		t.Errorf("the mark is %+v, want held until %d", m, got.Lease.ExpiresAt)
	}
	for head, want := range map[string]store.Millis{"main": got.Lease.ExpiresAt, "side": 0} {
		if m, err := r.store.Mark(t.Context(), "s", head); err != nil || m.HeldUntil != want {
			t.Errorf("the mark for head %s is %+v, %v; want held until %d", head, m, err, want)
		}
	}
	scan, err := newClient(t).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(r.opts.Table)})
	if err != nil {
		t.Fatal(err)
	}
	images := 0
	for _, it := range scan.Items {
		k, ok := dynstore.ParseControlKey(text(it, "p"), text(it, "s"))
		if !ok {
			continue
		}
		images++
		image, err := dynstore.ReadImage(it)
		if err != nil || k.Tenant != r.opts.Tenant || k.Session != "s" || k.Incarnation == "" || image.Mark != r.mark() || image.Seq != 1 {
			t.Errorf("the image of %+v is %+v, %v", k, image, err)
		}
	}
	if images != 1 {
		t.Errorf("%d images of control items, want 1", images)
	}
	if _, err := r.s.ReleaseLease(t.Context(), got.Lease); err != nil {
		t.Fatal(err)
	}
	if m := r.mark(); m.HeldUntil != 0 {
		t.Errorf("released, the mark is %+v", m)
	}
}

func text(it map[string]types.AttributeValue, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
