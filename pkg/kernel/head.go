package kernel

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// CreateHeadOptions say where a head is cut: from another head, or from a commit.
type CreateHeadOptions struct {
	Head   string
	Parent string     // a head: copies its tip and makes a stack on it; it may be unborn
	Commit object.OID // a commit: writes the head ref only
	Actor  *object.Actor
}

// A CreateHeadOutcome is [Created], [HeadExists] or [NotFound].
//
//sumtype:decl
type CreateHeadOutcome interface{ createHeadOutcome() }

func (Created) createHeadOutcome()    {}
func (HeadExists) createHeadOutcome() {}
func (NotFound) createHeadOutcome()   {}

type (
	// Created has the new head's tip, zero when it is unborn.
	Created struct{ Tip object.OID }
	// HeadExists means that a head or a stack of the name is there.
	HeadExists struct{}
)

// CreateHead makes a head.
func (s *Session) CreateHead(ctx context.Context, opts CreateHeadOptions) (CreateHeadOutcome, error) {
	if err := ref.CheckHead(opts.Head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if (opts.Parent == "") == opts.Commit.IsZero() {
		return nil, fmt.Errorf("%w: a head is cut from a parent head or from a commit", ErrInvalid)
	}
	if opts.Parent != "" {
		if err := ref.CheckHead(opts.Parent); err != nil {
			return nil, fmt.Errorf("%w: parent: %w", ErrInvalid, err)
		}
		if opts.Parent == opts.Head {
			return nil, fmt.Errorf("%w: head %q cannot be cut from itself", ErrInvalid, opts.Head)
		}
		return s.createStacked(ctx, opts)
	}
	if ok, err := s.isCommit(ctx, opts.Commit); err != nil || !ok {
		return NotFound{}, err
	}
	outcome, err := s.UpdateRefs(ctx, []store.Update{
		{Name: ref.Head(opts.Head), To: opts.Commit},
		store.Absent(ref.Stack(opts.Head)),
	}, store.UpdateOptions{Reason: "create", Actor: opts.Actor})
	if err != nil {
		return nil, fmt.Errorf("create head %q: %w", opts.Head, err)
	}
	if _, ok := outcome.(store.Updated); ok {
		return Created{opts.Commit}, nil
	}
	return HeadExists{}, nil
}

func (s *Session) createStacked(ctx context.Context, opts CreateHeadOptions) (CreateHeadOutcome, error) {
	for range MaxAttempts {
		oids, err := s.ReadRefs(ctx, ref.Head(opts.Parent))
		if err != nil {
			return nil, fmt.Errorf("read head %q: %w", opts.Parent, err)
		}
		tip := oids[0]
		stack, err := object.Encode(object.Stack{Parent: opts.Parent, Base: tip})
		if err != nil {
			return nil, err
		}
		updates := []store.Update{
			{Name: ref.Stack(opts.Head), To: stack.OID},
			{Name: ref.Head(opts.Head), To: tip}, // an unborn parent: asserts that the head is absent
			store.Assert(ref.Head(opts.Parent), tip),
		}
		outcome, err := s.UpdateRefs(ctx, updates, store.UpdateOptions{
			Reason: "create", Actor: opts.Actor, Objects: []object.Encoded{stack},
		})
		if err != nil {
			return nil, fmt.Errorf("create head %q: %w", opts.Head, err)
		}
		switch o := outcome.(type) {
		case store.Updated:
			return Created{tip}, nil
		case store.UpdateConflict:
			if o.Name != ref.Head(opts.Parent) {
				return HeadExists{}, nil
			}
		case store.Fenced:
			return nil, fmt.Errorf("create head %q carries no lease and was fenced", opts.Head)
		}
	}
	return nil, fmt.Errorf("create head %q: %w", opts.Head, ErrContention)
}

// MoveHeadOptions say where a head goes.
type MoveHeadOptions struct {
	Head   string
	To     object.OID // a commit; zero makes the head unborn
	Expect *object.OID
	Actor  *object.Actor
}

// A MoveHeadOutcome is [HeadMoved], [MovedSince] or [NotFound].
//
//sumtype:decl
type MoveHeadOutcome interface{ moveHeadOutcome() }

func (HeadMoved) moveHeadOutcome()  {}
func (MovedSince) moveHeadOutcome() {}
func (NotFound) moveHeadOutcome()   {}

type (
	// HeadMoved has where the head was.
	HeadMoved struct{ From object.OID }
	// MovedSince means that the head is not where the caller saw it; Tip is where it is.
	MovedSince struct{ Tip object.OID }
)

// MoveHead moves a head by compare-and-swap from where it is, or from Expect. It takes no lease and does not wait for a live run: a run
// that publishes afterwards finds itself superseded.
func (s *Session) MoveHead(ctx context.Context, opts MoveHeadOptions) (MoveHeadOutcome, error) {
	if err := ref.CheckHead(opts.Head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	oids, err := s.ReadRefs(ctx, ref.Head(opts.Head))
	if err != nil {
		return nil, fmt.Errorf("read head %q: %w", opts.Head, err)
	}
	from := oids[0]
	if opts.Expect != nil && *opts.Expect != from {
		return MovedSince{from}, nil
	}
	if !opts.To.IsZero() {
		if ok, err := s.isCommit(ctx, opts.To); err != nil || !ok {
			return NotFound{}, err
		}
	}
	outcome, err := s.UpdateRefs(ctx, []store.Update{{Name: ref.Head(opts.Head), From: from, To: opts.To}}, store.UpdateOptions{
		Reason: "move", Actor: opts.Actor,
	})
	if err != nil {
		return nil, fmt.Errorf("move head %q: %w", opts.Head, err)
	}
	if c, ok := outcome.(store.UpdateConflict); ok {
		return MovedSince{c.Actual}, nil
	}
	return HeadMoved{from}, nil
}

// DeleteHeadOptions name a head to delete.
type DeleteHeadOptions struct {
	Head   string
	Expect *object.OID // delete only from this tip
	Actor  *object.Actor
}

// A DeleteHeadOutcome is [HeadDeleted], [HeadBusy], [MovedSince] or [NotFound].
//
//sumtype:decl
type DeleteHeadOutcome interface{ deleteHeadOutcome() }

func (HeadDeleted) deleteHeadOutcome() {}
func (HeadBusy) deleteHeadOutcome()    {}
func (MovedSince) deleteHeadOutcome()  {}
func (NotFound) deleteHeadOutcome()    {}

type (
	// HeadDeleted means that the head's refs are gone; its objects stay until they are collected.
	HeadDeleted struct{}
	// HeadBusy means that someone holds the head's lease.
	HeadBusy struct{ Holder store.Lease }
)

// DeleteHead removes a head's tip, stack, run, the run's open calls, and every lane's ends, in one compare-and-swap.
func (s *Session) DeleteHead(ctx context.Context, opts DeleteHeadOptions) (DeleteHeadOutcome, error) {
	head := opts.Head
	if err := ref.CheckHead(head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for range MaxAttempts {
		fixed := []ref.Name{ref.Head(head), ref.Stack(head), ref.Run(head)}
		oids, err := s.ReadRefs(ctx, fixed...)
		if err != nil {
			return nil, fmt.Errorf("read head %q: %w", head, err)
		}
		if oids[0].IsZero() && oids[1].IsZero() {
			return NotFound{}, nil
		}
		if opts.Expect != nil && *opts.Expect != oids[0] {
			return MovedSince{oids[0]}, nil
		}
		lease, held, err := s.ReadLease(ctx, ref.Head(head))
		if err != nil {
			return nil, fmt.Errorf("read the lease of head %q: %w", head, err)
		}
		if held {
			return HeadBusy{lease}, nil
		}
		queues, err := s.ListRefs(ctx, ref.HeadQueues(head))
		if err != nil {
			return nil, fmt.Errorf("list the lanes of head %q: %w", head, err)
		}
		var updates []store.Update
		if !oids[2].IsZero() {
			run, err := s.loadRun(ctx, oids[2])
			if err != nil {
				return nil, err
			}
			if updates, err = s.clearEffects(ctx, run.ID); err != nil {
				return nil, err
			}
		}
		for i, name := range fixed {
			updates = append(updates, store.Update{Name: name, From: oids[i]})
		}
		for _, q := range queues {
			updates = append(updates, store.Update{Name: q.Name, From: q.OID})
		}
		outcome, err := s.UpdateRefs(ctx, updates, store.UpdateOptions{Reason: "delete", Actor: opts.Actor})
		if err != nil {
			return nil, fmt.Errorf("delete head %q: %w", head, err)
		}
		if _, ok := outcome.(store.Updated); ok {
			return HeadDeleted{}, nil
		}
	}
	return nil, fmt.Errorf("delete head %q: %w", head, ErrContention)
}

func (s *Session) isCommit(ctx context.Context, oid object.OID) (bool, error) {
	o, ok, err := s.GetObject(ctx, oid)
	if err != nil || !ok {
		return false, err
	}
	_, ok = o.(object.Commit)
	return ok, nil
}
