package dynstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// DeleteSession implements [store.Store]. One transaction takes the session out of the directory, removes its control item, without which no
// write succeeds, and notes what is left to remove. A deletion that is cut short after that is taken up by the next one of the same id.
func (s *Store) DeleteSession(ctx context.Context, id store.SessionID) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if err := s.delete(ctx, id); err != nil {
		return fmt.Errorf("deleting session %q: %w", id, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, id store.SessionID) error {
	if !valid(id) {
		return nil
	}
	var incarnation string
	for p := s.pacer(); ; {
		e, ok, err := s.lookup(ctx, id)
		if err != nil {
			return err
		}
		if !ok || incarnation != "" && e.incarnation != incarnation {
			return s.sweepGarbage(ctx, id) // the one that was there is gone, and a later one is not meant
		}
		incarnation = e.incarnation
		_, err = s.client.TransactWriteItems(ctx, s.removal(e), once)
		if err == nil {
			return s.sweepGarbage(ctx, id)
		}
		why := classify(ctx, err)
		if why == fatal {
			return err
		}
		if err := p.after(ctx, why, err); err != nil {
			return err
		}
	}
}

// valid reports whether a session can have the id: no other is looked for.
func valid(id store.SessionID) bool { return store.CheckSessionID(id) == nil }

func (s *Store) removal(e entry) *dynamodb.TransactWriteItemsInput {
	d := directory(s.tenant)
	same := &expr{}
	same.expect(same.attr(attrIncarnation), text(e.incarnation))
	remove := func(k item) types.TransactWriteItem {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &s.table, Key: k}}
	}
	name := remove(key(d, namePrefix+string(e.id)))
	name.Delete.ConditionExpression = same.condition()
	name.Delete.ExpressionAttributeNames, name.Delete.ExpressionAttributeValues = same.names, same.values
	note := key(d, garbagePrefix+string(e.id)+"#"+e.incarnation)
	actions := []types.TransactWriteItem{
		name,
		remove(key(partition(s.tenant, e.id, e.incarnation), controlKey)),
		{Put: &types.Put{TableName: &s.table, Item: note}},
	}
	for _, it := range e.listings(s.tenant) {
		actions = append(actions, remove(it))
	}
	return &dynamodb.TransactWriteItemsInput{TransactItems: actions}
}

// sweepGarbage removes what is left of the deleted sessions of an id.
func (s *Store) sweepGarbage(ctx context.Context, id store.SessionID) error {
	out, err := call(ctx, s, s.client.Query, &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#p = :p AND begins_with(#s, :d)"),
		ExpressionAttributeNames:  map[string]string{"#p": attrPartition, "#s": attrSort},
		ExpressionAttributeValues: item{":p": text(directory(s.tenant)), ":d": text(garbagePrefix + string(id) + "#")},
	})
	if err != nil {
		return fmt.Errorf("looking for what is left: %w", err)
	}
	for _, it := range out.Items {
		_, incarnation, _ := strings.Cut(strings.TrimPrefix(textOf(it, attrSort), garbagePrefix), "#")
		p := partition(s.tenant, id, incarnation)
		s.mu.Lock()
		r := s.repos[p]
		s.mu.Unlock()
		if r != nil {
			r.removed()
		}
		if err := s.scrap(ctx, p); err != nil {
			return err
		}
		if err := s.batchWrite(ctx, []types.WriteRequest{deleteRequest(it)}); err != nil {
			return err
		}
	}
	return nil
}

// scrap removes everything of one incarnation.
func (s *Store) scrap(ctx context.Context, partition string) error {
	err := s.deleteAll(ctx, &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#p = :p"),
		ProjectionExpression:      aws.String("#p, #s"),
		ExpressionAttributeNames:  map[string]string{"#p": attrPartition, "#s": attrSort},
		ExpressionAttributeValues: item{":p": text(partition)},
	})
	if err != nil || s.bodies == nil {
		return err
	}
	var keys []string
	for k, err := range s.bodies.Keys(ctx, bodyPrefix(partition)) {
		if err != nil {
			return fmt.Errorf("listing bodies: %w", err)
		}
		if keys = append(keys, k); len(keys) == maxPage {
			if err := s.bodies.Delete(ctx, keys...); err != nil {
				return fmt.Errorf("deleting bodies: %w", err)
			}
			keys = nil
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := s.bodies.Delete(ctx, keys...); err != nil {
		return fmt.Errorf("deleting bodies: %w", err)
	}
	return nil
}

// deleteAll deletes what a query finds, page by page.
func (s *Store) deleteAll(ctx context.Context, in *dynamodb.QueryInput) error {
	for {
		out, err := call(ctx, s, s.client.Query, in)
		if err != nil {
			return fmt.Errorf("looking for what to delete: %w", err)
		}
		requests := make([]types.WriteRequest, len(out.Items))
		for i, it := range out.Items {
			requests[i] = deleteRequest(it)
		}
		if err := s.batchWrite(ctx, requests); err != nil {
			return fmt.Errorf("deleting items: %w", err)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}
