package dynstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// TestManyProcessesOnOneLane submits at once from many stores, each a process of its own, through faults. Every one gets its receipt, and
// the lane is one chain.
func TestManyProcessesOnOneLane(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 10, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			client, transport := faulty(t, uint64(n)) //nolint:gosec // small
			plain := newClient(t)
			opts := dynstore.Options{Client: plain, Table: newTable(t, plain)}
			out, err := open(t, opts).CreateSession(t.Context(), store.CreateOptions{ID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			clean := out.(store.SessionCreated).Session
			opts.Client = client
			transport.Play(storm(0.01))
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					if err := submit(t, opts, fmt.Sprint(i)); err != nil {
						t.Errorf("submitter %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			tips, err := clean.ReadRefs(t.Context(), lane)
			if err != nil {
				t.Fatal(err)
			}
			chain, err := clean.Chain(t.Context(), tips[0], object.OID{}, 10*n)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, e := range chain {
				seen[e.Object.(object.Change).Key] = true
			}
			receipts, err := clean.ListRefs(t.Context(), ref.Keys)
			if err != nil {
				t.Fatal(err)
			}
			last, err := clean.LastSeq(t.Context())
			if len(chain) != n || len(seen) != n || len(receipts) != n || int(last) != 2*n || err != nil {
				t.Errorf("%d submitters made a chain of %d with %d keys, %d receipts and %d events, %v", n, len(chain), len(seen), len(receipts), last, err)
			}
			c := transport.Counts()
			t.Logf("%d submitters: %.1f transactions per commit, faults %v", n, float64(c.Requests["TransactWriteItems"])/float64(n), c.Faults)
		})
	}
}

const lane ref.Name = "refs/queues/main/steer/tip"

// submit appends a change to the lane as a participant does: read, write, and again when another was first.
func submit(t *testing.T, opts dynstore.Options, key string) error {
	st, err := dynstore.New(opts)
	if err != nil {
		return err
	}
	s, err := st.OpenSession(t.Context(), "s")
	if err != nil {
		return err
	}
	for {
		at, err := s.ReadRefs(t.Context(), lane, ref.Key(key))
		if err != nil {
			return err
		}
		change, err := object.Encode(object.Change{Previous: at[0], Body: object.SummaryBody{Text: "hello " + key}, At: 1, Key: key})
		if err != nil {
			return err
		}
		out, err := s.UpdateRefs(t.Context(), []store.Update{
			{Name: lane, From: at[0], To: change.OID}, {Name: ref.Key(key), To: change.OID},
		}, store.UpdateOptions{Reason: "submit", Objects: []object.Encoded{change}})
		if err != nil {
			return err
		}
		switch out.(type) {
		case store.Updated:
			return nil
		case store.UpdateConflict:
		case store.Fenced:
			return errors.New("fenced without a lease")
		}
	}
}
