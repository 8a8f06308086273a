package sdk

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// Refs lists refs by name.
func (s *Stepwell) Refs(ctx context.Context, opts api.RefsOptions) ([]api.RefInfo, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	refs, err := session.ListRefs(ctx, opts.Prefix)
	if err != nil {
		return nil, fault(err)
	}
	out := make([]api.RefInfo, len(refs))
	for i, r := range refs {
		out[i] = api.RefInfo{Name: string(r.Name), OID: r.OID}
	}
	return out, nil
}

// Reflog returns recorded ref moves, newest first.
func (s *Stepwell) Reflog(ctx context.Context, opts api.ReflogOptions) ([]api.ReflogEntry, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return nil, err
	}
	limit := opts.Limit
	if limit == 0 {
		limit = api.DefaultPage
	}
	floor, err := session.Floor(ctx)
	if err != nil {
		return nil, fault(err)
	}
	last, err := session.LastSeq(ctx)
	if err != nil {
		return nil, fault(err)
	}
	entries := []api.ReflogEntry{}
	for end := last; end > floor && len(entries) < limit; {
		start := max(floor, end-store.DefaultPage)
		page, err := session.ReadEvents(ctx, start, int(end-start))
		var expired *store.CursorExpiredError
		if errors.As(err, &expired) {
			floor = expired.Floor // trimmed meanwhile
			continue
		}
		if err != nil {
			return nil, fault(err)
		}
		for _, e := range slices.Backward(page) {
			if r, ok := e.Body.(store.RefEvent); ok && len(entries) < limit && (opts.Ref == "" || string(r.Name) == opts.Ref) {
				entries = append(entries, api.ReflogEntry{
					Seq: int64(e.Seq), At: e.At, Name: string(r.Name), From: r.From, To: r.To, Reason: r.Reason, Actor: r.Actor,
				})
			}
		}
		end = start
	}
	return entries, nil
}

// Object returns a stored object with its canonical bytes.
func (s *Stepwell) Object(ctx context.Context, opts api.ObjectOptions) (api.StoredObject, error) {
	if err := opts.Validate(); err != nil {
		return api.StoredObject{}, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return api.StoredObject{}, err
	}
	o, ok, err := session.GetObject(ctx, opts.OID)
	if err != nil {
		return api.StoredObject{}, fault(err)
	}
	if !ok {
		return api.StoredObject{}, api.ErrObjectNotFound
	}
	enc, err := object.Encode(o)
	if err != nil {
		return api.StoredObject{}, err
	}
	return api.StoredObject{OID: opts.OID, Kind: object.Kind(o), Body: enc.Body}, nil
}

// Tree returns every commit of the session as a forest.
func (s *Stepwell) Tree(ctx context.Context, opts api.HeadOptions) (api.Tree, error) {
	session, err := s.reading(ctx, opts)
	if err != nil {
		return api.Tree{}, err
	}
	tree, err := view.LoadTree(ctx, session, head(opts.Head))
	if err != nil {
		return api.Tree{}, fault(err)
	}
	out := api.Tree{Nodes: make([]api.TreeNode, len(tree.Nodes))}
	for i, n := range tree.Nodes {
		out.Nodes[i] = api.TreeNode(n)
	}
	return out, nil
}

// Fsck checks every invariant that can be read off the session.
func (s *Stepwell) Fsck(ctx context.Context, opts api.SessionOptions) (api.CheckReport, error) {
	if err := opts.Validate(); err != nil {
		return api.CheckReport{}, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return api.CheckReport{}, err
	}
	report, err := kernel.Check(ctx, session)
	if err != nil {
		return api.CheckReport{}, fault(err)
	}
	out := api.CheckReport{Problems: []api.Problem{}}
	for _, p := range report {
		out.Problems = append(out.Problems, api.Problem{Invariant: p.Invariant, Ref: p.Where, Detail: p.Detail})
	}
	objects, err := session.ListObjects(ctx)
	if err != nil {
		return api.CheckReport{}, fault(err)
	}
	refs, err := session.ListRefs(ctx, "")
	if err != nil {
		return api.CheckReport{}, fault(err)
	}
	floor, err := session.Floor(ctx)
	if err != nil {
		return api.CheckReport{}, fault(err)
	}
	last, err := session.LastSeq(ctx)
	if err != nil {
		return api.CheckReport{}, fault(err)
	}
	out.Objects, out.Refs, out.Events = len(objects), len(refs), int(last-floor)
	return out, nil
}

// Trim raises the event floor.
func (s *Stepwell) Trim(ctx context.Context, opts api.TrimOptions) (api.TrimReport, error) {
	if err := opts.Validate(); err != nil {
		return api.TrimReport{}, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return api.TrimReport{}, err
	}
	floor, err := session.Trim(ctx, cursor(opts.Before))
	return api.TrimReport{Floor: int64(floor)}, fault(err)
}

// Collect sweeps unprotected objects.
func (s *Stepwell) Collect(ctx context.Context, opts api.CollectOptions) (api.CollectReport, error) {
	if err := opts.Validate(); err != nil {
		return api.CollectReport{}, err
	}
	session, err := s.open(ctx, opts.SessionID)
	if err != nil {
		return api.CollectReport{}, err
	}
	grace := time.Duration(min(opts.GraceMS, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond // never wraps to a short one
	got, err := session.Collect(ctx, grace)
	return api.CollectReport{Scanned: got.Scanned, Reachable: got.Reachable, Swept: got.Swept}, fault(err)
}
