package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

const defaultHead = "main"

func (a *app) watchCommand() *cobra.Command {
	var head string
	var after int64
	var all, noFollow bool
	c := &cobra.Command{
		Use:   "watch",
		Short: "Show what happens in a session, live",
		Long: `Watch shows what happens from now on, and what of an unfinished answer has come already. When the connection breaks it
comes back and misses nothing. With --json every event is a line, whose seq --after takes. Ctrl-C ends it.`,
		Example: `  stepwell watch
  stepwell watch --json --after 0 | jq -c 'select(.kind == "run")'
  stepwell watch --json --all --no-follow > session.jsonl`,
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.StringVar(&head, "head", "", "show only this head (default all)")
	f.Int64Var(&after, "after", 0, "start after this seq")
	f.BoolVar(&all, "all", false, "start at the oldest event that is kept")
	f.BoolVar(&noFollow, "no-follow", false, "end where the history ends")
	c.MarkFlagsMutuallyExclusive("after", "all")
	_ = c.RegisterFlagCompletionFunc("head", a.completeHeads)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.do(a.on(func(ctx context.Context, t *target, _ []string) error {
			opts := api.WatchOptions{SessionID: a.sessionID()}
			seen := int64(0)
			switch {
			case cmd.Flags().Changed("after"):
				opts.AfterSeq = &after
			case all:
			default:
				snap, err := t.Snapshot(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: head})
				if err != nil {
					return err
				}
				start, err := answerStart(ctx, t, snap)
				if err != nil {
					return err
				}
				opts.AfterSeq, seen = &start, snap.Seq
			}
			return a.watch(ctx, t, opts, head, seen, noFollow)
		}))(cmd, args)
	}
	return c
}

// answerStart returns the seq after which the unfinished answer of a snapshot streams, or the snapshot's own.
func answerStart(ctx context.Context, t *target, snap api.Snapshot) (int64, error) {
	if snap.Run == nil || object.Terminal(snap.Run.Phase) {
		return snap.Seq, nil
	}
	name := string(ref.Run(snap.Head))
	moves, err := t.Reflog(ctx, api.ReflogOptions{SessionID: snap.Session.SessionID, Ref: name, Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(moves) == 0 {
		return snap.Seq, nil // trimmed
	}
	return min(moves[0].Seq, snap.Seq), nil
}

// streams reports whether an event belongs to an answer or a tool that is under way, which no snapshot holds.
func streams(b api.EventBody) bool {
	switch b.(type) {
	case api.TextDeltaEvent, api.ReasoningDeltaEvent, api.ToolProgressEvent, api.SyncedEvent:
		return true
	case api.CommitEvent, api.HeadMovedEvent, api.RunEvent, api.QueuedEvent, api.LandedEvent, api.QueueCancelledEvent, api.EffectEvent,
		api.StackEvent, api.FactEvent, api.DeletedEvent, api.DiagnosticEvent, api.UnknownEvent:
	}
	return false
}

// watch shows events until ctx ends. Up to seen only those are shown that stream.
func (a *app) watch(ctx context.Context, t *target, opts api.WatchOptions, head string, seen int64, noFollow bool) error {
	l := newLive(a.out, a.style(), head)
	if seen > 0 {
		heads, err := t.ListHeads(ctx, api.SessionOptions{SessionID: opts.SessionID})
		if err != nil {
			return err
		}
		for _, h := range heads {
			l.join(h.Run)
		}
	}
	if !a.json && !noFollow {
		if _, err := fmt.Fprintln(a.err, a.style().dim(fmt.Sprintf("Watching session %s. Ctrl-C ends it.", opts.SessionID))); err != nil {
			return err
		}
	}
	for e, err := range t.Watch(ctx, opts) {
		if err != nil {
			return err
		}
		if e.Seq <= seen && !streams(e.Body) {
			continue
		}
		if a.json {
			err = emit(a.out, e)
		} else {
			err = l.show(e)
		}
		if err != nil {
			return err
		}
		if _, ok := e.Body.(api.SyncedEvent); ok && noFollow {
			break
		}
	}
	l.end()
	return l.err
}
