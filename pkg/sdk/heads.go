package sdk

import (
	"context"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// ListHeads returns the session's heads, the default one first, also before it is born.
func (s *Stepwell) ListHeads(ctx context.Context, opts api.SessionOptions) ([]api.HeadInfo, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	names, err := headNames(ctx, session)
	if err != nil {
		return nil, err
	}
	infos := make([]api.HeadInfo, 0, len(names))
	for _, name := range names {
		info, err := headInfo(ctx, session, name)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func headNames(ctx context.Context, session *kernel.Session) ([]string, error) {
	names := []string{DefaultHead}
	for _, prefix := range []string{ref.Heads, ref.Stacks} {
		refs, err := session.ListRefs(ctx, prefix)
		if err != nil {
			return nil, fault(err)
		}
		for _, r := range refs {
			if name := string(r.Name[len(prefix):]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names[1:])
	return names, nil
}

func headInfo(ctx context.Context, session *kernel.Session, name string) (api.HeadInfo, error) {
	tip, err := session.ReadRefs(ctx, ref.Head(name))
	if err != nil {
		return api.HeadInfo{}, fault(err)
	}
	info := api.HeadInfo{Head: name, Tip: tip[0]}
	stack, ok, err := session.Stack(ctx, name)
	if err != nil {
		return api.HeadInfo{}, fault(err)
	}
	if ok {
		info.Stack = &api.StackInfo{Parent: stack.Stack.Parent, Base: stack.Stack.Base, Stale: stack.Stale()}
	}
	info.Run, err = currentRun(ctx, session, name)
	return info, err
}

// CreateHead cuts a head from a listed head or from a commit.
func (s *Stepwell) CreateHead(ctx context.Context, opts api.CreateHeadOptions) (api.CreateHeadOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	if err := ref.CheckHead(opts.Head); err != nil {
		return nil, api.Invalid("/head", "%v", err)
	}
	if opts.Parent != "" {
		listed, err := s.listed(ctx, session, opts.Parent)
		if err != nil {
			return nil, err
		}
		if !listed {
			return api.UnknownParent{}, nil
		}
	}
	outcome, err := session.CreateHead(ctx, kernel.CreateHeadOptions{
		Head: opts.Head, Parent: opts.Parent, Commit: opts.Commit, Actor: s.actor(opts.Actor),
	})
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.Created:
		return api.HeadCreated{Tip: o.Tip}, nil
	case kernel.HeadExists:
		return api.Exists{}, nil
	case kernel.NotFound:
		return api.UnknownParent{}, nil
	}
	panic("unreachable")
}

// MoveHead moves a head that has no live run. Selecting a user message moves to its parent and hands the message back.
func (s *Stepwell) MoveHead(ctx context.Context, opts api.MoveHeadOptions) (api.MoveOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	name := head(opts.Head)
	listed, err := s.listed(ctx, session, name)
	if err != nil {
		return nil, err
	}
	if !listed {
		return api.NotFound{}, nil
	}
	tip, err := session.ReadRefs(ctx, ref.Head(name))
	if err != nil {
		return nil, fault(err)
	}
	if !opts.Expect.Matches(tip[0]) {
		return api.MovedSince{Tip: tip[0]}, nil
	}
	run, err := currentRun(ctx, session, name)
	if err != nil {
		return nil, err
	}
	if run != nil && !object.Terminal(run.Phase) {
		return api.Busy{Run: *run}, nil
	}
	to, restored, found, err := navigate(ctx, session, opts.To.OID)
	if err != nil {
		return nil, err
	}
	if !found {
		return api.NotFound{}, nil
	}
	outcome, err := session.MoveHead(ctx, kernel.MoveHeadOptions{Head: name, To: to, Expect: &tip[0], Actor: s.actor(opts.Actor)})
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.HeadMoved:
		return api.Moved{From: o.From, Restored: restored}, nil
	case kernel.MovedSince:
		return api.MovedSince{Tip: o.Tip}, nil
	case kernel.NotFound:
		return api.NotFound{}, nil
	}
	panic("unreachable")
}

// navigate returns where selecting a commit leads; zero is unborn.
func navigate(ctx context.Context, session *kernel.Session, to object.OID) (target object.OID, restored *api.Restored, found bool, err error) {
	if to.IsZero() {
		return to, nil, true, nil
	}
	o, _, err := session.GetObject(ctx, to)
	if err != nil {
		return object.OID{}, nil, false, fault(err)
	}
	commit, ok := o.(object.Commit)
	if !ok {
		return object.OID{}, nil, false, nil
	}
	target, user := view.NavigationTarget(view.Commit{OID: to, Commit: commit})
	if user != nil {
		restored = &api.Restored{Commit: to, Content: user.Content}
	}
	return target, restored, true, nil
}

// DeleteHead deletes a head other than the default one.
func (s *Stepwell) DeleteHead(ctx context.Context, opts api.DeleteHeadOptions) (api.DeleteHeadOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Head == DefaultHead {
		return nil, api.Invalid("/head", "the default head %q cannot be deleted; move it instead", DefaultHead)
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	outcome, err := session.DeleteHead(ctx, kernel.DeleteHeadOptions{Head: opts.Head, Expect: expected(opts.Expect), Actor: s.actor(opts.Actor)})
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.HeadDeleted:
		return api.Deleted{}, nil
	case kernel.MovedSince:
		return nil, &api.PreconditionError{Head: opts.Head, Tip: o.Tip}
	case kernel.HeadBusy:
		return api.HeadBusy{}, nil
	case kernel.NotFound:
		return api.NotFound{}, nil
	}
	panic("unreachable")
}

// expected returns the tip that the caller insists on, nil when it does not.
func expected(tip api.Tip) *object.OID {
	if !tip.Given {
		return nil
	}
	return &tip.OID
}

// MergeHead fast-forwards a stacked head's parent.
func (s *Stepwell) MergeHead(ctx context.Context, opts api.MergeHeadOptions) (api.MergeOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	outcome, err := session.FastForward(ctx, kernel.FastForwardOptions{Head: opts.Head, Expect: expected(opts.Expect), Actor: s.actor(opts.Actor)})
	if err != nil {
		return nil, invalid(err)
	}
	switch o := outcome.(type) {
	case kernel.Merged:
		return api.Merged{Tip: o.Tip}, nil
	case kernel.Stale:
		return api.Stale{}, nil
	case kernel.Empty:
		return api.Empty{}, nil
	case kernel.MovedSince:
		return nil, &api.PreconditionError{Head: opts.Head, Tip: o.Tip}
	case kernel.NoStack:
		return api.NoStack{}, nil
	}
	panic("unreachable")
}

// AdvanceBase makes a stale head current when its parent only grew.
func (s *Stepwell) AdvanceBase(ctx context.Context, opts api.AdvanceBaseOptions) (api.AdvanceOutcome, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	outcome, err := session.AdvanceBase(ctx, opts.Head, s.actor(opts.Actor))
	if err != nil {
		return nil, invalid(err)
	}
	switch outcome.(type) {
	case kernel.Advanced:
		return api.Advanced{}, nil
	case kernel.BaseUnchanged:
		return api.Unchanged{}, nil
	case kernel.Diverged:
		return api.Diverged{}, nil
	}
	panic("unreachable")
}
