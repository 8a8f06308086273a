package sdk

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Cancel withdraws a pending change.
func (s *Stepwell) Cancel(ctx context.Context, opts api.CancelOptions) (api.CancelOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	outcome, err := session.Cancel(ctx, head(opts.Head), opts.Change, s.actor(opts.Actor))
	if err != nil {
		return nil, invalid(err)
	}
	switch outcome.(type) {
	case kernel.Cancelled:
		return api.Cancelled{}, nil
	case kernel.Landed:
		return api.Landed{}, nil
	case kernel.NotFound:
		return api.NotFound{}, nil
	}
	panic("unreachable")
}

// Redeliver moves, edits or reorders a pending change.
func (s *Stepwell) Redeliver(ctx context.Context, opts api.RedeliverOptions) (api.RedeliverOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Lane != "" && !s.opts.Landing.Serves(opts.Lane) {
		return nil, api.Invalid("/lane", "the landing policy does not serve lane %q; it serves %s", opts.Lane, s.lanes())
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	change := kernel.RedeliverOptions{
		Head: head(opts.Head), Change: opts.Change, Lane: opts.Lane, Actor: s.actor(opts.Actor),
		Place: kernel.Placement{End: opts.End, Before: opts.Before},
	}
	if len(opts.Content) > 0 {
		if err := editable(ctx, session, opts.Change); err != nil {
			return nil, err
		}
		change.Body = object.MessageBody{Message: message.User{Content: opts.Content.Clean(), Timestamp: s.now()}}
	}
	outcome, err := session.Redeliver(ctx, change)
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.Redelivered:
		return api.Redelivered{Change: o.Change}, nil
	case kernel.Unchanged:
		return api.Unchanged{}, nil
	case kernel.Landed:
		return api.Landed{}, nil
	case kernel.NotFound:
		return api.NotFound{}, nil
	}
	panic("unreachable")
}

// editable reports a change that says nothing. A copy keeps the kind of its original, so that nothing can come between.
func editable(ctx context.Context, session *kernel.Session, oid object.OID) error {
	o, _, err := session.GetObject(ctx, oid)
	if err != nil {
		return fault(err)
	}
	if c, ok := o.(object.Change); ok {
		if _, ok := c.Body.(object.MessageBody); !ok {
			return api.Invalid("/content", "belongs to a message, and the change is %s; leave it out", object.BodyKind(c.Body))
		}
	}
	return nil
}

// Pending returns the user messages of a head that have not landed.
func (s *Stepwell) Pending(ctx context.Context, opts api.HeadOptions) ([]api.PendingItem, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return nil, err
	}
	items, err := session.Pending(ctx, head(opts.Head))
	if err != nil {
		return nil, fault(err)
	}
	return pendingItems(items), nil
}

// pendingItems keeps what a client shows: user messages.
func pendingItems(items []view.PendingItem) []api.PendingItem {
	out := []api.PendingItem{}
	for _, it := range items {
		if p, ok := pendingItem(it.Lane, it.OID, it.Change.Change); ok {
			out = append(out, p)
		}
	}
	return out
}

func pendingItem(lane string, oid object.OID, c object.Change) (api.PendingItem, bool) {
	body, ok := c.Body.(object.MessageBody)
	if !ok {
		return api.PendingItem{}, false
	}
	user, ok := body.Message.(message.User)
	if !ok {
		return api.PendingItem{}, false
	}
	return api.PendingItem{Change: oid, Lane: lane, At: c.At, Content: user.Content, Author: c.Author, Key: c.Key}, true
}
