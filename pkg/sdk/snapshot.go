package sdk

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/llm"
)

// Snapshot returns all that a client draws of a head. It activates nothing and writes nothing.
func (s *Stepwell) Snapshot(ctx context.Context, opts api.HeadOptions) (api.Snapshot, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return api.Snapshot{}, err
	}
	snap, err := view.LoadSnapshot(ctx, session, head(opts.Head))
	if err != nil {
		return api.Snapshot{}, fault(err)
	}
	// After the sequence number was read: a fact that is set in between is in both, the snapshot and the stream.
	info, err := s.GetSession(ctx, api.SessionOptions{SessionID: opts.SessionID})
	if err != nil {
		return api.Snapshot{}, err
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
