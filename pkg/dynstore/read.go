package dynstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A view is some refs and the control item as of one instant.
type view struct {
	refItems

	control *control
}

// ref returns where a ref points.
func (v *view) ref(n ref.Name) object.OID {
	h := place(n)
	if oid, ok := v.buckets[h.bucket].get(n); ok || h.single == "" {
		return oid
	}
	return v.singles[h.single]
}

// needs returns the keys of the items that say where refs point.
func needs(names []ref.Name) (buckets, singles []string) {
	seen := map[string]bool{}
	for _, n := range names {
		h := place(n)
		if !seen[h.bucket] {
			seen[h.bucket] = true
			buckets = append(buckets, h.bucket)
		}
		if h.single != "" && !seen[h.single] {
			seen[h.single] = true
			singles = append(singles, h.single)
		}
	}
	return buckets, singles
}

// look reads the items that say where refs point, all as of one instant.
//
// A transactional read is serial with every ref move, which no other read of several items is. What does not fit into one is read in several, the
// control item first and last: it moves with every ref.
func (r *repo) look(ctx context.Context, names []ref.Name) (*view, error) {
	buckets, singles := needs(names)
	keys := slices.Concat(buckets, singles)
	for p := r.store.pacer(); ; {
		v, err := r.lookOnce(ctx, keys)
		if err != nil || len(keys) < maxActions {
			return v, err
		}
		again, err := r.control(ctx)
		if err != nil {
			return nil, err
		}
		if again.seq == v.control.seq {
			return v, nil
		}
		if err := p.wait(ctx, firstWait, errMoved); err != nil {
			return nil, err
		}
	}
}

// lookOnce leaves out buckets that were not stored when this Store last looked, unless the control item that it reads says otherwise.
func (r *repo) lookOnce(ctx context.Context, keys []string) (*view, error) {
	stored := ^bucketSet(0)
	if c := r.last(); c != nil {
		stored = c.buckets
	}
	v, err := r.lookAt(ctx, keys, stored)
	if err == nil && v.control.buckets&^stored != 0 {
		v, err = r.lookAt(ctx, keys, ^bucketSet(0))
	}
	return v, err
}

func (r *repo) lookAt(ctx context.Context, keys []string, stored bucketSet) (*view, error) {
	v := &view{refItems: newRefItems()}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
		absent := bitOf(k)&^stored != 0
		if absent {
			v.buckets[k] = nil
		}
		return absent
	})
	first := keys[:min(len(keys), maxActions-1)]
	items, err := r.transactGet(ctx, append([]string{controlKey}, first...))
	if err != nil {
		return nil, err
	}
	if items[0] == nil {
		r.forget()
		return nil, store.ErrUnknownSession
	}
	if v.control, err = decodeControl(items[0]); err != nil {
		return nil, err
	}
	if err := v.add(first, items[1:]); err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(keys[len(first):], maxActions) {
		items, err := r.transactGet(ctx, chunk)
		if err != nil {
			return nil, err
		}
		if err := v.add(chunk, items); err != nil {
			return nil, err
		}
	}
	if len(first) == len(keys) && v.control.buckets&^stored == 0 {
		r.observe(v.control, v.refItems)
	}
	return v, nil
}

func (v *view) add(keys []string, items []item) error {
	for i, k := range keys {
		if k[:len(refPrefix)] == refPrefix {
			oid := binaryOf(items[i], attrRefs)
			switch {
			case len(oid) == len(object.OID{}):
				v.singles[k] = object.OID(oid)
			case items[i] == nil:
				v.singles[k] = object.OID{}
			default:
				return fmt.Errorf("%w: %s", errRefs, k)
			}
			continue
		}
		b, err := decodeBucket(items[i])
		if err != nil {
			return fmt.Errorf("reading %s: %w", k, err)
		}
		v.buckets[k] = b
	}
	return nil
}

// transactGet reads at most [maxActions] items of the partition as of one instant, nil where there is none.
func (r *repo) transactGet(ctx context.Context, keys []string) ([]item, error) {
	in := &dynamodb.TransactGetItemsInput{}
	for _, k := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &r.store.table, Key: key(r.partition, k)}})
	}
	out, err := call(ctx, r.store, r.store.client.TransactGetItems, in)
	if err != nil {
		return nil, fmt.Errorf("reading refs: %w", err)
	}
	items := make([]item, len(keys))
	for i, response := range out.Responses {
		if len(response.Item) > 0 {
			items[i] = response.Item
		}
	}
	return items, nil
}

// ReadRefs implements [store.RefReader].
func (s *session) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, s.exists(ctx)
	}
	v, err := s.look(ctx, names)
	if err != nil {
		return nil, err
	}
	oids := make([]object.OID, len(names))
	for i, n := range names {
		oids[i] = v.ref(n)
	}
	return oids, nil
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
