package dynstore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// AppendEvents implements [store.EventWriter].
func (s *session) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	if err := store.CheckEvents(bodies); err != nil {
		return nil, err
	}
	events, err := encodeEvents(bodies)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.yield()
	out, err := s.append(ctx, events, lease)
	if err != nil {
		return nil, fmt.Errorf("appending events: %w", err)
	}
	return out, nil
}

func (r *repo) append(ctx context.Context, events [][]byte, lease *store.Lease) (store.AppendOutcome, error) {
	at := r.store.millis()
	c := r.last()
	for p := r.store.pacer(); ; {
		remembered := c != nil
		if !remembered {
			var err error
			if c, err = r.control(ctx); err != nil {
				return nil, err
			}
		}
		if lease != nil && !c.holds(*lease) {
			if !remembered {
				return store.Fenced{}, nil
			}
			c = nil
			continue
		}
		next, err := r.appendTo(ctx, c, batch{tx: newTx(), at: at, events: events}, lease)
		if err != nil {
			r.forget()
			return nil, err
		}
		if next != nil {
			r.advance(c, next, refItems{})
			return store.Appended{Seq: next.seq}, nil
		}
		if p.attempt > 0 || !remembered {
			if err := p.wait(ctx, firstWait, errMoved); err != nil {
				return nil, err
			}
		}
		r.forget()
		c = nil
	}
}

// appendTo appends behind what c has last, and returns the control item then, nil when the session has moved since. A small batch is one
// update of the control item; else everything unpacked is packed in a transaction.
func (r *repo) appendTo(ctx context.Context, c *control, b batch, lease *store.Lease) (*control, error) {
	e := &expr{}
	e.expect(e.attr(attrSeq), number(c.seq))
	if lease != nil {
		e.held(*lease)
	}
	encoded := b.encode()
	next := c.appended(encoded, len(b.events))
	e.set(e.attr(attrSeq), number(next.seq))
	var send func(context.Context) error
	if !next.full(r.partition) {
		e.grow(encoded)
		in := r.controlUpdate(e)
		send = func(ctx context.Context) error {
			_, err := r.store.client.UpdateItem(ctx, in, once)
			return err
		}
	} else {
		next = c.packed(len(b.events))
		e.set(e.attr(attrTail), list(nil))
		p := &plan{repo: r}
		p.reserve()
		p.update(e, sizeOf(c.item(r.partition)))
		if err := p.packs(c, b); err != nil {
			return nil, err
		}
		in := p.input(b.tx)
		send = func(ctx context.Context) error {
			_, err := r.store.client.TransactWriteItems(ctx, in, once)
			return err
		}
	}
	committed, err := r.settle(ctx, c.seq, b.tx, send)
	if err != nil || !committed {
		return nil, err
	}
	return next, nil
}

func (r *repo) controlUpdate(e *expr) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: &r.store.table, Key: key(r.partition, controlKey),
		ConditionExpression: e.condition(), UpdateExpression: e.update(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValues:                        "ALL_OLD",
		ReturnValuesOnConditionCheckFailure: "ALL_OLD",
	}
}
