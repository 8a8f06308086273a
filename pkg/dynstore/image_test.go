package dynstore_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// image reads the control item of the one session.
func (r *rig) image() (map[string]types.AttributeValue, dynstore.SessionKey) {
	r.t.Helper()
	out, err := newClient(r.t).Scan(r.t.Context(), &dynamodb.ScanInput{
		TableName: aws.String(r.opts.Table), FilterExpression: aws.String("s = :a"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":a": &types.AttributeValueMemberS{Value: "A"}},
	})
	if err != nil || len(out.Items) != 1 {
		r.t.Fatalf("%d control items, %v", len(out.Items), err)
	}
	k, ok := dynstore.ParseControlKey(text(out.Items[0], "p"), text(out.Items[0], "s"))
	if !ok {
		r.t.Fatalf("the key %q is no session's", text(out.Items[0], "p"))
	}
	return out.Items[0], k
}

// TestReadChange proves that images before and after each write have every move of a ref exactly once, or say which events to read, and that those are read
// from the same incarnation.
func TestReadChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var last object.OID
	next := 0
	stir := func() {
		next++
		to := oid(fmt.Sprint(next))
		if out, err := r.s.UpdateRefs(t.Context(), []store.Update{{Name: ref.Run("main"), From: last, To: to}}, store.UpdateOptions{Reason: "test"}); err != nil {
			t.Fatal(out, err)
		}
		last = to
	}
	stream := func(length int) func() {
		return func() {
			delta := store.DeltaEvent{RunID: "run_1", Attempt: 1, Part: store.TextPart, Delta: strings.Repeat("x", length)}
			if out, err := r.s.AppendEvents(t.Context(), []store.EventBody{delta, delta}, nil); err != nil {
				t.Fatal(out, err)
			}
		}
	}
	lease := func() {
		if out, err := r.s.AcquireLease(t.Context(), ref.Head(fmt.Sprint("h", next)), time.Second); err != nil {
			t.Fatal(out, err)
		}
	}
	before, k := r.image()
	packed, silent := 0, 0
	var moved, fromPacks, fromReads []store.Seq
	for _, write := range []func(){stir, lease, stream(100), stir, stream(300), lease, stir, stream(900), stir, stir, stream(20), stir, stream(2000), stir} {
		write()
		after, _ := r.image()
		c, err := dynstore.ReadChange(before, after)
		if err != nil {
			t.Fatal(err)
		}
		var all []store.Event
		if c.Known > c.After+1 {
			packed++
			filled := c
			filled.Fill(r.packs())
			if filled.Known != c.After+1 || len(filled.Moves) < len(c.Moves) {
				t.Errorf("the packs do not fill %+v: %+v", c, filled)
			}
			for _, e := range filled.Moves {
				if e.Seq > c.After {
					fromPacks = append(fromPacks, e.Seq)
				}
			}
			none := c
			if none.Fill(nil); none.Known != c.Known {
				t.Errorf("no packs fill %+v: %+v", c, none)
			}
			if all, err = r.again(k).ReadEvents(t.Context(), c.After, int(c.Known-1-c.After)); err != nil || len(all) != int(c.Known-1-c.After) {
				t.Fatalf("reading what is in packs: %d events, %v; of %+v", len(all), err, c)
			}
		}
		if c.Upto == c.After {
			silent++
		}
		for _, e := range append(all, c.Moves...) {
			if _, ok := e.Body.(store.RefEvent); ok && e.Seq > c.After && (e.Seq >= c.Known || slices.Contains(all, e)) {
				moved = append(moved, e.Seq)
				if c.Known > c.After+1 {
					fromReads = append(fromReads, e.Seq)
				}
			}
		}
		before = after
	}
	events, err := r.clean.ReadEvents(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var want []store.Seq
	for _, e := range events {
		if _, ok := e.Body.(store.RefEvent); ok {
			want = append(want, e.Seq)
		}
	}
	if !slices.Equal(moved, want) || packed == 0 || silent != 2 {
		t.Errorf("moves were events %v, want %v; %d writes packed, %d of 2 brought none", moved, want, packed, silent)
	}
	if !slices.Equal(fromPacks, fromReads) {
		t.Errorf("packs have the moves %v, reads %v", fromPacks, fromReads)
	}
	t.Logf("%d of 14 writes are not in their image", packed)
}

