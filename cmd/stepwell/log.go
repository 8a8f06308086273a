package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (a *app) logCommand() *cobra.Command {
	var head, before string
	var limit int
	var commits, all bool
	c := &cobra.Command{
		Use:   "log",
		Short: "Show the transcript of a head, or its commits",
		Example: `  stepwell log
  stepwell log --commits --limit 10
  stepwell log --commits --all       # every branch, also those no head has any more`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if limit < 0 {
				return usage("--limit is %d; want 1 or more", limit)
			}
			return nil
		},
		RunE: a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			if commits || all {
				return a.logCommits(ctx, t, head, limit, all)
			}
			opts := api.TranscriptOptions{SessionID: a.sessionID(), Head: head, Limit: limit}
			if before != "" {
				var err error
				if opts.Before, err = a.commit(ctx, t, before); err != nil {
					return err
				}
			}
			page, err := t.ListMessages(ctx, opts)
			if err != nil {
				return err
			}
			if a.json {
				return emit(a.out, page)
			}
			if page.HasMore {
				if _, err := fmt.Fprintln(a.out, a.style().dim("(older: --before "+page.Next.Short()+")")); err != nil {
					return err
				}
			}
			return writeTranscript(a.out, a.style(), page.Items)
		})),
	}
	a.headFlag(c, &head)
	f := c.Flags()
	f.IntVarP(&limit, "limit", "n", 0, fmt.Sprintf("how many turns or commits (turns: default %d, at most %d)", api.DefaultPage, api.MaxPage))
	f.StringVar(&before, "before", "", "only what is older than this commit")
	f.BoolVar(&commits, "commits", false, "list commits, newest first")
	f.BoolVar(&all, "all", false, "with --commits: of every branch")
	c.MarkFlagsMutuallyExclusive("before", "commits")
	return c
}

func (a *app) logCommits(ctx context.Context, t *target, head string, limit int, all bool) error {
	tree, err := t.Tree(ctx, api.HeadOptions{SessionID: a.sessionID(), Head: head})
	if err != nil {
		return err
	}
	nodes := []api.TreeNode{}
	for _, n := range slices.Backward(tree.Nodes) {
		if (n.Active || all) && (limit == 0 || len(nodes) < limit) {
			nodes = append(nodes, n)
		}
	}
	if a.json {
		return emit(a.out, api.Tree{Nodes: nodes})
	}
	rows := [][]string{}
	for _, n := range nodes {
		mark := " "
		if n.Active && all {
			mark = "*"
		}
		text := oneLine(n.Text, 80)
		if len(n.Heads) > 0 {
			text = "(" + strings.Join(n.Heads, ", ") + ") " + text
		}
		rows = append(rows, []string{mark + n.OID.Short(), n.Parent.Short(), clock(n.At), firstOf(n.Role, n.Kind), text})
	}
	return table(a.out, rows)
}
