package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// ListHeads returns the session's heads, the default one first.
func (c *Client) ListHeads(ctx context.Context, o api.SessionOptions) ([]api.HeadInfo, error) {
	return items[api.HeadInfo](ctx, c, o, get(session(o.SessionID, "heads"), nil))
}

// CreateHead makes a head.
func (c *Client) CreateHead(ctx context.Context, o api.CreateHeadOptions) (api.CreateHeadOutcome, error) {
	return ask[api.CreateHeadOutcome](ctx, c, o, post(session(o.SessionID, "heads"), o))
}

// MoveHead moves a head that has no live run.
func (c *Client) MoveHead(ctx context.Context, o api.MoveHeadOptions) (api.MoveOutcome, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Head == "" {
		// The route names its head, and only the server knows which one is the default.
		heads, err := c.ListHeads(ctx, api.SessionOptions{SessionID: o.SessionID})
		if err != nil {
			return nil, err
		}
		if len(heads) == 0 {
			return nil, errors.New("the server lists no head")
		}
		o.Head = heads[0].Head
	}
	return ask[api.MoveOutcome](ctx, c, o, post(session(o.SessionID, "heads", o.Head, "move"), o))
}

// DeleteHead deletes a head.
func (c *Client) DeleteHead(ctx context.Context, o api.DeleteHeadOptions) (api.DeleteHeadOutcome, error) {
	q := call{method: http.MethodDelete, path: session(o.SessionID, "heads", o.Head), body: attribution(o.Actor), header: http.Header{}}
	if o.Expect.Given {
		tag := o.Expect.OID.String()
		if tag == "" {
			tag = "unborn"
		}
		q.header.Set("If-Match", strconv.Quote(tag))
	}
	return ask[api.DeleteHeadOutcome](ctx, c, o, q)
}

// MergeHead fast-forwards a stacked head's parent.
func (c *Client) MergeHead(ctx context.Context, o api.MergeHeadOptions) (api.MergeOutcome, error) {
	return ask[api.MergeOutcome](ctx, c, o, post(session(o.SessionID, "heads", o.Head, "merge"), o))
}

// AdvanceBase makes a stale head current when its parent only grew.
func (c *Client) AdvanceBase(ctx context.Context, o api.AdvanceBaseOptions) (api.AdvanceOutcome, error) {
	return ask[api.AdvanceOutcome](ctx, c, o, post(session(o.SessionID, "heads", o.Head, "advance"), o))
}

// Refs lists refs by name.
func (c *Client) Refs(ctx context.Context, o api.RefsOptions) ([]api.RefInfo, error) {
	return items[api.RefInfo](ctx, c, o, get(session(o.SessionID, "refs"), params("prefix", o.Prefix)))
}

// Reflog returns recorded ref moves, newest first.
func (c *Client) Reflog(ctx context.Context, o api.ReflogOptions) ([]api.ReflogEntry, error) {
	return items[api.ReflogEntry](ctx, c, o, get(session(o.SessionID, "reflog"), params("ref", o.Ref, "limit", number(o.Limit))))
}

// Object returns a stored object after checking its bytes against its id.
func (c *Client) Object(ctx context.Context, o api.ObjectOptions) (api.StoredObject, error) {
	if err := o.Validate(); err != nil {
		return api.StoredObject{}, err
	}
	body, err := c.bytes(ctx, get(session(o.SessionID, "objects", o.OID.String()), nil))
	if err != nil {
		return api.StoredObject{}, err
	}
	stored, err := object.Decode(o.OID, body)
	if err != nil {
		return api.StoredObject{}, fmt.Errorf("the server's answer: %w", err)
	}
	return api.StoredObject{OID: o.OID, Kind: object.Kind(stored), Body: body}, nil
}

// Tree returns every commit of the session.
func (c *Client) Tree(ctx context.Context, o api.HeadOptions) (api.Tree, error) {
	return ask[api.Tree](ctx, c, o, get(session(o.SessionID, "tree"), params("head", o.Head)))
}

// Fsck checks every invariant that can be read off the session.
func (c *Client) Fsck(ctx context.Context, o api.SessionOptions) (api.CheckReport, error) {
	return ask[api.CheckReport](ctx, c, o, post(session(o.SessionID, "fsck"), o))
}

// Trim raises the event floor.
func (c *Client) Trim(ctx context.Context, o api.TrimOptions) (api.TrimReport, error) {
	return ask[api.TrimReport](ctx, c, o, post(session(o.SessionID, "trim"), o))
}

// Collect sweeps unprotected objects.
func (c *Client) Collect(ctx context.Context, o api.CollectOptions) (api.CollectReport, error) {
	return ask[api.CollectReport](ctx, c, o, post(session(o.SessionID, "collect"), o))
}