// packs are all packs of the one session.
func (r *rig) packs() (out []dynstore.Pack) {
	r.t.Helper()
	found, err := newClient(r.t).Scan(r.t.Context(), &dynamodb.ScanInput{TableName: aws.String(r.opts.Table)})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, it := range found.Items {
		if _, ok := dynstore.ParsePackKey(text(it, "p"), text(it, "s")); !ok {
			continue
		}
		p, err := r.store.ReadPack(it)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// again returns a handle on an incarnation, in another process.
func (r *rig) again(k dynstore.SessionKey) store.Session {
	r.t.Helper()
	s, err := open(r.t, r.otherOpts()).OpenIncarnation(k)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// TestReadChange_made proves that the first image of a session has its first refs.
func TestReadChange_made(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/runs/main", "1")
	after, _ := r.image()
	c, err := dynstore.ReadChange(nil, after)
	if err != nil || c.After != 0 || c.Known != 1 || c.Upto != 1 || len(c.Moves) != 1 {
		t.Errorf("made, it is %+v, %v", c, err)
	}
}

// TestReadChange_damaged proves that what cannot be read is an error only where the write brought it.
func TestReadChange_damaged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/runs/main", "1")
	one, _ := r.image()
	r.stir("refs/runs/side", "2")
	two, _ := r.image()
	damage := func(image map[string]types.AttributeValue, batch int) map[string]types.AttributeValue {
		image = maps.Clone(image)
		tail := slices.Clone(image["t"].(*types.AttributeValueMemberL).Value)
		b := slices.Clone(tail[batch].(*types.AttributeValueMemberB).Value)
		b[len(b)-1] ^= 0xff
		tail[batch] = &types.AttributeValueMemberB{Value: b}
		image["t"] = &types.AttributeValueMemberL{Value: tail}
		return image
	}
	if c, err := dynstore.ReadChange(one, damage(two, 0)); err != nil || len(c.Moves) == 0 || c.Moves[len(c.Moves)-1].Seq != 2 {
		t.Errorf("an old event is damaged: %+v, %v", c, err)
	}
	if c, err := dynstore.ReadChange(one, damage(two, 1)); err == nil {
		t.Errorf("the event is damaged: %+v", c)
	}
	if c, err := dynstore.ReadChange(map[string]types.AttributeValue{}, two); err == nil {
		t.Errorf("an image without a number: %+v", c)
	}
}

// TestOpenIncarnation proves that a handle by its key never reaches a later session of the same id, nor another tenant's.
func TestOpenIncarnation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stir("refs/runs/main", "1")
	_, k := r.image()
	if err := r.store.DeleteSession(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.store.CreateSession(t.Context(), store.CreateOptions{ID: "s"}); err != nil {
		t.Fatal(err)
	}
	_, now := r.image()
	if now == k || now.Session != k.Session {
		t.Errorf("the sessions are %+v and %+v", k, now)
	}
	if _, err := r.again(k).GetObjects(t.Context(), []object.OID{oid("1")}); !errors.Is(err, store.ErrUnknownSession) {
		t.Errorf("reading the one that is gone: %v", err)
	}
	if seq, err := r.again(now).LastSeq(t.Context()); seq != 0 || err != nil {
		t.Errorf("the later one has %d events, %v", seq, err)
	}
	k.Tenant = "another"
	if _, err := r.store.OpenIncarnation(k); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("opening another tenant's: %v", err)
	}
}
