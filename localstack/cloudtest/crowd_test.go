package cloudtest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// crowded is what a crowd meets: other transactions in the way, and the rest of the weather.
func crowded() awsfault.Plan {
	return append(awsfault.Plan{{What: awsfault.Conflict{}, Probability: 0.1}}, awsfault.Storm(0.01)...)
}

// However many processes submit to one lane at the same moment, each gets its receipt and all are in one chain.
func TestCrowdOnOneLane(t *testing.T) {
	sizes := []int{3, 10, 50, 100}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("%d processes", n), func(t *testing.T) {
			var b *cloudtest.Backend
			k := kerneltest.New(t, func(t testing.TB, clock *storetest.Clock) storetest.Backend {
				b = cloudtest.New(t, clock, cloudtest.Options{Seed: uint64(n), Pause: true})
				return b
			})
			processes := make([]*cloudtest.Process, n)
			sessions := make([]*kernel.Session, n)
			for i := range n {
				sessions[i] = k.Process().Session
				processes[i] = b.Last()
				processes[i].Meet(crowded())
			}
			outcomes, errs := make([]kernel.SubmitOutcome, n), make([]error, n)
			start := make(chan struct{})
			var together sync.WaitGroup
			for i, s := range sessions {
				together.Go(func() {
					<-start
					outcomes[i], errs[i] = s.Submit(k.Ctx, submission(k, i))
				})
			}
			began := time.Now()
			close(start)
			together.Wait()
			report(t, processes, time.Since(began))
			var queued []object.OID
			for i := range n {
				q, ok := outcomes[i].(kernel.Queued)
				if errs[i] != nil || !ok {
					t.Errorf("process %d: %#v, %v", i, outcomes[i], errs[i])
					continue
				}
				queued = append(queued, q.Change)
				if receipt := k.Ref(ref.Key(submission(k, i).Key)); receipt != q.Change {
					t.Errorf("process %d: the receipt is %s, want %s", i, receipt.Short(), q.Change.Short())
				}
				if again, err := sessions[i].Submit(k.Ctx, submission(k, i)); again != kernel.SubmitOutcome(kernel.Duplicate(q)) || err != nil {
					t.Errorf("process %d again: %#v, %v", i, again, err)
				}
			}
			var chain []object.OID
			for _, p := range kerneltest.Must(k.Pending(k.Ctx, kerneltest.Head))(t) {
				chain = append(chain, p.OID)
			}
			slices.SortFunc(chain, object.OID.Compare)
			slices.SortFunc(queued, object.OID.Compare)
			if !slices.Equal(chain, queued) {
				t.Errorf("%d are pending and %d were queued", len(chain), len(queued))
			}
		})
	}
}

func submission(k *kerneltest.Kit, i int) kernel.SubmitOptions {
	return kernel.SubmitOptions{
		Head: kerneltest.Head, Lane: kerneltest.Queue, Body: k.User(fmt.Sprintf("from %d", i)), Key: fmt.Sprintf("key %d", i),
	}
}

// report prints what it took.
func report(t *testing.T, processes []*cloudtest.Process, took time.Duration) {
	t.Helper()
	attempts, worst, requests, met := 0, 0, 0, 0
	for _, p := range processes {
		c := p.Counts()
		attempts += c.Requests["TransactWriteItems"]
		worst = max(worst, c.Requests["TransactWriteItems"])
		requests += c.Total()
		for _, n := range c.Faults {
			met += n
		}
	}
	t.Logf("%.1f attempts per commit, at most %d; %d requests, of which %d met a fault; %v",
		float64(attempts)/float64(len(processes)), worst, requests, met, took.Round(time.Millisecond))
}
