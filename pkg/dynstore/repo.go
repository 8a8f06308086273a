package dynstore

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A repo is one incarnation of a session as this Store knows it, shared by its handles.
//
// It remembers the control item and the ref buckets as of one sequence number. A write judged on them expects that number still to be
// the last, so a stale memory costs an attempt and never a wrong write.
type repo struct {
	store     *Store
	partition string
	turn      chan struct{} // held by the one writer of this Store: it would only stand in its own way

	handles int // guarded by the mu of the Store

	mu      sync.Mutex
	known   *control           // nil: unknown
	buckets map[string]*bucket // as of known; a nil bucket is not stored
	changed chan struct{}      // closed when this Store wrote events or removed the session
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

// state returns what is remembered; the control is nil when nothing is.
func (r *repo) state() (*control, map[string]*bucket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known, r.buckets
}

// observe remembers what was read or written at one instant. Buckets known from before stay when no event came in between.
func (r *repo) observe(c *control, buckets map[string]*bucket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known != nil && c.seq < r.known.seq {
		return // an answer that was overtaken
	}
	merged := map[string]*bucket{}
	if r.known != nil && r.known.seq == c.seq {
		maps.Copy(merged, r.buckets)
	}
	maps.Copy(merged, buckets)
	r.known, r.buckets = c, merged
}

// advance remembers what a write of this Store made of the control it was judged on, and wakes the watches.
func (r *repo) advance(from, to *control, buckets map[string]*bucket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || r.known.seq <= to.seq {
		merged := map[string]*bucket{}
		if r.known != nil && r.known.seq == from.seq {
			maps.Copy(merged, r.buckets)
		}
		maps.Copy(merged, buckets)
		r.known, r.buckets = to, merged
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// relet remembers a change of leases.
func (r *repo) relet(c *control) { r.observe(c, nil) }

// forget makes the next call read.
func (r *repo) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.buckets = nil, nil
}

// removed forgets the session and wakes its watches, which then see that it is gone.
func (r *repo) removed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.buckets = nil, nil
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
	r.observe(c, nil)
	return c, nil
}

// exists returns [store.ErrUnknownSession] unless the session is there.
func (r *repo) exists(ctx context.Context) error {
	_, err := r.control(ctx)
	return err
}
