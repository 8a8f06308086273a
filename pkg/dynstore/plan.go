package dynstore

import (
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A plan is one transaction while it is put together. Positions are fixed: the control item, ref items, packs, objects.
type plan struct {
	repo    *repo
	actions []types.TransactWriteItem
	size    int
	items   refItems  // as they will be
	made    bucketSet // buckets that are new
}

// put adds an item that replaces what is there, under a condition.
func (p *plan) put(it item, e *expr) error {
	if size := sizeOf(it); size > maxItem {
		return &LimitError{What: "bytes of the item " + textOf(it, attrSort), Got: size, Most: maxItem}
	}
	a := types.TransactWriteItem{Put: &types.Put{TableName: &p.repo.store.table, Item: it}}
	if e != nil {
		a.Put.ConditionExpression = e.condition()
		a.Put.ExpressionAttributeNames, a.Put.ExpressionAttributeValues = e.names, e.values
		a.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return p.add(a, sizeOf(it))
}

func (p *plan) add(a types.TransactWriteItem, size int) error {
	p.actions = append(p.actions, a)
	p.size += size
	if len(p.actions) > maxActions {
		return &LimitError{What: "items of one transaction", Got: len(p.actions), Most: maxActions}
	}
	if p.size > maxTx {
		return &LimitError{What: "bytes of one transaction", Got: p.size, Most: maxTx}
	}
	return nil
}

// reserve keeps a position for what is known last.
func (p *plan) reserve() (position int) {
	p.actions = append(p.actions, types.TransactWriteItem{})
	return len(p.actions) - 1
}

// update makes the change of the control item, at the first position.
func (p *plan) update(e *expr, size int) {
	p.actions[0] = types.TransactWriteItem{Update: &types.Update{
		TableName: &p.repo.store.table, Key: key(p.repo.partition, controlKey),
		ConditionExpression: e.condition(), UpdateExpression: e.update(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
	p.size += size
}

// refs adds the items of the refs that move. What is there must be what the view has.
func (p *plan) refs(v *view, writes []store.Update, stamp store.Seq) error {
	cold := 0
	for _, u := range writes {
		if place(u.Name).single != "" {
			cold++
		}
	}
	p.items = newRefItems()
	moves := map[string]map[ref.Name]move{}
	for _, u := range writes {
		h := place(u.Name)
		_, inBucket := v.buckets[h.bucket].get(u.Name)
		if h.single != "" && !inBucket && cold <= maxCold {
			if err := p.single(h.single, u, stamp); err != nil {
				return err
			}
			continue
		}
		if moves[h.bucket] == nil {
			moves[h.bucket] = map[ref.Name]move{}
		}
		moves[h.bucket][u.Name] = move{to: u.To, keep: !v.singles[h.single].IsZero()}
	}
	for _, k := range sortedKeys(moves) {
		e := &expr{}
		if old := v.buckets[k]; old == nil {
			e.absent()
			p.made |= bitOf(k)
		} else {
			e.expect(e.attr(attrStamp), number(old.stamp))
		}
		p.items.buckets[k] = v.buckets[k].with(moves[k], stamp)
		if err := p.put(p.items.buckets[k].item(p.repo.partition, k), e); err != nil {
			return err
		}
	}
	return nil
}

// single adds the item of a ref that lives alone.
func (p *plan) single(k string, u store.Update, stamp store.Seq) error {
	p.items.singles[k] = u.To
	e := &expr{}
	if u.From.IsZero() {
		e.absent()
	} else {
		e.expect(e.attr(attrRefs), binaryValue(u.From[:]))
	}
	if !u.To.IsZero() {
		it := key(p.repo.partition, k)
		it[attrRefs], it[attrStamp] = binaryValue(u.To[:]), number(stamp)
		return p.put(it, e)
	}
	return p.add(types.TransactWriteItem{Delete: &types.Delete{
		TableName: &p.repo.store.table, Key: key(p.repo.partition, k), ConditionExpression: e.condition(),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}, len(k)+len(p.repo.partition))
}

// packs adds the events of the session's tail and a new batch.
func (p *plan) packs(c *control, b batch) error {
	all, err := packs(c, b)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := p.put(p.repo.store.codec.packItem(p.repo.partition, one), nil); err != nil {
			return err
		}
	}
	return nil
}

// ride adds the objects if all are small and there is room, and returns them otherwise: once one has to be put before, the others cost half as much
// beside it.
func (p *plan) ride(objs []*stowed) (rest []*stowed) {
	size := p.size
	for _, o := range objs {
		one := sizeOf(o.item)
		size += one
		if o.body != nil || one > maxRiding {
			return objs
		}
	}
	if len(p.actions)+len(objs) > maxActions || size > maxTx {
		return objs
	}
	for _, o := range objs {
		p.actions = append(p.actions, types.TransactWriteItem{Put: &types.Put{TableName: &p.repo.store.table, Item: o.item}})
	}
	p.size = size
	return nil
}

// input returns the request. Its token makes DynamoDB answer a repetition as it answered the first.
func (p *plan) input(tx txID) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{
		TransactItems:      p.actions,
		ClientRequestToken: aws.String(base64.RawURLEncoding.EncodeToString(tx[:])),
	}
}
