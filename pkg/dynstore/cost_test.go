package dynstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A cost is what one operation takes: serial round trips and units.
type cost struct {
	Trips         int
	Writes, Reads float64
}

// measure returns what an operation takes.
func (r *rig) measure(do func() error) cost {
	r.t.Helper()
	r.transport.Reset()
	if err := do(); err != nil {
		r.t.Fatal(err)
	}
	c := r.transport.Counts()
	return cost{c.RoundTrips, c.WriteUnits, c.ReadUnits}
}

// spend measures an operation and expects it to cost exactly that.
func (r *rig) spend(what string, want cost, do func() error) {
	r.t.Helper()
	if got := r.measure(do); got != want {
		r.t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func encode(t *testing.T, o object.Object) object.Encoded {
	t.Helper()
	e, err := object.Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// prose is text that compresses about as much as people's words do.
func prose(n int) string {
	words := strings.Fields("the session moved before its answer came so nobody waited and every second word was kept for a reader " +
		"who looked twice at what had been written while another quiet process took over without asking how it ended last time")
	var b strings.Builder
	for i, x := 0, uint32(7); b.Len() < n; i++ {
		x = x*1664525 + 1013904223
		b.WriteString(words[int(x>>16)%len(words)])
		b.WriteByte(" ,.;-"[int(x>>24)%5])
	}
	return b.String()[:n]
}

// move makes an update and expects it to be made.
func (r *rig) move(opts store.UpdateOptions, updates ...store.Update) func() error {
	return func() error {
		if opts.Reason == "" {
			opts.Reason = "submit"
		}
		out, err := r.s.UpdateRefs(r.t.Context(), updates, opts)
		if _, ok := out.(store.Updated); err == nil && !ok {
			return fmt.Errorf("got %#v", out)
		}
		return err
	}
}

// TestCosts holds what operations cost, exactly: they are what a conversation pays for.
func TestCosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tip, key := ref.QueueTip("main", "steer"), ref.Key("device-1/message-1")
	change := encode(t, object.Change{Body: object.MessageBody{Message: message.NewUser(prose(1000), 5)}, At: 5, Key: "device-1/message-1"})
	read := func(names ...ref.Name) func() error {
		return func() error { _, err := r.s.ReadRefs(t.Context(), names...); return err }
	}
	r.spend("read for a submission", cost{1, 0, 4}, read(tip, key))
	r.spend("submit a kilobyte with a key", cost{1, 8, 0}, r.move(store.UpdateOptions{Objects: []object.Encoded{change}},
		store.Update{Name: tip, To: change.OID}, store.Update{Name: key, To: change.OID}))

	var lease store.Lease
	r.spend("acquire", cost{1, 1, 0}, func() error {
		out, err := r.s.AcquireLease(t.Context(), ref.Head("main"), time.Minute)
		if got, ok := out.(store.Acquired); ok {
			lease = got.Lease
		}
		return err
	})
	commit := encode(t, object.Commit{Body: object.MessageBody{Message: message.NewUser(prose(1000), 5)}, Change: change.OID, At: 6, Key: "k"})
	run := encode(t, object.Run{ID: "run_1", Head: "main", Phase: object.Respond{}, StartedAt: 6})
	r.spend("land and start a run", cost{1, 8, 0}, r.move(
		store.UpdateOptions{Lease: &lease, Renew: time.Minute, Reason: "land", Objects: []object.Encoded{commit, run}},
		store.Assert(tip, change.OID), store.Update{Name: ref.QueueBase("main", "steer"), To: change.OID},
		store.Update{Name: ref.Head("main"), To: commit.OID}, store.Update{Name: ref.Run("main"), To: run.OID}))
	for i := range 12 {
		got := r.measure(func() error {
			_, err := r.s.AppendEvents(t.Context(), []store.EventBody{
				store.DeltaEvent{RunID: "run_01jd8v5q3x9k2m7n4p6r8s0t", Attempt: 1, Part: store.TextPart, Delta: prose(120)},
			}, &lease)
			return err
		})
		if got.Trips != 1 || got.Reads != 0 || got.Writes > 4 {
			t.Errorf("flush %d of a stream costs %+v", i, got)
		}
	}
	answer := encode(t, object.Commit{Parent: commit.OID, Body: object.MessageBody{Message: message.NewUser(prose(1000), 5)}, Run: "run_1", At: 7})
	r.spend("publish and release", cost{1, 6, 0}, r.move(
		store.UpdateOptions{Lease: &lease, Release: true, Reason: "respond", Objects: []object.Encoded{answer}},
		store.Update{Name: ref.Head("main"), From: commit.OID, To: answer.OID}, store.Update{Name: ref.Run("main"), From: run.OID}))
}

// TestChainCosts holds how many rounds a chain takes on a cold cache, however long it is. Requests of one round that do not quite overlap are
// counted as two.
func TestChainCosts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 4000
	chain := make([]object.Encoded, n)
	var parent object.OID
	for i := range chain {
		chain[i] = encode(t, object.Commit{Parent: parent, Body: object.SummaryBody{Text: fmt.Sprintf("commit %d", i)}, At: object.Millis(i)})
		parent = chain[i].OID
	}
	for i := 0; i < n; i += 100 { // as a conversation would: each batch links to the one before
		if err := r.s.PutObjects(t.Context(), chain[i:i+100]); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ limit, trips int }{{1, 1}, {8, 2}, {64, 4}, {1000, 12}, {4000, 14}} {
		cold := r.cold()
		var got []store.Entry
		c := r.measure(func() (err error) {
			got, err = cold.Chain(t.Context(), parent, object.OID{}, tc.limit)
			return err
		})
		t.Logf("%d commits: %+v", tc.limit, c)
		if len(got) != tc.limit || c.Trips > tc.trips {
			t.Errorf("%d of %d commits in %d rounds, want at most %d", len(got), tc.limit, c.Trips, tc.trips)
		}
	}
}
