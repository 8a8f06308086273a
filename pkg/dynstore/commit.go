package dynstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// errMoved says that the session moved between the reads of a call and its write.
var errMoved = errors.New("the session moved")

// errOutcome says that the answer to a write was lost, and that what would tell whether it happened is gone.
var errOutcome = errors.New("the outcome of a write is unknown: the session has moved on since")

// settle makes a write that expects the sequence number seen and appends at least one event under the id tx, until it is known whether it
// happened; committed is false when it did not and never will.
//
// A request whose answer is lost may still be carried out later. Since it expects seen, it is carried out at most once however often it is
// sent, and never after the session moved on. So: at seen, send it again; beyond seen, the event behind it tells whose it is.
func (r *repo) settle(ctx context.Context, seen store.Seq, tx txID, send func(context.Context) error) (committed bool, err error) {
	doubt := false
	for p := r.store.pacer(); ; {
		err := send(ctx)
		if err == nil {
			return true, nil
		}
		why := classify(ctx, err)
		switch why {
		case fatal:
			// A write into a session that is gone may be called invalid before its condition is judged.
			if gone := r.exists(ctx); errors.Is(gone, store.ErrUnknownSession) {
				return false, gone
			}
			return false, err
		case refused, contended:
			if !doubt {
				return false, nil
			}
		case unknown:
			doubt = true
		case throttled:
		}
		if err := p.after(ctx, why, err); err != nil {
			return false, err
		}
		if !doubt {
			continue
		}
		is, err := r.resolve(ctx, seen, tx)
		if err != nil || is != pending {
			return is == happened, err
		}
	}
}

// A resolution is what became of a write.
type resolution int

const (
	pending  resolution = iota // it is not known, or has not happened and still may
	happened                   // it has happened
	never                      // it has not happened and never will
)

// resolve looks for a transaction's events behind the sequence number that it expected.
func (r *repo) resolve(ctx context.Context, seen store.Seq, tx txID) (resolution, error) {
	c, err := r.control(ctx)
	if err != nil {
		return pending, err
	}
	switch {
	case c.seq <= seen:
		return pending, nil
	case c.floor > seen:
		return pending, errOutcome
	}
	tail, err := records(c.tail, c.seq)
	if err != nil {
		return pending, err
	}
	found := find(tail, seen+1)
	for p := r.store.pacer(); found == nil; {
		page, err := r.firstPack(ctx, seen+1)
		if err != nil {
			return pending, err
		}
		if found = find(page, seen+1); found != nil {
			break
		}
		// The parts of a transaction become visible one by one.
		if err := p.wait(ctx, firstWait, errGap); err != nil {
			return pending, err
		}
	}
	if found.tx == tx {
		return happened, nil
	}
	return never, nil
}

func find(list []record, seq store.Seq) *record {
	for i := range list {
		if list[i].seq == seq {
			return &list[i]
		}
	}
	return nil
}

// firstPack returns the records of the first pack that ends at or after seq.
func (r *repo) firstPack(ctx context.Context, seq store.Seq) ([]record, error) {
	out, err := call(ctx, r.store, r.store.client.Query, r.packQuery(seq, 1))
	if err != nil {
		return nil, fmt.Errorf("looking for event %d: %w", seq, err)
	}
	if len(out.Items) == 0 {
		return nil, nil
	}
	return r.store.codec.unpackItem(out.Items[0])
}

// packQuery asks for the packs that end at or after seq, in order.
func (r *repo) packQuery(seq store.Seq, limit int32) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &r.store.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:   aws.String("#p = :p AND #s BETWEEN :first AND :last"),
		ExpressionAttributeNames: map[string]string{"#p": attrPartition, "#s": attrSort},
		ExpressionAttributeValues: item{
			":p": text(r.partition), ":first": text(packKey(seq)), ":last": text(packPrefix + "~"),
		},
	}
	if limit > 0 {
		in.Limit = &limit
	}
	return in
}
