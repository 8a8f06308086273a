package dynstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

var errUnprocessed = errors.New("a part of a batch was left over")

type cacheKey struct {
	partition string
	oid       object.OID
}

// A cached object is verified when it is first looked at.
type cached struct {
	canonical []byte
	link      link
	corrupt   error // why there are no canonical bytes
	decoded   atomic.Pointer[object.Object]
}

func (b *cached) object(oid object.OID) (object.Object, error) {
	if o := b.decoded.Load(); o != nil {
		return *o, nil
	}
	if b.corrupt != nil {
		return nil, b.corrupt
	}
	o, err := object.Decode(oid, b.canonical)
	if err != nil {
		return nil, err
	}
	b.decoded.Store(&o)
	return o, nil
}

// keep caches an object, whose decoded form takes about twice the room of its bytes.
func (s *Store) keep(partition string, oid object.OID, b *cached) {
	s.cache.Add(cacheKey{partition, oid}, b, int64(3*len(b.canonical)+32*len(b.link.ancestors)+512))
}

// load reads objects that are stored, without verifying them. Immutable objects may be read from any replica; one that is missing there may
// have been written a moment ago.
func (r *repo) load(ctx context.Context, oids []object.OID, consistent bool) (map[object.OID]*cached, error) {
	found := make(map[object.OID]*cached, len(oids))
	var mu sync.Mutex
	chunks := slices.Collect(slices.Chunk(oids, maxActions))
	err := each(ctx, len(chunks), func(ctx context.Context, i int) error {
		items, err := r.batchGet(ctx, chunks[i], consistent)
		if err != nil {
			return err
		}
		return each(ctx, len(items), func(ctx context.Context, i int) error {
			oid, err := parseObjectKey(textOf(items[i], attrSort))
			if err != nil {
				return err
			}
			b, err := r.unstow(ctx, oid, items[i])
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found[oid] = b
			return nil
		})
	})
	return found, err
}

func (r *repo) batchGet(ctx context.Context, oids []object.OID, consistent bool) ([]item, error) {
	s := r.store
	keys := types.KeysAndAttributes{ConsistentRead: &consistent}
	for _, oid := range oids {
		keys.Keys = append(keys.Keys, key(r.partition, objectKey(oid)))
	}
	var items []item
	for p := s.pacer(); ; {
		out, err := call(ctx, s, s.client.BatchGetItem, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{s.table: keys},
		})
		if err != nil {
			return nil, fmt.Errorf("reading objects: %w", err)
		}
		items = append(items, out.Responses[s.table]...)
		rest := out.UnprocessedKeys[s.table].Keys
		if len(rest) == 0 {
			return items, nil
		}
		if len(rest) < len(keys.Keys) {
			p = s.pacer() // an answer is full at 16 MB, which is no reason to wait
		} else if err := p.wait(ctx, firstWait, errUnprocessed); err != nil {
			return nil, err
		}
		keys.Keys = rest
	}
}

// unstow returns the object of an item. Bytes that are no object are for the one who looks at them to judge.
func (r *repo) unstow(ctx context.Context, oid object.OID, it item) (*cached, error) {
	b := &cached{link: decodeLink(it)}
	packed := binaryOf(it, attrBody)
	if place := textOf(it, attrPlace); place != "" {
		if r.store.bodies == nil {
			return nil, fmt.Errorf("object %s has its body elsewhere, and there is no Options.Bodies", oid.Short())
		}
		body, ok, err := r.store.bodies.Get(ctx, place)
		if err != nil {
			return nil, fmt.Errorf("reading the body of object %s: %w", oid.Short(), err)
		}
		if !ok {
			b.corrupt = &object.CorruptError{OID: oid, Reason: "its body is missing"}
			return b, nil
		}
		packed = body
	}
	how, err := optionalInt(it, attrCodec)
	if err == nil {
		b.canonical, err = r.store.codec.unpack(how, packed)
	}
	if err != nil {
		b.corrupt = &object.CorruptError{OID: oid, Reason: "it cannot be unpacked: " + err.Error()}
	}
	return b, nil
}

