package kernel

import (
	"context"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// maxCombined bounds how many submissions share one compare-and-swap: a key and an object each keep well below DynamoDB's limit of
// 100 items a transaction.
const maxCombined = 32

// A combiner lets submissions that meet in one process share one compare-and-swap. The first to arrive writes for all that arrive
// while it is busy; nobody waits for company.
type combiner struct {
	mu      sync.Mutex
	busy    bool
	waiting []*submission
}

// A submission is one change on its way into a lane. done is closed when outcome and err are set.
type submission struct {
	head, lane string
	change     object.Change
	oid        object.OID
	outcome    SubmitOutcome
	err        error
	done       chan struct{}
}

func (sub *submission) tip() ref.Name { return ref.QueueTip(sub.head, sub.lane) }

func (sub *submission) answer(o SubmitOutcome, err error) {
	sub.outcome, sub.err = o, err
	close(sub.done)
}

func (sub *submission) answered() bool {
	select {
	case <-sub.done:
		return true
	default:
		return false
	}
}

func (c *combiner) submit(ctx context.Context, s *Session, sub *submission) (SubmitOutcome, error) {
	sub.done = make(chan struct{})
	c.mu.Lock()
	c.waiting = append(c.waiting, sub)
	lead := !c.busy
	c.busy = true
	c.mu.Unlock()
	if lead {
		// The batch outlives the one caller that happens to lead it.
		go c.lead(context.WithoutCancel(ctx), s)
	}
	select {
	case <-sub.done:
		return sub.outcome, sub.err
	case <-ctx.Done():
		return nil, context.Cause(ctx) // unknown: submit again with the same key
	}
}

func (c *combiner) lead(ctx context.Context, s *Session) {
	for {
		c.mu.Lock()
		batch := take(&c.waiting)
		if len(batch) == 0 {
			c.busy = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		s.write(ctx, batch)
	}
}

// take removes the next batch from waiting: at most maxCombined submissions, and none that repeats a key of the batch, which has to see
// the first one's receipt.
func take(waiting *[]*submission) []*submission {
	var batch, rest []*submission
	keys := make(map[string]bool)
	for _, sub := range *waiting {
		k := sub.change.Key
		if len(batch) == maxCombined || k != "" && keys[k] {
			rest = append(rest, sub)
			continue
		}
		keys[k] = true
		batch = append(batch, sub)
	}
	*waiting = rest
	return batch
}

func unanswered(batch []*submission) []*submission {
	var open []*submission
	for _, sub := range batch {
		if !sub.answered() {
			open = append(open, sub)
		}
	}
	return open
}

func fail(batch []*submission, err error) {
	for _, sub := range unanswered(batch) {
		sub.answer(nil, err)
	}
}

// commonAuthor is the reflog's actor of a batch: the author, when all of the batch have the same.
func commonAuthor(batch []*submission) *object.Actor {
	first := batch[0].change.Author
	for _, sub := range batch[1:] {
		a := sub.change.Author
		if a == nil || first == nil || *a != *first {
			return nil
		}
	}
	return first
}
