package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// leastPrefix is the shortest beginning of an object id that names one.
const leastPrefix = 4

// pick returns the one id that text is, or is the beginning of. A whole id is taken as it is, so that the service says what
// became of it.
func pick(text, what, list string, ids []object.OID) (object.OID, error) {
	if oid, err := object.ParseOID(text); err == nil {
		return oid, nil
	}
	if len(text) < leastPrefix || strings.Trim(text, "0123456789abcdef") != "" {
		return object.OID{}, usage("%q is no id: want the id of the %s, or at least its first %d digits; %s lists them", oneLine(text, 80), what,
			leastPrefix, list)
	}
	found := map[object.OID]bool{}
	for _, id := range ids {
		if !id.IsZero() && strings.HasPrefix(id.String(), text) {
			found[id] = true
		}
	}
	switch len(found) {
	case 1:
		for id := range found {
			return id, nil
		}
	case 0:
		return object.OID{}, &codeError{code: exitNotFound, text: "there is no " + what + " " + text, hint: list + " lists them"}
	}
	return object.OID{}, usage("%s begins the id of %d %ss: give more digits", text, len(found), what)
}

// pendingChange returns the pending change that text names: its id, the beginning of it, or its number in the list.
func (a *app) pendingChange(ctx context.Context, t *target, head, text string) (object.OID, error) {
	if oid, err := object.ParseOID(text); err == nil {
		return oid, nil
	}
	items, err := t.Pending(ctx, api.HeadOptions{SessionID: a.sessionID(), Head: head})
	if err != nil {
		return object.OID{}, err
	}
	if n, err := strconv.Atoi(text); err == nil && len(text) < leastPrefix {
		if n < 1 || n > len(items) {
			return object.OID{}, &codeError{
				code: exitNotFound, text: "there is no pending message " + text,
				hint: "`stepwell pending` lists them; what has landed can no longer be changed",
			}
		}
		return items[n-1].Change, nil
	}
	ids := make([]object.OID, len(items))
	for i, it := range items {
		ids[i] = it.Change
	}
	return pick(text, "pending message", "`stepwell pending`", ids)
}

// commit returns the commit that text names: its id, the beginning of it, or a head, whose tip it is. A head that is unborn has
// none.
func (a *app) commit(ctx context.Context, t *target, text string) (object.OID, error) {
	if oid, err := object.ParseOID(text); err == nil {
		return oid, nil
	}
	heads, err := t.ListHeads(ctx, api.SessionOptions{SessionID: a.sessionID()})
	if err != nil {
		return object.OID{}, err
	}
	for _, h := range heads {
		if h.Head == text {
			return h.Tip, nil
		}
	}
	tree, err := t.Tree(ctx, api.HeadOptions{SessionID: a.sessionID()})
	if err != nil {
		return object.OID{}, err
	}
	ids := make([]object.OID, len(tree.Nodes))
	for i, n := range tree.Nodes {
		ids[i] = n.OID
	}
	return pick(text, "commit", "`stepwell log --commits`", ids)
}

// object returns the object that text names: a ref, an id, or the beginning of the id of a commit or of what a ref names.
func (a *app) object(ctx context.Context, t *target, text string) (object.OID, error) {
	if oid, err := object.ParseOID(text); err == nil {
		return oid, nil
	}
	refs, err := t.Refs(ctx, api.RefsOptions{SessionID: a.sessionID()})
	if err != nil {
		return object.OID{}, err
	}
	ids := make([]object.OID, 0, len(refs))
	for _, r := range refs {
		if r.Name == text {
			return r.OID, nil
		}
		ids = append(ids, r.OID)
	}
	tree, err := t.Tree(ctx, api.HeadOptions{SessionID: a.sessionID()})
	if err != nil {
		return object.OID{}, err
	}
	for _, n := range tree.Nodes {
		ids = append(ids, n.OID)
	}
	return pick(text, "object", "`stepwell refs`", ids)
}
