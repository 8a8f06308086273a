package dynstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// PlantObject stores body as the object oid without any check.
func (s *Store) PlantObject(ctx context.Context, id store.SessionID, oid object.OID, body []byte) error {
	e, ok, err := s.lookup(ctx, id)
	if err != nil || !ok {
		return fmt.Errorf("looking up: %v, %w", ok, err)
	}
	it := key(partition(s.tenant, id, e.incarnation), objectKey(oid))
	it[attrTime], it[attrBody] = number(0), binaryValue(body)
	return s.batchWrite(ctx, []types.WriteRequest{{PutRequest: &types.PutRequest{Item: it}}})
}

// PlantEvent replaces the payload of an event, which must still be in the tail.
func (s *Store) PlantEvent(ctx context.Context, id store.SessionID, seq store.Seq, payload []byte) error {
	e, ok, err := s.lookup(ctx, id)
	if err != nil || !ok {
		return fmt.Errorf("looking up: %v, %w", ok, err)
	}
	h := s.handle(id, e.incarnation)
	defer h.Close()
	c, err := h.control(ctx)
	if err != nil {
		return err
	}
	list, err := records(c.tail, c.seq)
	if err != nil {
		return err
	}
	planted := *c
	planted.tail = nil
	for _, r := range list {
		if r.seq == seq {
			r.data = append([]byte{eventJSON}, payload...)
			ok = false
		}
		planted.tail = append(planted.tail, batch{tx: r.tx, at: r.at, events: [][]byte{r.data}}.encode())
	}
	if ok {
		return fmt.Errorf("event %d is not in the tail", seq)
	}
	return s.batchWrite(ctx, []types.WriteRequest{{PutRequest: &types.PutRequest{Item: planted.item(h.partition)}}})
}
