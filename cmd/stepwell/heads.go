package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (a *app) headsCommand() *cobra.Command {
	listing := &cobra.Command{
		Use: "list", Short: "List heads",
		Args: cobra.NoArgs,
		RunE: a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			heads, err := t.ListHeads(ctx, api.SessionOptions{SessionID: a.sessionID()})
			if err != nil {
				return err
			}
			return a.writeHeads(heads)
		})),
	}
	c := &cobra.Command{
		Use:   "heads",
		Short: "List, create, advance and delete heads",
		Long: `A head is a named position in a conversation, as a branch is in git. Every message and answer is a commit with one parent, and
a head names the newest of its line. Heads run side by side, each with its own queue and run.

A head that is cut from another remembers where: it is a stack. While its parent has not moved, merge fast-forwards the
parent to it. When the parent grew, the head is stale: advance makes it current if the parent still contains its base.
Move makes a head continue from any other commit; the reflog keeps where it was.`,
		Example: `  stepwell heads
  stepwell heads create try-2 --from main
  stepwell heads delete try-2`,
		Args: cobra.NoArgs,
		RunE: listing.RunE,
	}
	c.AddCommand(listing, a.createHeadCommand(), a.advanceHeadCommand(), a.deleteHeadCommand())
	for _, sub := range c.Commands() {
		sub.Long = withCodes(sub)
	}
	return c
}

func (a *app) writeHeads(heads []api.HeadInfo) error {
	if a.json {
		return emit(a.out, list[api.HeadInfo]{heads})
	}
	rows := [][]string{{"HEAD", "TIP", "CUT FROM", "RUN"}}
	for _, h := range heads {
		from, run := "-", "-"
		if h.Stack != nil {
			from = oneLine(h.Stack.Parent, 40) + "@" + h.Stack.Base.Short()
			if h.Stack.Stale {
				from += " (stale)"
			}
		}
		if h.Run != nil {
			run = phase(h.Run.Phase)
		}
		rows = append(rows, []string{oneLine(h.Head, 60), h.Tip.Short(), from, run})
	}
	return table(a.out, rows)
}

func (a *app) createHeadCommand() *cobra.Command {
	var from, commit string
	c := &cobra.Command{
		Use: "create head", Short: "Make a head from another head, or from a commit",
		Example: `  stepwell heads create try-2
  stepwell heads create try-2 --from try-1
  stepwell heads create try-2 --commit 3f9a04`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			opts := api.CreateHeadOptions{SessionID: a.sessionID(), Head: args[0], Parent: from, Actor: a.actor()}
			if commit != "" {
				var err error
				if opts.Commit, err = a.commit(ctx, t, commit); err != nil {
					return err
				}
			} else if from == "" {
				opts.Parent = defaultHead
			}
			out, err := t.CreateHead(ctx, opts)
			if err != nil {
				return err
			}
			switch o := out.(type) {
			case api.HeadCreated:
				return a.outcome(out, exitOK, "created %s at %s", opts.Head, o.Tip.Short())
			case api.Exists:
				return a.outcome(out, exitConflict, "exists: there is a head %s", opts.Head)
			case api.UnknownParent:
				return a.outcome(out, exitNotFound, "unknown_parent: there is no such head or commit to start from")
			}
			return errors.New("unreachable")
		})),
	}
	c.Flags().StringVar(&from, "from", "", "the head to cut it from, as a stack (default main)")
	c.Flags().StringVar(&commit, "commit", "", "the commit to start at")
	c.MarkFlagsMutuallyExclusive("from", "commit")
	_ = c.RegisterFlagCompletionFunc("from", a.completeHeads)
	return c
}

func (a *app) advanceHeadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "advance head", Short: "Make a stale head current when its parent only grew",
		Example: "  stepwell heads advance try-2",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeHeads,
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			out, err := t.AdvanceBase(ctx, api.AdvanceBaseOptions{SessionID: a.sessionID(), Head: args[0], Actor: a.actor()})
			if err != nil {
				return err
			}
			switch out.(type) {
			case api.Advanced:
				return a.outcome(out, exitOK, "advanced: %s is based on its parent's tip", args[0])
			case api.Unchanged:
				return a.outcome(out, exitOK, "unchanged: %s was current", args[0])
			case api.Diverged:
				return a.outcome(out, exitConflict, "diverged: the parent no longer contains the base of %s", args[0])
			}
			return errors.New("unreachable")
		})),
	}
}

func (a *app) deleteHeadCommand() *cobra.Command {
	var expect string
	c := &cobra.Command{
		Use: "delete head", Short: "Delete a head; its commits stay until they are collected",
		Example: `  stepwell heads delete try-2
  stepwell heads delete try-2 --expect 3f9a04`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeHeads,
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			want, err := a.expected(ctx, t, expect)
			if err != nil {
				return err
			}
			out, err := t.DeleteHead(ctx, api.DeleteHeadOptions{SessionID: a.sessionID(), Head: args[0], Expect: want, Actor: a.actor()})
			if err != nil {
				return err
			}
			switch out.(type) {
			case api.Deleted:
				return a.outcome(out, exitOK, "deleted %s", args[0])
			case api.NotFound:
				return a.outcome(out, exitNotFound, "not_found: there is no head %s", args[0])
			case api.HeadBusy:
				return a.outcome(out, exitConflict, "busy: a runner holds %s; abort its run first", args[0])
			}
			return errors.New("unreachable")
		})),
	}
	a.expectFlag(c, &expect)
	return c
}
