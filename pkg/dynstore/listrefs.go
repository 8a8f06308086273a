package dynstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// ListRefs implements [store.RefReader]. Refs of one head or one run are one item. Refs with items of their own are listed by a query, with the
// control item read before and after it.
func (s *session) ListRefs(ctx context.Context, prefix string) ([]store.Ref, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	buckets, cold := bucketsOf(prefix)
	if len(buckets) > 1 && s.last() == nil { // to learn which there are: few of many
		if err := s.exists(ctx); err != nil {
			return nil, err
		}
	}
	for p := s.store.pacer(); ; {
		v, err := s.lookOnce(ctx, buckets)
		if err != nil {
			return nil, fmt.Errorf("listing refs: %w", err)
		}
		if !cold {
			return v.list(prefix), nil
		}
		if err := s.singles(ctx, v, prefix); err != nil {
			return nil, fmt.Errorf("listing refs: %w", err)
		}
		again, err := s.control(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing refs: %w", err)
		}
		if again.seq == v.control.seq {
			return v.list(prefix), nil
		}
		if err := p.wait(ctx, firstWait, errMoved); err != nil {
			return nil, err
		}
	}
}

// bucketsOf returns the buckets that may hold refs with a prefix, and whether refs with items of their own may have it.
func bucketsOf(prefix string) (buckets []string, cold bool) {
	add := func(family, bucketPrefix string, n uint32) {
		switch rest, below := strings.CutPrefix(prefix, family); {
		case below && strings.Contains(rest, "/"):
			name, _, _ := strings.Cut(rest, "/")
			buckets = append(buckets, bucketKey(bucketPrefix, name, n))
		case below, strings.HasPrefix(family, prefix):
			for i := range n {
				buckets = append(buckets, fmt.Sprintf("%s%02d", bucketPrefix, i))
			}
		}
	}
	for _, family := range []string{ref.Heads, ref.Stacks, ref.Runs, ref.Queues} {
		add(family, headPrefix, headBuckets)
	}
	add(ref.Effects, effectPrefix, effectBuckets)
	warm := len(buckets) > 0 && strings.Count(prefix, "/") >= 2
	if !warm {
		for i := range spillBuckets {
			buckets = append(buckets, fmt.Sprintf("%s%02d", spillPrefix, i))
		}
	}
	slices.Sort(buckets)
	return slices.Compact(buckets), !warm
}

// singles adds the refs with items of their own.
func (r *repo) singles(ctx context.Context, v *view, prefix string) error {
	in := &dynamodb.QueryInput{
		TableName: &r.store.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#p = :p AND begins_with(#s, :r)"),
		ExpressionAttributeNames:  map[string]string{"#p": attrPartition, "#s": attrSort},
		ExpressionAttributeValues: item{":p": text(r.partition), ":r": text(refPrefix + prefix)},
	}
	v.singles = map[string]object.OID{}
	if len(prefix)+len(refPrefix) > maxSortKey {
		return nil
	}
	for {
		out, err := call(ctx, r.store, r.store.client.Query, in)
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			if err := v.add([]string{textOf(it, attrSort)}, []item{it}); err != nil {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// list returns the refs of a view with a prefix, by name.
func (v *view) list(prefix string) []store.Ref {
	all := map[ref.Name]object.OID{}
	for k, oid := range v.singles {
		all[ref.Name(strings.TrimPrefix(k, refPrefix))] = oid
	}
	for _, b := range v.buckets {
		if b == nil {
			continue
		}
		for name, oid := range b.refs {
			all[name] = oid
		}
	}
	var refs []store.Ref
	for name, oid := range all {
		if strings.HasPrefix(string(name), prefix) && !oid.IsZero() {
			refs = append(refs, store.Ref{Name: name, OID: oid})
		}
	}
	slices.SortFunc(refs, func(a, b store.Ref) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return refs
}
