package dynstore

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A repo is one incarnation of a session as this Store knows it, shared by its handles.
//
// It remembers the control item and ref items as of one sequence number. A write judged on them expects that number still to be the last, so
// a stale memory costs an attempt and never a wrong write.
type repo struct {
	store     *Store
	partition string
	turn      chan struct{} // held by the one writer of this Store: it would only stand in its own way

	handles int // guarded by the mu of the Store

	mu      sync.Mutex
	known   *control      // nil: unknown
	refs    refItems      // as of known
	changed chan struct{} // closed when this Store wrote events or removed the session
}

// maxKnown is how many ref items of a session are remembered.
const maxKnown = 1024

// A refItems is ref items by sort key. A nil bucket, or a zero oid, is an item that is not stored.
type refItems struct {
	buckets map[string]*bucket
	singles map[string]object.OID
}

func newRefItems() refItems {
	return refItems{buckets: map[string]*bucket{}, singles: map[string]object.OID{}}
}

// drop forgets a repo when its last handle closes.
func (s *Store) drop(r *repo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.handles--; r.handles == 0 {
		delete(s.repos, r.partition)
	}
}

// take waits for the turn to write.
func (r *repo) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *repo) yield() { <-r.turn }

// last returns the control item that is remembered, nil when none is.
func (r *repo) last() *control {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// observe remembers what was read or written at one instant. What was known from before stays when no event came in between.
func (r *repo) observe(c *control, items refItems) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known != nil && c.seq < r.known.seq {
		return // an answer that was overtaken
	}
	r.remember(r.known != nil && r.known.seq == c.seq, c, items)
}

// advance remembers what a write of this Store made of the control item that it was judged on, and wakes the watches.
func (r *repo) advance(from, to *control, items refItems) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || r.known.seq <= to.seq {
		r.remember(r.known != nil && r.known.seq == from.seq, to, items)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// remember is called with the lock held.
func (r *repo) remember(stays bool, c *control, items refItems) {
	if !stays || len(r.refs.buckets)+len(r.refs.singles) > maxKnown {
		r.refs = newRefItems()
	}
	r.known = c
	maps.Copy(r.refs.buckets, items.buckets)
	maps.Copy(r.refs.singles, items.singles)
}

// recall returns a view of what is remembered, nil when something is missing.
func (r *repo) recall(names []ref.Name) *view {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		return nil
	}
	buckets, singles := needs(names)
	v := &view{control: r.known, refItems: newRefItems()}
	for _, k := range buckets {
		b, ok := r.refs.buckets[k]
		if !ok && bitOf(k)&r.known.buckets != 0 {
			return nil
		}
		v.buckets[k] = b
	}
	for _, k := range singles {
		oid, ok := r.refs.singles[k]
		if !ok {
			return nil
		}
		v.singles[k] = oid
	}
	return v
}

// forget makes the next call read.
func (r *repo) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.refs = nil, newRefItems()
}

// removed forgets the session and wakes its watches, which then see that it is gone.
func (r *repo) removed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.refs = nil, newRefItems()
	close(r.changed)
	r.changed = make(chan struct{})
}

// next returns what will be closed when this Store writes events or removes the session.
func (r *repo) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// control reads the control item, or returns [store.ErrUnknownSession].
func (r *repo) control(ctx context.Context) (*control, error) {
	out, err := call(ctx, r.store, r.store.client.GetItem, &dynamodb.GetItemInput{
		TableName: &r.store.table, Key: key(r.partition, controlKey), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the control item: %w", err)
	}
	if out.Item == nil {
		r.forget()
		return nil, store.ErrUnknownSession
	}
	c, err := decodeControl(out.Item)
	if err != nil {
		return nil, err
	}
	r.observe(c, refItems{})
	return c, nil
}

// exists returns [store.ErrUnknownSession] unless the session is there.
func (r *repo) exists(ctx context.Context) error {
	_, err := r.control(ctx)
	return err
}
