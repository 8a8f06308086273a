package sqlitestore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// levels are the benchmarked durabilities. On a file system in memory they do not differ.
var levels = []struct {
	name  string
	level sqlitestore.Synchronous
}{{"full", sqlitestore.Full}, {"normal", sqlitestore.Normal}}

// BenchmarkFloor is what everything else is measured by: one transaction of four rows, written by hand.
func BenchmarkFloor(b *testing.B) {
	for _, l := range levels {
		b.Run(l.name, func(b *testing.B) {
			f, err := sqlitestore.OpenFloor(b.Context(), newPath(b), l.level)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			body := make([]byte, 200)
			n := int64(0)
			for b.Loop() {
				must(b, f.Exec("BEGIN IMMEDIATE"))
				for i := range int64(4) {
					must(b, f.Exec("INSERT INTO rows (a, b, body) VALUES (?,?,?)", i, n, body))
				}
				must(b, f.Exec("COMMIT"))
				n++
			}
		})
	}
}

// BenchmarkPublish is one fenced step: two refs move, one is asserted, the lease is renewed.
func BenchmarkPublish(b *testing.B) {
	for _, l := range levels {
		for _, withObjects := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/objects=%v", l.name, withObjects), func(b *testing.B) {
				st := open(b, newPath(b), &sqlitestore.Options{Synchronous: l.level})
				s := create(b, st, "s")
				out, err := s.AcquireLease(b.Context(), "refs/heads/main", time.Minute)
				must(b, err)
				lease := out.(store.Acquired).Lease
				set(b.Context(), b, s, "refs/stacks/main", object.OID{}, oid("x"))
				var head, run object.OID
				n := 0
				for b.Loop() {
					n++
					opts := store.UpdateOptions{Reason: "respond", Lease: &lease, Renew: time.Minute}
					var nextHead, nextRun object.OID
					if withObjects {
						commit := encode(b, commit(head, n))
						runObj := encode(b, object.Blob{Value: fmt.Appendf(nil, `{"run":%d}`, n)})
						nextHead, nextRun = commit.OID, runObj.OID
						opts.Objects = []object.Encoded{commit, runObj}
					} else {
						nextHead, nextRun = oid(fmt.Sprint("h", n)), oid(fmt.Sprint("r", n))
					}
					out, err := s.UpdateRefs(b.Context(), []store.Update{
						{Name: "refs/heads/main", From: head, To: nextHead},
						{Name: "refs/runs/main", From: run, To: nextRun},
						store.Assert("refs/stacks/main", oid("x")),
					}, opts)
					must(b, err)
					if _, ok := out.(store.Updated); !ok {
						b.Fatalf("got %#v", out)
					}
					head, run = nextHead, nextRun
				}
			})
		}
	}
}

// BenchmarkSubmit is one submit: a change, the tip, a receipt, by many goroutines with a lane each.
func BenchmarkSubmit(b *testing.B) {
	for _, l := range levels {
		for _, writers := range []int{1, 8, 50} {
			b.Run(fmt.Sprintf("%s/writers=%d", l.name, writers), func(b *testing.B) {
				st := open(b, newPath(b), &sqlitestore.Options{Synchronous: l.level})
				s := create(b, st, "s")
				var left atomic.Int64
				left.Store(int64(b.N))
				before := st.Commits()
				b.ResetTimer()
				var wg sync.WaitGroup
				for w := range writers {
					wg.Go(func() {
						var tip object.OID
						for n := 0; left.Add(-1) >= 0; n++ {
							tip = submit(b, s, fmt.Sprint("lane", w), fmt.Sprintf("%d-%d", w, n), tip)
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				b.ReportMetric(float64(st.Commits()-before)/float64(b.N), "commits/op")
			})
		}
	}
}

func submit(b *testing.B, s store.Session, lane, key string, tip object.OID) object.OID {
	c := encode(b, object.Change{
		Previous: tip, At: 1, Key: key,
		Body: object.MessageBody{Message: userSays("what is the weather in " + key)},
	})
	out, err := s.UpdateRefs(b.Context(), []store.Update{
		{Name: ref.QueueTip("main", lane), From: tip, To: c.OID},
		{Name: ref.Key(key), To: c.OID},
	}, store.UpdateOptions{Reason: "submit", Objects: []object.Encoded{c}})
	if err != nil {
		b.Error(err)
	} else if _, ok := out.(store.Updated); !ok {
		b.Errorf("got %#v", out)
	}
	return c.OID
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, opener) }

// BenchmarkColdChain reads a chain that no cache has.
func BenchmarkColdChain(b *testing.B) {
	s := create(b, open(b, newPath(b), &sqlitestore.Options{CacheBytes: -1}), "s")
	const n = 1000
	objs := make([]object.Encoded, n)
	var parent object.OID
	for i := range objs {
		objs[i] = encode(b, commit(parent, i+1))
		parent = objs[i].OID
	}
	must(b, s.PutObjects(b.Context(), objs))
	for b.Loop() {
		chain, err := s.Chain(b.Context(), parent, object.OID{}, n)
		must(b, err)
		if len(chain) != n {
			b.Fatalf("the chain has %d entries", len(chain))
		}
	}
}

// BenchmarkWake is a commit of another process until the watch here sees it, with the pipe that asks for the commit.
func BenchmarkWake(b *testing.B) {
	path := newPath(b)
	st := open(b, path, nil)
	st.NotifiedOnly()
	s := create(b, st, "s")
	other := start(b, path)
	seen := make(chan store.Seq)
	go func() {
		for e, err := range s.WatchEvents(b.Context(), 0) {
			if err != nil {
				return
			}
			seen <- e.Seq
		}
	}()
	n := 0
	for b.Loop() {
		n++
		other.send(fmt.Sprint("move refs/r/", n))
		<-seen
		other.line()
	}
}
