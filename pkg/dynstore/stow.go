package dynstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// The attributes of an object.
const (
	attrTime       = "t"
	attrPlace      = "u" // key in Bodies, instead of a body
	attrGeneration = "g"
	attrAncestors  = "a"
)

// A stowed object is ready to be written.
type stowed struct {
	oid       object.OID
	item      item
	body      []byte // for Bodies; nil when it is in the item
	link      link
	canonical []byte // of the caller
	done      bool
}

// stow compresses and links objects that were checked, each once.
func (r *repo) stow(ctx context.Context, objs []object.Encoded, at store.Millis) ([]*stowed, error) {
	if len(objs) == 0 {
		return nil, nil
	}
	links, err := r.links(ctx, objs)
	if err != nil {
		return nil, err
	}
	var out []*stowed
	seen := make(map[object.OID]bool, len(objs))
	for _, o := range objs {
		if seen[o.OID] {
			continue
		}
		seen[o.OID] = true
		s := &stowed{oid: o.OID, link: links[o.OID], canonical: o.Body, item: key(r.partition, objectKey(o.OID))}
		how, packed := r.store.codec.pack(o.Body)
		s.item[attrTime] = number(at)
		if how != plain {
			s.item[attrCodec] = number(how)
		}
		if s.link.generation > 0 {
			s.item[attrGeneration] = number(s.link.generation)
		}
		if len(s.link.ancestors) > 0 {
			s.item[attrAncestors] = binaryValue(s.link.encode())
		}
		if len(packed) > maxInline && r.store.bodies != nil {
			s.body = packed
			s.item[attrPlace] = text(r.bodyPrefix() + o.OID.String() + "/" + rand.Text())
		} else {
			s.item[attrBody] = binaryValue(packed)
			if size := sizeOf(s.item); size > maxItem {
				return nil, &LimitError{What: "stored bytes of object " + o.OID.Short() + ", without Options.Bodies", Got: size, Most: maxItem}
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// bodyPrefix starts the keys of the session's bodies.
func (r *repo) bodyPrefix() string { return bodyPrefix(r.partition) }

func bodyPrefix(partition string) string {
	return strings.ReplaceAll(strings.TrimPrefix(partition, "S#"), "#", "/") + "/"
}

// links returns how objects are linked. The parents of commits are looked up, since whole conversations are read along them; lanes are
// short, and a change whose previous one is not at hand begins anew.
func (r *repo) links(ctx context.Context, objs []object.Encoded) (map[object.OID]link, error) {
	byOID := make(map[object.OID]object.Object, len(objs))
	for _, o := range objs {
		byOID[o.OID] = o.Object
	}
	known := map[object.OID]link{}
	var missing []object.OID
	for _, o := range objs {
		parent := object.Parent(o.Object)
		if parent.IsZero() || byOID[parent] != nil {
			continue
		}
		if b, ok := r.store.cache.Get(cacheKey{r.partition, parent}); ok {
			known[parent] = b.link
		} else if _, ok := o.Object.(object.Commit); ok && !slices.Contains(missing, parent) {
			missing = append(missing, parent)
		}
	}
	found, err := r.load(ctx, missing, false)
	if err != nil {
		return nil, fmt.Errorf("looking up parents: %w", err)
	}
	for oid, b := range found {
		known[oid] = b.link
	}
	links := make(map[object.OID]link, len(objs))
	for _, o := range objs {
		resolveLink(o.OID, byOID, known, links)
	}
	return links, nil
}

// resolveLink links an object and those before it in the same call.
func resolveLink(oid object.OID, objs map[object.OID]object.Object, known, links map[object.OID]link) {
	var path []object.OID
	for at := oid; objs[at] != nil; at = object.Parent(objs[at]) {
		if _, ok := links[at]; ok {
			break
		}
		path = append(path, at)
	}
	for _, at := range slices.Backward(path) {
		parent := object.Parent(objs[at])
		if up, ok := links[parent]; ok {
			links[at] = follow(parent, up)
		} else if up, ok := known[parent]; ok {
			links[at] = follow(parent, up)
		} else {
			links[at] = begin(parent)
		}
	}
}

// putObjects stores objects. What is there gets a new write time.
func (s *Store) putObjects(ctx context.Context, r *repo, objs []*stowed) error {
	objs = slices.DeleteFunc(slices.Clone(objs), func(o *stowed) bool { return o.done })
	if len(objs) == 0 {
		return nil
	}
	refreshed := make([]bool, len(objs))
	err := each(ctx, len(objs), func(ctx context.Context, i int) (err error) {
		if objs[i].body != nil {
			refreshed[i], err = s.putBody(ctx, r, objs[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	var requests []types.WriteRequest
	for i, o := range objs {
		if !refreshed[i] {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: o.item}})
		}
	}
	if err := s.batchWrite(ctx, requests); err != nil {
		return fmt.Errorf("putting objects: %w", err)
	}
	for _, o := range objs {
		o.done = true
	}
	return nil
}

// putBody refreshes the write time of an object whose body is in Bodies, or stores the body.
func (s *Store) putBody(ctx context.Context, r *repo, o *stowed) (refreshed bool, err error) {
	e := &expr{}
	e.conditions = append(e.conditions, "attribute_exists("+e.attr(attrPlace)+")")
	e.set(e.attr(attrTime), o.item[attrTime])
	_, err = call(ctx, s, s.client.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: key(r.partition, objectKey(o.oid)),
		ConditionExpression: e.condition(), UpdateExpression: e.update(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	})
	if err == nil {
		return true, nil
	}
	if classify(ctx, err) != refused {
		return false, fmt.Errorf("refreshing object %s: %w", o.oid.Short(), err)
	}
	if err := s.bodies.Put(ctx, textOf(o.item, attrPlace), o.body); err != nil {
		return false, fmt.Errorf("storing the body of object %s: %w", o.oid.Short(), err)
	}
	return false, nil
}

// batchWrite makes puts and deletes of distinct items, in batches that fit, until all are made.
func (s *Store) batchWrite(ctx context.Context, requests []types.WriteRequest) error {
	var batches [][]types.WriteRequest
	size := 0
	for _, w := range requests {
		n := 256 // a key
		if w.PutRequest != nil {
			n = sizeOf(w.PutRequest.Item)
		}
		last := len(batches) - 1
		if last < 0 || len(batches[last]) == maxBatch || size+n > maxBatchSize {
			batches, size = append(batches, nil), 0
			last++
		}
		batches[last], size = append(batches[last], w), size+n
	}
	return each(ctx, len(batches), func(ctx context.Context, i int) error {
		rest := batches[i]
		for p := s.pacer(); ; {
			out, err := call(ctx, s, s.client.BatchWriteItem, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{s.table: rest},
			})
			if err != nil {
				return err
			}
			if rest = out.UnprocessedItems[s.table]; len(rest) == 0 {
				return nil
			}
			if err := p.wait(ctx, firstWait, errUnprocessed); err != nil {
				return err
			}
		}
	})
}

// unput takes back what was put into a session that turned out to be gone, and returns why, so that nothing is left where nobody looks.
func (r *repo) unput(ctx context.Context, objs []*stowed, why error) error {
	if !errors.Is(why, store.ErrUnknownSession) {
		return why
	}
	var requests []types.WriteRequest
	var places []string
	for _, o := range objs {
		if !o.done {
			continue
		}
		requests = append(requests, deleteRequest(o.item))
		if o.body != nil {
			places = append(places, textOf(o.item, attrPlace))
		}
	}
	if err := r.store.batchWrite(ctx, requests); err != nil {
		return err
	}
	if len(places) > 0 {
		if err := r.store.bodies.Delete(ctx, places...); err != nil {
			return err
		}
	}
	return why
}

// remember caches what was written: most objects are read again soon.
func (s *Store) remember(r *repo, objs []*stowed) {
	for _, o := range objs {
		s.keep(r.partition, o.oid, &cached{canonical: bytes.Clone(o.canonical), link: o.link})
	}
}
