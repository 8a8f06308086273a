package dynstore

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// wakeLists is how many partitions the index has. The number is part of the stored form.
const wakeLists = 4

func wakeList(partition string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(partition)) // a hash takes everything
	return fmt.Sprintf("W#%d", h.Sum32()%wakeLists)
}

// stirs reports whether the update may leave a head that can go on.
func (u *update) stirs() bool {
	for _, w := range u.writes {
		for _, family := range []string{ref.Queues, ref.Runs, ref.Effects} {
			if strings.HasPrefix(string(w.Name), family) {
				return true
			}
		}
	}
	return false
}

// A Mark says whether somebody should look at a session.
type Mark struct {
	At        store.Millis // since or from when; zero: nobody need
	HeldUntil store.Millis // when the lease of the head asked about, or the latest of all, expires; zero: none is held
}

// mark returns the mark with the expiry of a head's lease, or of the last to expire when no head is named.
func (c *control) mark(head string) Mark {
	m := Mark{At: c.wake}
	for name, g := range c.leases {
		if head == "" || name == ref.Head(head) {
			m.HeldUntil = max(m.HeldUntil, g.expires)
		}
	}
	return m
}

// Mark returns the mark of a session, as it concerns one head or, when none is named, all.
func (s *Store) Mark(ctx context.Context, id store.SessionID, head string) (Mark, error) {
	h, err := s.open(ctx, id)
	if err != nil {
		return Mark{}, err
	}
	defer func() { _ = h.Close() }()
	c, err := h.control(ctx)
	if err != nil {
		return Mark{}, err
	}
	return c.mark(head), nil
}

// Settle says when somebody should next look at a session, zero for never, after a look that saw all up to the event seen. It reports false,
// and changes nothing, when there is an event since: the session may want something else by now. A session that is gone needs no look.
func (s *Store) Settle(ctx context.Context, id store.SessionID, seen store.Seq, at store.Millis) (settled bool, err error) {
	h, err := s.open(ctx, id)
	if err != nil {
		return false, err
	}
	defer func() { _ = h.Close() }()
	r := h.repo
	if c := r.last(); c != nil && c.seq == seen && c.wake == at {
		return true, nil
	}
	e := &expr{}
	e.expect(e.attr(attrSeq), number(seen))
	e.wake(r.partition, at)
	before, err := r.writeControl(ctx, e, func(now *control) resolution {
		if now.seq == seen && now.wake == at {
			return happened
		}
		return never
	})
	switch {
	case err == nil:
		after := *before
		after.wake = at
		r.observe(&after, refItems{})
		return true, nil
	case before != nil:
		return false, nil
	}
	return false, fmt.Errorf("settling session %q: %w", id, err)
}

// A DueSession is one that somebody should look at since At.
type DueSession struct {
	Tenant  string
	Session store.SessionID
	At      store.Millis
}

// Due returns sessions of every tenant that somebody should look at by now, those that have waited longest first, at most about limit. Its reads may
// lag behind by a moment.
func Due(ctx context.Context, client API, table string, now store.Millis, limit int) ([]DueSession, error) {
	def := Definition().Index
	var due []DueSession
	for i := range wakeLists {
		in := &dynamodb.QueryInput{
			TableName: &table, IndexName: &def.Name,
			KeyConditionExpression:    aws.String("#v = :v AND #w <= :now"),
			ExpressionAttributeNames:  map[string]string{"#v": def.PartitionKey, "#w": def.SortKey},
			ExpressionAttributeValues: item{":v": text(fmt.Sprintf("W#%d", i)), ":now": number(now)},
			Limit:                     aws.Int32(int32(min(limit/wakeLists+1, 1000))), //nolint:gosec // small
		}
		out, err := client.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("looking for sessions that are due: %w", err)
		}
		for _, it := range out.Items {
			d, ok := parsePartition(textOf(it, attrPartition))
			if !ok {
				continue
			}
			at, err := intOf(it, attrWake)
			if err != nil {
				return nil, err
			}
			due = append(due, DueSession{d.Tenant, d.Session, store.Millis(at)})
		}
	}
	slices.SortFunc(due, func(a, b DueSession) int { return cmp.Compare(a.At, b.At) })
	return due, nil
}
