package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (a *app) sessionsCommand() *cobra.Command {
	var limit int
	var cursor, owner string
	listing := &cobra.Command{
		Use: "list", Short: "List sessions, newest first",
		Example: `  stepwell sessions list
  stepwell sessions list --limit 200 --json
  stepwell sessions list --cursor ses_0190`,
		Args: cobra.NoArgs,
		RunE: a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			page, err := t.ListSessions(ctx, api.ListSessionsOptions{Owner: owner, Cursor: cursor, Limit: limit})
			if err != nil {
				return err
			}
			return a.writeSessions(page)
		})),
	}
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, create, rename and delete sessions",
		Example: `  stepwell sessions
  stepwell sessions create "Holiday plans"
  stepwell sessions delete ses_0190 --yes`,
		Args: cobra.NoArgs,
		RunE: listing.RunE,
	}
	for _, l := range []*cobra.Command{c, listing} {
		l.Flags().IntVar(&limit, "limit", 0, fmt.Sprintf("how many (default %d, at most %d)", api.DefaultPage, api.MaxPage))
		l.Flags().StringVar(&cursor, "cursor", "", "go on after this session")
		l.Flags().StringVar(&owner, "owner", "", "only those that this user made")
	}
	c.AddCommand(listing, a.createSessionCommand(), a.renameSessionCommand(), a.deleteSessionCommand())
	for _, sub := range c.Commands() {
		sub.Long = withCodes(sub)
	}
	return c
}

func (a *app) writeSessions(page api.SessionPage) error {
	if a.json {
		return emit(a.out, page)
	}
	if len(page.Items) == 0 {
		_, err := fmt.Fprintln(a.out, "There are no sessions yet. `stepwell chat` makes one.")
		return err
	}
	rows := [][]string{{"SESSION", "LAST ACTIVITY", "HEADS", "NAME", "PREVIEW"}}
	for _, s := range page.Items {
		rows = append(rows, []string{
			string(s.SessionID), clock(s.LastActivityAt), oneLine(strings.Join(s.Heads, ","), 40), oneLine(s.Name, 40), oneLine(s.Preview, 60),
		})
	}
	if err := table(a.out, rows); err != nil {
		return err
	}
	if page.HasMore {
		_, err := fmt.Fprintf(a.out, "There are more: --cursor %s\n", page.Next)
		return err
	}
	return nil
}

func (a *app) createSessionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "create [name]", Short: "Make a session and print its id",
		Example: `  stepwell sessions create
  stepwell sessions create "Holiday plans"
  stepwell sessions create -s holidays`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.with(ctx, mayMake, func(t *target) error {
				out, err := t.CreateSession(ctx, api.CreateSessionOptions{
					SessionID: api.SessionID(a.session), Name: strings.Join(args, " "), Actor: a.actor(),
				})
				if err != nil {
					return err
				}
				switch o := out.(type) {
				case api.SessionCreated:
					return a.outcome(out, exitOK, "%s", o.Session.SessionID)
				case api.SessionExists:
					return a.outcome(out, exitConflict, "exists: %s", o.Session.SessionID)
				}
				return errors.New("unreachable")
			})
		}),
	}
}

func (a *app) renameSessionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rename session name", Short: "Name a session; an empty name takes its name away",
		Example: `  stepwell sessions rename default "Holiday plans"
  stepwell sessions rename ses_0190 ""`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: a.completeSessions,
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			a.session = args[0]
			if err := t.RenameSession(ctx, api.RenameSessionOptions{SessionID: a.sessionID(), Name: args[1], Actor: a.actor()}); err != nil {
				return err
			}
			info, err := t.GetSession(ctx, api.SessionOptions{SessionID: a.sessionID()})
			if err != nil {
				return err
			}
			return a.outcome(info, exitOK, "renamed %s", info.SessionID)
		})),
	}
}

func (a *app) deleteSessionCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete session", Short: "Delete a session with everything in it",
		Long: "Delete removes a session for good. Runs in it end, and its watchers are told. It asks back unless --yes is given.",
		Example: `  stepwell sessions delete ses_0190
  stepwell sessions delete ses_0190 --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeSessions,
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			a.session = args[0]
			id := a.sessionID()
			if _, err := t.GetSession(ctx, api.SessionOptions{SessionID: id}); err != nil {
				return err
			}
			if !yes {
				if !a.typed {
					return usage("deleting cannot be undone: add --yes to delete %s", id)
				}
				if ok, err := a.confirm(fmt.Sprintf("Delete session %s with everything in it? [y/N] ", id)); err != nil || !ok {
					return err
				}
			}
			if err := t.DeleteSession(ctx, api.DeleteSessionOptions{SessionID: id, Actor: a.actor()}); err != nil {
				return err
			}
			return a.outcome(struct {
				Deleted api.SessionID `json:"deleted"`
			}{id}, exitOK, "deleted %s", id)
		})),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask back")
	return c
}

func (a *app) confirm(question string) (bool, error) {
	if _, err := fmt.Fprint(a.err, question); err != nil {
		return false, err
	}
	var said string
	if _, err := fmt.Fscanln(a.in, &said); err != nil {
		return false, nil //nolint:nilerr // nothing said is no
	}
	return strings.EqualFold(said, "y") || strings.EqualFold(said, "yes"), nil
}
