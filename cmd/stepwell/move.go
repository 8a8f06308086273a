package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// unborn is how a head without commits is written on the command line.
const unborn = "unborn"

func (a *app) expectFlag(c *cobra.Command, expect *string) {
	c.Flags().StringVar(expect, "expect", "", `do it only if the head is at this commit, or "`+unborn+`"`)
}

// expected returns the tip that --expect names.
func (a *app) expected(ctx context.Context, t *target, text string) (api.Tip, error) {
	switch text {
	case "":
		return api.Tip{}, nil
	case unborn:
		return api.Tip{Given: true}, nil
	}
	oid, err := a.commit(ctx, t, text)
	return api.At(oid), err
}

func (a *app) moveCommand() *cobra.Command {
	var head, expect string
	c := &cobra.Command{
		Use:   "move commit",
		Short: "Move a head to another commit",
		Long: `Move makes a head continue from another commit, or from nothing with "unborn". Moving to a user message goes to just
before it and prints the message, so that it can be said differently. The reflog keeps where the head was.`,
		Example: `  stepwell move 3f9a04
  stepwell move --head try-2 main
  stepwell move unborn`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			opts := api.MoveHeadOptions{SessionID: a.sessionID(), Head: head, Actor: a.actor()}
			var err error
			if opts.Expect, err = a.expected(ctx, t, expect); err != nil {
				return err
			}
			if opts.To, err = a.expected(ctx, t, args[0]); err != nil {
				return err
			}
			out, err := t.MoveHead(ctx, opts)
			if err != nil {
				return err
			}
			return a.moved(out, firstOf(head, defaultHead))
		})),
	}
	a.headFlag(c, &head)
	a.expectFlag(c, &expect)
	return c
}

func (a *app) moved(out api.MoveOutcome, head string) error {
	switch o := out.(type) {
	case api.Moved:
		if err := a.outcome(out, exitOK, "moved %s from %s", head, o.From.Short()); err != nil || a.json || o.Restored == nil {
			return err
		}
		_, err := fmt.Fprintf(a.out, "%s\n%s\n", a.style().dim("The message that was there:"), plain(o.Restored.Content))
		return err
	case api.Busy:
		return a.outcome(out, exitConflict, "busy: run %s is %s; abort it first", o.Run.RunID, phase(o.Run.Phase))
	case api.MovedSince:
		return a.outcome(out, exitConflict, "moved_since: %s is at %s", head, o.Tip.Short())
	case api.NotFound:
		return a.outcome(out, exitNotFound, "not_found: there is no such commit in this session")
	}
	return errors.New("unreachable")
}

func (a *app) mergeCommand() *cobra.Command {
	var expect string
	c := &cobra.Command{
		Use:   "merge head",
		Short: "Fast-forward a head's parent to it",
		Long:  "Merge moves the head that this one was cut from to this one's tip. It works only while the parent has not moved since.",
		Example: `  stepwell merge try-2
  stepwell merge try-2 --expect 3f9a04
  stepwell heads advance try-2 && stepwell merge try-2`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeHeads,
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			want, err := a.expected(ctx, t, expect)
			if err != nil {
				return err
			}
			out, err := t.MergeHead(ctx, api.MergeHeadOptions{SessionID: a.sessionID(), Head: args[0], Expect: want, Actor: a.actor()})
			if err != nil {
				return err
			}
			switch o := out.(type) {
			case api.Merged:
				return a.outcome(out, exitOK, "merged: the parent of %s is at %s", args[0], o.Tip.Short())
			case api.Stale:
				return a.outcome(out, exitConflict, "stale: the parent moved since %s was cut; see `stepwell heads advance`", args[0])
			case api.Empty:
				return a.outcome(out, exitConflict, "empty: %s has nothing of its own", args[0])
			case api.NoStack:
				return a.outcome(out, exitConflict, "no_stack: %s was not cut from another head", args[0])
			}
			return errors.New("unreachable")
		})),
	}
	a.expectFlag(c, &expect)
	return c
}
