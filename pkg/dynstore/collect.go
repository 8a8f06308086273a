package dynstore

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// DeleteObjects implements [store.ObjectWriter]. It looks first at what there is, so that an object whose deletion was not answered is counted,
// and its body found. Each deletion judges the write time by itself.
func (s *session) DeleteObjects(ctx context.Context, oids []object.OID, before store.Millis) (int, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	n, err := s.deleteObjects(ctx, oids, before)
	if err != nil {
		return n, fmt.Errorf("deleting objects: %w", err)
	}
	if n == 0 {
		return 0, s.exists(ctx)
	}
	return n, nil
}

func (r *repo) deleteObjects(ctx context.Context, oids []object.OID, before store.Millis) (int, error) {
	var distinct []object.OID
	seen := map[object.OID]bool{}
	for _, oid := range oids {
		r.store.cache.Remove(cacheKey{r.partition, oid})
		if !seen[oid] {
			seen[oid] = true
			distinct = append(distinct, oid)
		}
	}
	var mu sync.Mutex
	n := 0
	var places []string
	for chunk := range slices.Chunk(distinct, maxActions) {
		items, err := r.batchGet(ctx, chunk, true)
		if err != nil {
			return n, err
		}
		err = each(ctx, len(items), func(ctx context.Context, i int) error {
			gone, err := r.deleteObject(ctx, items[i], before)
			if err != nil || !gone {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			n++
			if place := textOf(items[i], attrPlace); place != "" {
				places = append(places, place)
			}
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	if len(places) == 0 || r.store.bodies == nil {
		return n, nil
	}
	return n, r.store.bodies.Delete(ctx, places...)
}

// deleteObject deletes one object unless it was put again or is too new.
func (r *repo) deleteObject(ctx context.Context, it item, before store.Millis) (bool, error) {
	e := &expr{}
	e.conditions = append(e.conditions, e.attr(attrTime)+" < "+e.value(number(before)))
	if place := it[attrPlace]; place != nil {
		e.expect(e.attr(attrPlace), place)
	}
	in := &dynamodb.DeleteItemInput{
		TableName: &r.store.table, Key: item{attrPartition: it[attrPartition], attrSort: it[attrSort]},
		ConditionExpression: e.condition(), ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: "ALL_OLD",
	}
	doubt := false
	for p := r.store.pacer(); ; {
		_, err := r.store.client.DeleteItem(ctx, in, once)
		if err == nil {
			return true, nil
		}
		switch why := classify(ctx, err); why {
		case fatal:
			return false, err
		case refused:
			return doubt && len(oldOf(err)) == 0, nil
		case contended, throttled, unknown:
			doubt = doubt || why == unknown
			if err := p.after(ctx, why, err); err != nil {
				return false, err
			}
		}
	}
}
