package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

func (a *app) abortCommand() *cobra.Command {
	var head string
	c := &cobra.Command{
		Use:   "abort",
		Short: "Stop the run of a head",
		Long:  "Abort asks the live run to stop. What it has said is kept, and messages that are still queued are answered next.",
		Example: `  stepwell abort
  stepwell abort --head try-2
  stepwell abort -s ses_0190 --json`,
		Args: cobra.NoArgs,
		RunE: a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			out, err := t.Abort(ctx, api.AbortOptions{SessionID: a.sessionID(), Head: head, Actor: a.actor()})
			if err != nil {
				return err
			}
			switch o := out.(type) {
			case api.Requested:
				return a.outcome(out, exitOK, "requested: run %s stops", o.RunID)
			case api.NotRunning:
				return a.outcome(out, exitConflict, "not_running: there is no live run")
			}
			return errors.New("unreachable")
		})),
	}
	a.headFlag(c, &head)
	return c
}

// headFlag adds --head.
func (a *app) headFlag(c *cobra.Command, head *string) {
	c.Flags().StringVar(head, "head", "", "head of the session (default main)")
	_ = c.RegisterFlagCompletionFunc("head", a.completeHeads)
}

func (a *app) pendingCommand() *cobra.Command {
	var head string
	c := &cobra.Command{
		Use:   "pending",
		Short: "List the messages that have not landed yet",
		Example: `  stepwell pending
  stepwell pending --head try-2
  stepwell pending --json`,
		Args: cobra.NoArgs,
		RunE: a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			items, err := t.Pending(ctx, api.HeadOptions{SessionID: a.sessionID(), Head: head})
			if err != nil {
				return err
			}
			if a.json {
				return emit(a.out, list[api.PendingItem]{items})
			}
			return a.writePending(items)
		})),
	}
	a.headFlag(c, &head)
	return c
}

// A list is how a list is printed as JSON.
type list[T any] struct {
	Items []T `json:"items"`
}

func (a *app) writePending(items []api.PendingItem) error {
	if len(items) == 0 {
		_, err := fmt.Fprintln(a.out, "Nothing is pending.")
		return err
	}
	rows := [][]string{}
	for i, it := range items {
		rows = append(rows, []string{
			strconv.Itoa(i + 1), it.Change.Short(), oneLine(it.Lane, 30), timeOfDay(it.At), who(it.Author), oneLine(plain(it.Content), 80),
		})
	}
	return table(a.out, rows)
}

func (a *app) cancelCommand() *cobra.Command {
	var head string
	c := &cobra.Command{
		Use:   "cancel change",
		Short: "Withdraw a message that has not landed",
		Long:  "Cancel withdraws a pending message, named by its id, the beginning of it, or its number in `stepwell pending`.",
		Example: `  stepwell cancel 1
  stepwell cancel 3f9a04
  stepwell cancel --head try-2 1`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			change, err := a.pendingChange(ctx, t, head, args[0])
			if err != nil {
				return err
			}
			return a.cancel(ctx, t, head, change)
		})),
	}
	a.headFlag(c, &head)
	return c
}

func (a *app) cancel(ctx context.Context, t *target, head string, change object.OID) error {
	out, err := t.Cancel(ctx, api.CancelOptions{SessionID: a.sessionID(), Head: head, Change: change, Actor: a.actor()})
	if err != nil {
		return err
	}
	switch out.(type) {
	case api.Cancelled:
		return a.outcome(out, exitOK, "cancelled %s", change.Short())
	case api.Landed:
		return a.outcome(out, exitConflict, "landed: it is part of the conversation already")
	case api.NotFound:
		return a.outcome(out, exitNotFound, "not_found: no such message is pending on this head")
	}
	return errors.New("unreachable")
}

func (a *app) redeliverCommand() *cobra.Command {
	var head, lane, before, text string
	var end bool
	c := &cobra.Command{
		Use:   "redeliver change",
		Short: "Move, edit or reorder a message that has not landed",
		Example: `  stepwell redeliver 2 --lane steer
  stepwell redeliver 2 --before 1
  stepwell redeliver 3f9a04 --text "what I meant to say"`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			opts := api.RedeliverOptions{SessionID: a.sessionID(), Head: head, Lane: lane, End: end, Actor: a.actor()}
			var err error
			if opts.Change, err = a.pendingChange(ctx, t, head, args[0]); err != nil {
				return err
			}
			if before != "" {
				if opts.Before, err = a.pendingChange(ctx, t, head, before); err != nil {
					return err
				}
			}
			if strings.TrimSpace(text) != "" {
				opts.Content = api.Text(text).Clean()
			}
			return a.redeliver(ctx, t, opts)
		})),
	}
	a.headFlag(c, &head)
	f := c.Flags()
	f.StringVarP(&lane, "lane", "l", "", "move it to this lane")
	f.StringVar(&before, "before", "", "put it in front of this pending message")
	f.BoolVar(&end, "end", false, "put it behind all of its lane")
	f.StringVar(&text, "text", "", "replace what it says")
	c.MarkFlagsMutuallyExclusive("before", "end")
	_ = c.RegisterFlagCompletionFunc("lane", a.completeLanes)
	return c
}

func (a *app) redeliver(ctx context.Context, t *target, opts api.RedeliverOptions) error {
	out, err := t.Redeliver(ctx, opts)
	if err != nil {
		return err
	}
	switch o := out.(type) {
	case api.Redelivered:
		return a.outcome(out, exitOK, "redelivered as %s", o.Change)
	case api.Unchanged:
		return a.outcome(out, exitOK, "unchanged: it already was as asked")
	case api.Landed:
		return a.outcome(out, exitConflict, "landed: it is part of the conversation already")
	case api.NotFound:
		return a.outcome(out, exitNotFound, "not_found: no such message is pending on this head")
	}
	return errors.New("unreachable")
}
