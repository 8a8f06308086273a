package sdk

import (
	"context"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// CurrentRun returns the head's run with the lease of whoever advances it now.
func (s *Stepwell) CurrentRun(ctx context.Context, opts api.HeadOptions) (*api.RunInfo, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return nil, err
	}
	return currentRun(ctx, session, head(opts.Head))
}

func currentRun(ctx context.Context, session *kernel.Session, name string) (*api.RunInfo, error) {
	run, ok, err := session.CurrentRun(ctx, name)
	if err != nil || !ok {
		return nil, fault(err)
	}
	info := runInfo(run.Run)
	lease, held, err := session.ReadLease(ctx, ref.Head(name))
	if err != nil {
		return nil, fault(err)
	}
	if held {
		info.Lease = &api.LeaseInfo{Owner: lease.Owner, ExpiresAt: lease.ExpiresAt}
	}
	return &info, nil
}

func runInfo(r object.Run) api.RunInfo {
	return api.RunInfo{
		RunID: r.ID, Head: r.Head, Phase: r.Phase, StartedAt: r.StartedAt, Attempts: r.Attempts, Config: r.Config,
		AbortRequested: r.AbortRequested,
	}
}

// Abort asks the live run to stop.
func (s *Stepwell) Abort(ctx context.Context, opts api.AbortOptions) (api.AbortOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.reading(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: opts.Head})
	if err != nil {
		return nil, err
	}
	outcome, err := session.Abort(ctx, head(opts.Head), s.actor(opts.Actor))
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.AbortRequested:
		return api.Requested{RunID: o.RunID}, nil
	case kernel.NotRunning:
		return api.NotRunning{}, nil
	}
	panic("unreachable")
}

// Reply answers a parked call. A reply to a selection is checked against it first; one that does not answer it writes nothing.
func (s *Stepwell) Reply(ctx context.Context, opts api.ReplyOptions) (api.ReplyOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	runID, parked, err := s.parked(ctx, session, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case runID == "":
		return api.NotFound{}, nil
	case parked == nil:
		return api.NotWaiting{}, nil
	}
	reply := opts.Reply
	if parked.Selection != nil {
		var answer message.SelectionReply
		if err := json.Unmarshal(reply, &answer, json.RejectUnknownMembers(true)); err != nil {
			return nil, api.Invalid("/reply", "is not a selection reply such as {\"picked\":[\"id\"]}: %v", err)
		}
		answer.Other = message.CleanText(answer.Other)
		if err := parked.Selection.Check(answer); err != nil {
			return nil, api.Invalid("/reply", "%v", err)
		}
		if reply, err = json.Marshal(answer); err != nil {
			return nil, api.Invalid("/reply", "%v", err)
		}
	}
	outcome, err := session.Signal(ctx, kernel.SignalOptions{
		RunID: runID, CallID: opts.CallID, WaitID: opts.WaitID, Wait: parked, Signal: reply, Author: s.actor(opts.Actor),
	})
	if err != nil {
		return nil, invalid(err)
	}
	switch outcome.(type) {
	case kernel.Signalled:
		return api.Signalled{}, nil
	case kernel.NotWaiting:
		return api.NotWaiting{}, nil
	case kernel.NotFound:
		return api.NotFound{}, nil
	}
	panic("unreachable")
}

// parked finds the call that a reply means. An empty run id says that no such call is open; a nil wait, that the exact wait is over. The refs
// and the wait are read side by side.
func (s *Stepwell) parked(ctx context.Context, session *kernel.Session, opts api.ReplyOptions) (string, *object.Waiting, error) {
	prefix := ref.Effects
	if opts.RunID != "" {
		prefix = ref.RunEffects(opts.RunID)
	}
	var refs []store.Ref
	var wait object.Object
	var reading errgroup.Group
	reading.Go(func() (err error) {
		refs, err = session.ListRefs(ctx, prefix)
		return err
	})
	reading.Go(func() (err error) {
		wait, _, err = session.GetObject(ctx, opts.WaitID)
		return err
	})
	if err := reading.Wait(); err != nil {
		return "", nil, fault(err)
	}
	var runID string
	for _, r := range refs {
		parsed, err := ref.Parse(r.Name)
		if err != nil {
			return "", nil, err
		}
		effect, ok := parsed.(ref.EffectRef)
		if !ok || effect.Call != opts.CallID {
			continue
		}
		runID = effect.Run
		if w, ok := wait.(object.Waiting); ok && r.OID == opts.WaitID {
			return runID, &w, nil
		}
	}
	return runID, nil, nil
}

