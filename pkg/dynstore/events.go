package dynstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

var errGap = errors.New("the stored stream has a gap")

// gapAttempts is how often a gap is looked at again: the parts of a transaction become visible one by one, and a trim may be under way.
const gapAttempts = 12

// ReadEvents implements [store.EventReader].
func (s *session) ReadEvents(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = store.DefaultPage
	}
	for p := s.store.pacer(); ; {
		page, err := s.page(ctx, after, limit)
		if err == nil {
			return page, nil
		}
		if !errors.Is(err, errGap) || p.attempt >= gapAttempts {
			return nil, fmt.Errorf("reading events after %d: %w", after, err)
		}
		if err := p.wait(ctx, firstWait, err); err != nil {
			return nil, err
		}
	}
}

// page reads the control item first: packs that it does not cover yet are left out, and what it moved into packs since is found there.
func (r *repo) page(ctx context.Context, after store.Seq, limit int) ([]store.Event, error) {
	c, err := r.control(ctx)
	if err != nil {
		return nil, err
	}
	if after < c.floor {
		return nil, &store.CursorExpiredError{After: after, Floor: c.floor}
	}
	want := int(min(store.Seq(limit), max(c.seq-after, 0)))
	if want == 0 {
		return nil, nil
	}
	tail, err := records(c.tail, c.seq)
	if err != nil {
		return nil, err
	}
	var list []record
	if after < c.seq-store.Seq(len(tail)) {
		if list, err = r.packed(ctx, after, want); err != nil {
			return nil, err
		}
	}
	events := make([]store.Event, 0, want)
	next := after + 1
	for _, rec := range append(list, tail...) {
		if rec.seq < next || len(events) == want {
			continue
		}
		if rec.seq > next {
			break
		}
		e, err := rec.event()
		if err != nil {
			return nil, err
		}
		events = append(events, e)
		next++
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("%w: event %d is missing", errGap, next)
	}
	return events, nil
}

// packed reads events out of packs until there are enough.
func (r *repo) packed(ctx context.Context, after store.Seq, want int) ([]record, error) {
	in := r.packQuery(after+1, 0)
	in.Limit = aws.Int32(int32(min(want, 100))) //nolint:gosec // at most 100
	var list []record
	for {
		out, err := call(ctx, r.store, r.store.client.Query, in)
		if err != nil {
			return nil, err
		}
		for _, it := range out.Items {
			page, err := r.store.codec.unpackItem(it)
			if err != nil {
				return nil, err
			}
			for _, rec := range page {
				if rec.seq > after {
					list = append(list, rec)
				}
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 || len(list) >= want {
			return list, nil
		}
	}
}

// LastSeq implements [store.EventReader].
func (s *session) LastSeq(ctx context.Context) (store.Seq, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	c, err := s.control(ctx)
	if err != nil {
		return 0, err
	}
	return c.seq, nil
}

// Floor implements [store.EventReader].
func (s *session) Floor(ctx context.Context) (store.Seq, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	c, err := s.control(ctx)
	if err != nil {
		return 0, err
	}
	return c.floor, nil
}

// TrimEvents implements [store.EventWriter]. The floor rises first, so that a trim that is cut short leaves packs that nobody reads and the
// next trim removes.
func (s *session) TrimEvents(ctx context.Context, before store.Seq) (store.Seq, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	floor, err := s.raise(ctx, before)
	if err == nil {
		err = s.sweepPacks(ctx, floor)
	}
	if err != nil {
		return 0, fmt.Errorf("trimming events: %w", err)
	}
	return floor, nil
}

func (r *repo) raise(ctx context.Context, before store.Seq) (store.Seq, error) {
	for {
		c, err := r.control(ctx)
		if err != nil {
			return 0, err
		}
		floor := min(before, c.seq)
		if floor <= c.floor {
			return c.floor, nil
		}
		e := &expr{}
		e.conditions = append(e.conditions, e.attr(attrFloor)+" < "+e.value(number(floor)))
		e.set(e.attr(attrFloor), number(floor))
		at, err := r.writeControl(ctx, e, func(now *control) resolution {
			if now.floor >= floor {
				return happened
			}
			return never
		})
		if err == nil {
			after := *at
			after.floor = max(floor, at.floor)
			r.observe(&after, refItems{})
			return after.floor, nil
		}
		if at == nil {
			return 0, err
		}
	}
}

// sweepPacks deletes the packs that end at or below the floor.
func (r *repo) sweepPacks(ctx context.Context, floor store.Seq) error {
	if floor == 0 {
		return nil
	}
	in := r.packQuery(0, 0)
	in.ExpressionAttributeValues[":last"] = text(packKey(floor))
	in.ProjectionExpression = aws.String("#p, #s")
	return r.store.deleteAll(ctx, in)
}

func deleteRequest(it item) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: item{attrPartition: it[attrPartition], attrSort: it[attrSort]}}}
}
