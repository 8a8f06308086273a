package sdk

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm"
)

// Snapshot returns all that a client draws of a head. It activates nothing and writes nothing.
func (s *Stepwell) Snapshot(ctx context.Context, opts api.HeadOptions) (api.Snapshot, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return api.Snapshot{}, err
	}
	info, err := s.GetSession(ctx, api.SessionOptions{SessionID: opts.SessionID})
	if err != nil {
		return api.Snapshot{}, err
	}
	snap, err := view.LoadSnapshot(ctx, session, head(opts.Head))
	if err != nil {
		return api.Snapshot{}, fault(err)
	}
	out := api.Snapshot{
		Seq: int64(snap.Seq), Session: info, Head: snap.Head, Tip: snap.Tip, Config: view.Config(snap),
		Transcript: transcriptItems(view.TranscriptOf(snap.Branch).Items),
		Pending:    pendingItems(view.Pending(snap.Lanes)),
		Parked:     []api.ParkedCall{},
		Context:    s.contextStatus(snap),
	}
	for _, p := range snap.Parked {
		out.Parked = append(out.Parked, api.ParkedCall(p))
	}
	if snap.Run != nil {
		run := runInfo(snap.Run.Run)
		if snap.Lease != nil {
			run.Lease = &api.LeaseInfo{Owner: snap.Lease.Owner, ExpiresAt: snap.Lease.ExpiresAt}
		}
		out.Run = &run
	}
	usage := usageSummary(view.UsageOf(snap.Branch))
	out.Usage = &usage
	return out, nil
}

func (s *Stepwell) contextStatus(snap view.Snapshot) api.ContextStatus {
	return api.ContextStatus(view.ContextStatusOf(snap.Context, s.window(view.Config(snap))))
}

// window returns the context window of the model that would answer next, 0 when it is not known.
func (s *Stepwell) window(c object.Config) int {
	if s.opts.Models == nil {
		return 0
	}
	model := s.opts.DefaultModel
	if c.Model != nil {
		model = llm.Model{Provider: c.Model.Provider, ID: c.Model.ID}
	}
	_, info, ok := s.opts.Models.Lookup(model)
	if !ok {
		return 0
	}
	return info.ContextWindow
}

// ListMessages returns a page of the transcript, read backwards from the tip or from a commit. Pages are cut between items, so that a turn is
// never split.
func (s *Stepwell) ListMessages(ctx context.Context, opts api.TranscriptOptions) (api.TranscriptPage, error) {
	if err := opts.Validate(); err != nil {
		return api.TranscriptPage{}, err
	}
	session, err := s.reading(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: opts.Head})
	if err != nil {
		return api.TranscriptPage{}, err
	}
	tip, err := pageTip(ctx, session, head(opts.Head), opts.Before)
	if err != nil {
		return api.TranscriptPage{}, err
	}
	limit := opts.Limit
	if limit == 0 {
		limit = api.DefaultPage
	}
	// A turn is usually a few commits. Read until there is one item more than asked for, so that the first of them is whole.
	for want := 8 * (limit + 1); ; want *= 4 {
		commits, err := view.Branch(ctx, session, tip, want)
		if err != nil {
			return api.TranscriptPage{}, fault(err)
		}
		whole := len(commits) < want
		items := view.TranscriptOf(commits).Items
		if !whole && len(items) <= limit {
			continue
		}
		page := api.TranscriptPage{HasMore: len(items) > limit}
		if page.HasMore {
			items = items[len(items)-limit:]
			page.Next = view.ItemID(items[0])
		}
		page.Items = transcriptItems(items)
		return page, nil
	}
}

// pageTip returns the commit that a page ends with.
func pageTip(ctx context.Context, session *kernel.Session, name string, before object.OID) (object.OID, error) {
	if before.IsZero() {
		tip, err := session.ReadRefs(ctx, ref.Head(name))
		if err != nil {
			return object.OID{}, fault(err)
		}
		return tip[0], nil
	}
	o, _, err := session.GetObject(ctx, before)
	if err != nil {
		return object.OID{}, fault(err)
	}
	commit, ok := o.(object.Commit)
	if !ok {
		return object.OID{}, api.Invalid("/before", "names no commit of this session")
	}
	return commit.Parent, nil
}
