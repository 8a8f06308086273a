package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// completionTimeout bounds what a Tab key waits for.
const completionTimeout = time.Second

// completed asks the target for candidates. Without a store there are none.
func (a *app) completed(cmd *cobra.Command, ask func(context.Context, *target) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var out []cobra.Completion
	err := a.with(ctx, mustExist, func(t *target) (err error) {
		out, err = ask(ctx, t)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeSessions(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completed(cmd, func(ctx context.Context, t *target) ([]cobra.Completion, error) {
		page, err := t.ListSessions(ctx, api.ListSessionsOptions{Limit: api.MaxPage})
		var out []cobra.Completion
		for _, s := range page.Items {
			out = append(out, cobra.CompletionWithDesc(string(s.SessionID), oneLine(firstOf(s.Name, s.Preview), 60)))
		}
		return out, err
	})
}

func (a *app) completeHeads(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completed(cmd, func(ctx context.Context, t *target) ([]cobra.Completion, error) {
		heads, err := t.ListHeads(ctx, api.SessionOptions{SessionID: a.sessionID()})
		var out []cobra.Completion
		for _, h := range heads {
			out = append(out, h.Head)
		}
		return out, err
	})
}

func (a *app) completeLanes(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completed(cmd, func(ctx context.Context, t *target) ([]cobra.Completion, error) {
		landing, err := t.Landing(ctx)
		var out []cobra.Completion
		for _, l := range landing.Lanes {
			out = append(out, cobra.CompletionWithDesc(l.Lane, "lands at "+l.Lands))
		}
		return out, err
	})
}
