package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// sessionIDs returns the session that is meant, or all of the store.
func (a *app) sessionIDs(ctx context.Context, t *target, all bool) ([]api.SessionID, error) {
	if !all {
		return []api.SessionID{a.sessionID()}, nil
	}
	var ids []api.SessionID
	opts := api.ListSessionsOptions{Limit: api.MaxPage}
	for {
		page, err := t.ListSessions(ctx, opts)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Items {
			ids = append(ids, s.SessionID)
		}
		if !page.HasMore {
			return ids, nil
		}
		opts.Cursor = page.Next
	}
}

type checked struct {
	Session api.SessionID `json:"session"`
	// Moving: it was written to during every check, so that the problems may be none.
	Moving bool `json:"moving,omitzero"`
	api.CheckReport
}

// checks is how often a session that looks broken is checked again because it was written to meanwhile.
const checks = 3

// check checks a session while it stands still: what moves can look broken.
func check(ctx context.Context, t api.Service, id api.SessionID) (checked, error) {
	out := checked{Session: id}
	for range checks {
		before, err := newest(ctx, t, id)
		if err != nil {
			return out, err
		}
		if out.CheckReport, err = t.Fsck(ctx, api.SessionOptions{SessionID: id}); err != nil || len(out.Problems) == 0 {
			return out, err
		}
		after, err := newest(ctx, t, id)
		if err != nil || before == after {
			return out, err
		}
	}
	out.Moving = true
	return out, nil
}

// newest returns the seq of a session's newest event.
func newest(ctx context.Context, t api.Service, id api.SessionID) (int64, error) {
	for e, err := range t.Watch(ctx, api.WatchOptions{SessionID: id, Live: true}) {
		return e.Seq, err
	}
	return 0, context.Cause(ctx)
}

func (a *app) fsckCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "fsck",
		Short: "Check every invariant that can be read off a session",
		Long: `Fsck reads a whole session and names what is broken in it. It exits with 1 when something is, and with 4
when it cannot tell because the session is written to all the time.`,
		Example: `  stepwell fsck
  stepwell fsck --all
  stepwell fsck -s ses_0190 --json`,
		Args: cobra.NoArgs,
		RunE: a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			ids, err := a.sessionIDs(ctx, t, all)
			if err != nil {
				return err
			}
			var broken, moving error
			for _, id := range ids {
				report, err := check(ctx, t, id)
				if err != nil {
					return err
				}
				if err := a.writeCheck(report); err != nil {
					return err
				}
				switch {
				case report.Moving:
					moving = &codeError{
						code: exitConflict, text: "session " + string(id) + " was written to during every check, and what moves can look broken",
						hint: "check again when it is idle, or stop its run with `stepwell abort`",
					}
				case len(report.Problems) > 0:
					broken = &codeError{code: exitFailed}
				}
			}
			return firstError(broken, moving)
		})),
	}
	c.Flags().BoolVar(&all, "all", false, "check every session of the store; with --json a line for each")
	return c
}

func (a *app) writeCheck(r checked) error {
	if a.json {
		return emit(a.out, r)
	}
	if len(r.Problems) == 0 {
		_, err := fmt.Fprintf(a.out, "%s: clean (%d objects, %d refs, %d events)\n", r.Session, r.Objects, r.Refs, r.Events)
		return err
	}
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", r.Session, problemText(p)); err != nil {
			return err
		}
	}
	return nil
}

func problemText(p api.Problem) string {
	text := oneLine(p.Detail, 500)
	if p.Ref != "" {
		text = p.Ref + ": " + text
	}
	if !p.OID.IsZero() {
		text += " [" + p.OID.String() + "]"
	}
	if p.Invariant != 0 {
		text += fmt.Sprintf(" (invariant %d)", p.Invariant)
	}
	return text
}

type collected struct {
	Session api.SessionID `json:"session"`
	Floor   *int64        `json:"floor,omitzero"`
	api.CollectReport
}

func (a *app) gcCommand() *cobra.Command {
	var all bool
	var grace time.Duration
	var trim int64
	c := &cobra.Command{
		Use:   "gc",
		Short: "Sweep objects that nothing protects, and trim old events if told to",
		Long: `Gc sweeps objects that no ref, no kept event and no other object names, once they are older than the grace period. Events
are kept for ever unless --trim-before is given: what is trimmed can no longer be watched or undone, and protects nothing
any more.`,
		Example: `  stepwell gc
  stepwell gc --all --grace 168h
  stepwell gc --trim-before 5000`,
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "every session of the store; with --json a line for each")
	f.DurationVar(&grace, "grace", 24*time.Hour, "keep what is younger than this")
	f.Int64Var(&trim, "trim-before", 0, "raise the event floor to this seq first")
	c.MarkFlagsMutuallyExclusive("all", "trim-before")
	c.RunE = a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
		if grace < 0 {
			return usage("--grace is %s; want 0s or more", grace)
		}
		ids, err := a.sessionIDs(ctx, t, all)
		if err != nil {
			return err
		}
		for _, id := range ids {
			out := collected{Session: id}
			if trim != 0 {
				report, err := t.Trim(ctx, api.TrimOptions{SessionID: id, Before: trim})
				if err != nil {
					return err
				}
				out.Floor = &report.Floor
			}
			if out.CollectReport, err = t.Collect(ctx, api.CollectOptions{SessionID: id, GraceMS: grace.Milliseconds()}); err != nil {
				return err
			}
			if err := a.outcome(out, exitOK, "%s: swept %d of %d objects, %d are reachable", id, out.Swept, out.Scanned, out.Reachable); err != nil {
				return err
			}
		}
		return nil
	}))
	return c
}
