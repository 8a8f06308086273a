package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

func (a *app) refsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "refs [prefix]",
		Short: "List refs and what they name",
		Example: `  stepwell refs
  stepwell refs refs/heads/
  stepwell refs --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			refs, err := t.Refs(ctx, api.RefsOptions{SessionID: a.sessionID(), Prefix: firstOf(append(args, "")...)})
			if err != nil {
				return err
			}
			if a.json {
				return emit(a.out, list[api.RefInfo]{refs})
			}
			for _, r := range refs {
				if _, err := fmt.Fprintf(a.out, "%s %s\n", r.OID, r.Name); err != nil {
					return err
				}
			}
			return nil
		})),
	}
}

func (a *app) reflogCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "reflog [ref]",
		Short: "Show how refs moved, newest first",
		Example: `  stepwell reflog
  stepwell reflog refs/heads/main -n 5
  stepwell reflog --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			moves, err := t.Reflog(ctx, api.ReflogOptions{SessionID: a.sessionID(), Ref: firstOf(append(args, "")...), Limit: limit})
			if err != nil {
				return err
			}
			if a.json {
				return emit(a.out, list[api.ReflogEntry]{moves})
			}
			rows := [][]string{}
			for _, m := range moves {
				by := ""
				if m.Actor != nil {
					by = who(m.Actor)
				}
				rows = append(rows, []string{
					strconv.FormatInt(m.Seq, 10), clock(m.At), m.From.Short(), m.To.Short(), m.Name, oneLine(m.Reason, 60), by,
				})
			}
			return table(a.out, rows)
		})),
	}
	c.Flags().IntVarP(&limit, "limit", "n", 0, fmt.Sprintf("how many (default %d, at most %d)", api.DefaultPage, api.MaxPage))
	return c
}

func (a *app) catCommand() *cobra.Command {
	var raw bool
	c := &cobra.Command{
		Use:   "cat object",
		Short: "Print a stored object",
		Long: `Cat prints an object, named by its id, by a ref, or by the beginning of the id of a commit or of what a ref names. With --raw
it prints the canonical bytes, whose SHA-256 is the id.`,
		Example: `  stepwell cat refs/heads/main
  stepwell cat 3f9a04
  stepwell cat --raw refs/heads/main | sha256sum`,
		Args: cobra.ExactArgs(1),
		RunE: a.do(a.on(func(ctx context.Context, t *target, args []string) error {
			oid, err := a.object(ctx, t, args[0])
			if err != nil {
				return err
			}
			o, err := t.Object(ctx, api.ObjectOptions{SessionID: a.sessionID(), OID: oid})
			if err != nil {
				return err
			}
			switch {
			case raw:
				_, err = a.out.Write(o.Body)
				return err
			case a.json:
				return emit(a.out, o)
			}
			text := o.Body.Clone()
			if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
				return fmt.Errorf("the object's body: %w", err)
			}
			_, err = fmt.Fprintf(a.out, "%s %s\n%s\n", o.Kind, o.OID, printable(string(text)))
			return err
		})),
	}
	c.Flags().BoolVar(&raw, "raw", false, "print the canonical bytes and nothing else")
	return c
}
