package dynstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// attrIncarnation tells a session from earlier and later ones of the same id.
const attrIncarnation = "i"

// attrOwnedBy is whom a session is listed under besides.
const attrOwnedBy = "o"

// An entry is a session in the directory.
type entry struct {
	id          store.SessionID
	owner       string
	incarnation string
	created     store.Millis
}

// listings returns the keys of the entry in the lists that it is in.
func (e entry) listings(tenant string) []item {
	list := []item{key(directory(tenant), listKey(listPrefix, e.created, e.id))}
	if e.owner != "" {
		list = append(list, key(directory(tenant), listKey(ownerPrefix(e.owner), e.created, e.id)))
	}
	return list
}

// lookup returns the entry of a session; ok is false when there is none.
func (s *Store) lookup(ctx context.Context, id store.SessionID) (e entry, ok bool, err error) {
	if !valid(id) {
		return entry{}, false, nil
	}
	out, err := call(ctx, s, s.client.GetItem, &dynamodb.GetItemInput{
		TableName: &s.table, Key: key(directory(s.tenant), namePrefix+string(id)), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return entry{}, false, fmt.Errorf("reading the directory: %w", err)
	}
	if len(out.Item) == 0 {
		return entry{}, false, nil
	}
	created, err := intOf(out.Item, attrCreated)
	if err != nil {
		return entry{}, false, fmt.Errorf("reading the directory: %w", err)
	}
	return entry{id: id, owner: textOf(out.Item, attrOwnedBy), incarnation: textOf(out.Item, attrIncarnation), created: store.Millis(created)}, true, nil
}

// entries returns a page of the list that a prefix begins, in the order of creation: those after a key when ascending, those before it when not. An empty key
// is the beginning, or the end.
func (s *Store) entries(ctx context.Context, prefix, bound string, ascending bool, limit int32) ([]entry, error) {
	first, last := prefix, prefix+"~"
	switch {
	case bound != "" && ascending:
		first = bound + "\x00"
	case bound != "":
		last = bound
	}
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), ScanIndexForward: &ascending, Limit: aws.Int32(limit + 1),
		KeyConditionExpression:    aws.String("#p = :p AND #s BETWEEN :first AND :last"),
		ExpressionAttributeNames:  map[string]string{"#p": attrPartition, "#s": attrSort},
		ExpressionAttributeValues: item{":p": text(directory(s.tenant)), ":first": text(first), ":last": text(last)},
	}
	var list []entry
	for {
		out, err := call(ctx, s, s.client.Query, in)
		if err != nil {
			return nil, fmt.Errorf("reading the directory: %w", err)
		}
		for _, it := range out.Items {
			k := textOf(it, attrSort)
			if k == bound || len(list) == int(limit) {
				continue
			}
			created, err := intOf(it, attrCreated)
			if err != nil {
				return nil, fmt.Errorf("reading the directory: %w", err)
			}
			_, id, _ := strings.Cut(strings.TrimPrefix(k, prefix), "#")
			list = append(list, entry{
				id: store.SessionID(id), owner: textOf(it, attrOwnedBy), incarnation: textOf(it, attrIncarnation), created: store.Millis(created),
			})
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 || len(list) == int(limit) {
			return list, nil
		}
	}
}

// maxPage bounds one page of the session list.
const maxPage = 1000

// ListSessions implements [store.Store]. It reads the directory alone and nothing of the sessions. A cursor whose session is gone is
// [store.ErrInvalid]. A page has at most 1000 sessions.
func (s *Store) ListSessions(ctx context.Context, opts store.ListOptions) ([]store.SessionInfo, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	limit := opts.Limit
	if limit <= 0 {
		limit = store.DefaultPage
	}
	prefix, bound := ownerPrefix(opts.Owner), ""
	if opts.Cursor != "" {
		e, ok, err := s.lookup(ctx, opts.Cursor)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%w: cursor %q names no session", store.ErrInvalid, opts.Cursor)
		}
		bound = listKey(prefix, e.created, e.id)
	}
	list, err := s.entries(ctx, prefix, bound, false, int32(min(limit, maxPage))) //nolint:gosec // at most 1000
	if err != nil {
		return nil, err
	}
	infos := make([]store.SessionInfo, len(list))
	for i, e := range list {
		infos[i] = store.SessionInfo{ID: e.id, Owner: e.owner, CreatedAt: e.created}
	}
	return infos, nil
}