// fetch returns objects from the cache or the table, nil where one is not stored.
func (r *repo) fetch(ctx context.Context, oids []object.OID) (map[object.OID]*cached, error) {
	found := make(map[object.OID]*cached, len(oids))
	missing := func() (list []object.OID) {
		seen := map[object.OID]bool{}
		for _, oid := range oids {
			if found[oid] == nil && !seen[oid] && !oid.IsZero() {
				seen[oid] = true
				list = append(list, oid)
			}
		}
		return list
	}
	for _, oid := range oids {
		if b, ok := r.store.cache.Get(cacheKey{r.partition, oid}); ok {
			found[oid] = b
		}
	}
	for _, consistent := range []bool{false, true} {
		rest := missing()
		if len(rest) == 0 {
			break
		}
		loaded, err := r.load(ctx, rest, consistent)
		if err != nil {
			return nil, err
		}
		for oid, b := range loaded {
			found[oid] = b
			if b.corrupt == nil {
				r.store.keep(r.partition, oid, b)
			}
		}
	}
	return found, nil
}

// verify returns the object of what was fetched.
func (r *repo) verify(oid object.OID, b *cached) (object.Object, error) {
	o, err := b.object(oid)
	if err != nil {
		r.store.cache.Remove(cacheKey{r.partition, oid})
	}
	return o, err
}

// GetObject implements [store.ObjectReader].
func (s *session) GetObject(ctx context.Context, oid object.OID) (object.Object, bool, error) {
	objs, err := s.GetObjects(ctx, []object.OID{oid})
	if err != nil {
		return nil, false, err
	}
	return objs[0], objs[0] != nil, nil
}

// GetObjects implements [store.ObjectReader].
func (s *session) GetObjects(ctx context.Context, oids []object.OID) ([]object.Object, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	found, err := s.fetch(ctx, oids)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && len(oids) > 0 {
		return make([]object.Object, len(oids)), s.exists(ctx)
	}
	out := make([]object.Object, len(oids))
	for i, oid := range oids {
		b := found[oid]
		if b == nil {
			continue
		}
		if out[i], err = s.verify(oid, b); err != nil {
			return nil, fmt.Errorf("reading object %s: %w", oid.Short(), err)
		}
	}
	return out, nil
}

// PutObjects implements [store.ObjectWriter].
func (s *session) PutObjects(ctx context.Context, objs []object.Encoded) error {
	if err := store.CheckObjects(objs); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	rows, err := s.stow(ctx, objs, s.store.millis())
	if err != nil {
		return err
	}
	if err = s.store.putObjects(ctx, s.repo, rows); err == nil {
		err = s.exists(ctx)
	}
	if err != nil {
		return s.unput(ctx, rows, err)
	}
	s.store.remember(s.repo, rows)
	return nil
}

// ListObjects implements [store.ObjectReader].
func (s *session) ListObjects(ctx context.Context) ([]store.Stored, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var list []store.Stored
	in := &dynamodb.QueryInput{
		TableName: &s.store.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#p = :p AND begins_with(#s, :o)"),
		ProjectionExpression:      aws.String("#s, #t"),
		ExpressionAttributeNames:  map[string]string{"#p": attrPartition, "#s": attrSort, "#t": attrTime},
		ExpressionAttributeValues: item{":p": text(s.partition), ":o": text(objectPrefix)},
	}
	for {
		out, err := call(ctx, s.store, s.store.client.Query, in)
		if err != nil {
			return nil, fmt.Errorf("listing objects: %w", err)
		}
		for _, it := range out.Items {
			oid, err := parseObjectKey(textOf(it, attrSort))
			if err != nil {
				return nil, err
			}
			at, err := intOf(it, attrTime)
			if err != nil {
				return nil, err
			}
			list = append(list, store.Stored{OID: oid, At: store.Millis(at)})
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}
	slices.SortFunc(list, func(a, b store.Stored) int { return a.OID.Compare(b.OID) })
	if len(list) == 0 {
		return nil, s.exists(ctx)
	}
	return list, nil
}