// Context says how full the model's context is.
func (s *Stepwell) Context(ctx context.Context, opts api.HeadOptions) (api.ContextStatus, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return api.ContextStatus{}, err
	}
	snap, err := view.LoadSnapshot(ctx, session, head(opts.Head))
	if err != nil {
		return api.ContextStatus{}, fault(err)
	}
	return s.contextStatus(snap), nil
}

// Usage adds up what a head's branch has spent.
func (s *Stepwell) Usage(ctx context.Context, opts api.HeadOptions) (api.UsageSummary, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return api.UsageSummary{}, err
	}
	commits, err := branch(ctx, session, head(opts.Head))
	if err != nil {
		return api.UsageSummary{}, err
	}
	return usageSummary(view.UsageOf(commits)), nil
}

func branch(ctx context.Context, session *kernel.Session, name string) ([]view.Commit, error) {
	tip, err := session.ReadRefs(ctx, ref.Head(name))
	if err != nil {
		return nil, fault(err)
	}
	commits, err := view.Branch(ctx, session, tip[0], 0)
	return commits, fault(err)
}

// RunChanges returns the commits that a run wrote.
func (s *Stepwell) RunChanges(ctx context.Context, opts api.RunChangesOptions) (api.Changes, error) {
	if err := opts.Validate(); err != nil {
		return api.Changes{}, err
	}
	session, err := s.reading(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: opts.Head})
	if err != nil {
		return api.Changes{}, err
	}
	tip, err := session.ReadRefs(ctx, ref.Head(head(opts.Head)))
	if err != nil {
		return api.Changes{}, fault(err)
	}
	commits, err := view.ChangesOf(ctx, session, tip[0], opts.RunID)
	if err != nil {
		return api.Changes{}, fault(err)
	}
	if len(commits) == 0 {
		run, ok, err := session.CurrentRun(ctx, head(opts.Head))
		if err != nil {
			return api.Changes{}, fault(err)
		}
		if !ok || run.Run.ID != opts.RunID {
			return api.Changes{}, api.ErrRunNotFound
		}
	}
	out := api.Changes{RunID: opts.RunID, Commits: []api.CommitItem{}}
	for _, c := range commits {
		out.Commits = append(out.Commits, api.CommitItem{OID: c.OID, Commit: c.Commit})
	}
	return out, nil
}

// Step takes one durable step of a head. When ctx ends, or the host closes, the step gives the head back and leaves the run to whoever takes
// the next one.
func (s *Stepwell) Step(ctx context.Context, opts api.HeadOptions) (api.StepOutcome, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return nil, err
	}
	driving, done, err := s.driving(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	outcome, err := session.Step(driving, s.stepOptions(session, head(opts.Head)))
	if err != nil {
		return nil, s.ended(ctx, err)
	}
	return stepOutcome(outcome), nil
}

func (s *Stepwell) stepOptions(session *kernel.Session, name string) kernel.StepOptions {
	opts := kernel.StepOptions{Head: name, Landing: s.opts.Landing, Turn: s.turn, TTL: s.opts.LeaseTTL, Flush: s.opts.Flush, Resolve: s.resolve}
	if s.opts.Ceiling > 0 {
		opts.Ceiling = func(object.Run) int { return s.opts.Ceiling }
	}
	if call := s.opts.BeforeCall; call != nil {
		opts.BeforeCall = func(ctx context.Context, l store.Lease) { call(ctx, api.SessionID(session.ID()), name, l.ExpiresAt) }
	}
	return opts
}

func stepOutcome(o kernel.StepOutcome) api.StepOutcome {
	switch o := o.(type) {
	case kernel.StepContinue:
		return api.Continue{}
	case kernel.StepIdle:
		return api.Idle{}
	case kernel.StepBusy:
		return api.StepBusy{Holder: o.Holder.Owner, ExpiresAt: o.Holder.ExpiresAt}
	case kernel.StepWaiting:
		return api.StepWaiting{Until: o.Until}
	case kernel.StepRetry:
		return api.Retry{At: o.At}
	case kernel.StepFinished:
		return api.Finished{RunID: o.Run.ID, Phase: o.Run.Phase}
	case kernel.StepFenced:
		return api.Fenced{}
	}
	panic("unreachable")
}

// cursor returns a store position for one of the wire.
func cursor(seq int64) store.Seq { return store.Seq(seq) }
