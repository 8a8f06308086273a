package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Landing returns the landing policy in force.
func (c *Client) Landing(ctx context.Context) (api.Landing, error) {
	return ask[api.Landing](ctx, c, nil, get("/landing", nil))
}

// CreateSession makes a session.
func (c *Client) CreateSession(ctx context.Context, o api.CreateSessionOptions) (api.CreateSessionOutcome, error) {
	return ask[api.CreateSessionOutcome](ctx, c, o, post("/sessions", o))
}

// GetSession returns one row of the list.
func (c *Client) GetSession(ctx context.Context, o api.SessionOptions) (api.SessionInfo, error) {
	return ask[api.SessionInfo](ctx, c, o, get(session(o.SessionID), nil))
}

// ListSessions returns a page of sessions.
func (c *Client) ListSessions(ctx context.Context, o api.ListSessionsOptions) (api.SessionPage, error) {
	return ask[api.SessionPage](ctx, c, o, get("/sessions", params("owner", o.Owner, "cursor", o.Cursor, "limit", number(o.Limit))))
}

// RenameSession sets or removes the session's name.
func (c *Client) RenameSession(ctx context.Context, o api.RenameSessionOptions) error {
	return c.patch(ctx, o, o.SessionID, map[string]any{"name": o.Name}, o.Actor)
}

// SetPinned sets or clears the pinned mark.
func (c *Client) SetPinned(ctx context.Context, o api.FlagSessionOptions) error {
	return c.patch(ctx, o, o.SessionID, map[string]any{"pinned": o.On}, o.Actor)
}

// SetArchived sets or clears the archived mark.
func (c *Client) SetArchived(ctx context.Context, o api.FlagSessionOptions) error {
	return c.patch(ctx, o, o.SessionID, map[string]any{"archived": o.On}, o.Actor)
}

func (c *Client) patch(ctx context.Context, o interface{ Validate() error }, id api.SessionID, body map[string]any, who *object.Actor) error {
	if who != nil {
		body["actor"] = who
	}
	_, err := ask[api.SessionInfo](ctx, c, o, call{method: http.MethodPatch, path: session(id), body: body})
	return err
}

// DeleteSession removes the session with everything in it.
func (c *Client) DeleteSession(ctx context.Context, o api.DeleteSessionOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	_, err := c.bytes(ctx, call{method: http.MethodDelete, path: session(o.SessionID), body: attribution(o.Actor)})
	return err
}

// Configure submits configuration for a head.
func (c *Client) Configure(ctx context.Context, o api.ConfigureOptions) (api.ConfigureOutcome, error) {
	return ask[api.ConfigureOutcome](ctx, c, o, post(session(o.SessionID, "config"), o))
}

// Snapshot returns all that a client draws of a head.
func (c *Client) Snapshot(ctx context.Context, o api.HeadOptions) (api.Snapshot, error) {
	return ask[api.Snapshot](ctx, c, o, get(session(o.SessionID, "snapshot"), params("head", o.Head)))
}

// Send submits a user message. Without a key, an error leaves open whether it arrived: see [Outbox].
func (c *Client) Send(ctx context.Context, o api.SendOptions) (api.SendReceipt, error) {
	o.Content = o.Content.Clean()
	return ask[api.SendReceipt](ctx, c, o, post(session(o.SessionID, "messages"), o))
}

// Cancel withdraws a pending change.
func (c *Client) Cancel(ctx context.Context, o api.CancelOptions) (api.CancelOutcome, error) {
	return ask[api.CancelOutcome](ctx, c, o, post(session(o.SessionID, "changes", o.Change.String(), "cancel"), o))
}

// Redeliver moves, edits or reorders a pending change.
func (c *Client) Redeliver(ctx context.Context, o api.RedeliverOptions) (api.RedeliverOutcome, error) {
	if o.Content != nil {
		o.Content = o.Content.Clean()
	}
	return ask[api.RedeliverOutcome](ctx, c, o, post(session(o.SessionID, "changes", o.Change.String(), "redeliver"), o))
}

// ListMessages returns a page of the transcript.
func (c *Client) ListMessages(ctx context.Context, o api.TranscriptOptions) (api.TranscriptPage, error) {
	return ask[api.TranscriptPage](ctx, c, o, get(session(o.SessionID, "messages"),
		params("head", o.Head, "before", o.Before.String(), "limit", number(o.Limit))))
}

// Pending returns the user messages of a head that have not landed.
func (c *Client) Pending(ctx context.Context, o api.HeadOptions) ([]api.PendingItem, error) {
	return items[api.PendingItem](ctx, c, o, get(session(o.SessionID, "pending"), params("head", o.Head)))
}

// CurrentRun returns the head's run, or nil when there is none.
func (c *Client) CurrentRun(ctx context.Context, o api.HeadOptions) (*api.RunInfo, error) {
	out, err := ask[struct {
		Run *api.RunInfo `json:"run"`
	}](ctx, c, o, get(session(o.SessionID, "run"), params("head", o.Head)))
	return out.Run, err
}

// Abort asks the live run to stop.
func (c *Client) Abort(ctx context.Context, o api.AbortOptions) (api.AbortOutcome, error) {
	return ask[api.AbortOutcome](ctx, c, o, post(session(o.SessionID, "runs", "abort"), o))
}

// Reply answers a parked call.
func (c *Client) Reply(ctx context.Context, o api.ReplyOptions) (api.ReplyOutcome, error) {
	return ask[api.ReplyOutcome](ctx, c, o, post(session(o.SessionID, "replies"), o))
}

// Context says how full the model's context is.
func (c *Client) Context(ctx context.Context, o api.HeadOptions) (api.ContextStatus, error) {
	return ask[api.ContextStatus](ctx, c, o, get(session(o.SessionID, "context"), params("head", o.Head)))
}

// RunChanges returns the commits that a run wrote.
func (c *Client) RunChanges(ctx context.Context, o api.RunChangesOptions) (api.Changes, error) {
	return ask[api.Changes](ctx, c, o, get(session(o.SessionID, "runs", o.RunID, "changes"), params("head", o.Head)))
}

// Usage adds up what a head's branch has spent.
func (c *Client) Usage(ctx context.Context, o api.HeadOptions) (api.UsageSummary, error) {
	return ask[api.UsageSummary](ctx, c, o, get(session(o.SessionID, "usage"), params("head", o.Head)))
}

// Step takes one durable step of a head.
func (c *Client) Step(ctx context.Context, o api.HeadOptions) (api.StepOutcome, error) {
	return ask[api.StepOutcome](ctx, c, o, post(session(o.SessionID, "steps"), o))
}

// number formats a limit; zero is not sent.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// attribution is the body of a request that says nothing else, or nil.
func attribution(who *object.Actor) any {
	if who == nil {
		return nil
	}
	return struct {
		Actor *object.Actor `json:"actor"`
	}{who}
}
