package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

type sendFlags struct {
	head, lane, key, agent, fresh string
	isNew, wait, run              bool
	timeout                       time.Duration
}

func (a *app) sendCommand() *cobra.Command {
	var o sendFlags
	c := &cobra.Command{
		Use:   "send [text...]",
		Short: "Send a message",
		Long: `Send submits a message and prints its receipt, which proves that it is durable. It does not wait for an answer unless
--wait is given; then it shows what happens until the message is answered. Without text, or with "-", it reads stdin.

A server answers. Without one, --run answers in this process until there is nothing left to do.`,
		Example: `  stepwell send "hello"
  stepwell send --wait --lane queue "when you are done with that, look at this"
  git diff | stepwell send --new=review --wait --run -`,
		RunE: a.do(func(ctx context.Context, args []string) error { return a.send(ctx, o, args) }),
	}
	f := c.Flags()
	f.StringVar(&o.head, "head", "", "head of the session (default main)")
	f.StringVarP(&o.lane, "lane", "l", "", "lane, such as steer or queue (default the first one); see: stepwell help lanes")
	f.StringVarP(&o.key, "key", "k", "", "submission key: sending again under the same key changes nothing")
	f.StringVar(&o.agent, "agent", "", "agent that answers from here on")
	f.StringVar(&o.fresh, "new", "", "make a new session, with this name if one is given as --new=name")
	f.Lookup("new").NoOptDefVal = " "
	f.BoolVarP(&o.wait, "wait", "w", false, "show the answer as it comes, and end when it is whole")
	f.BoolVar(&o.wait, "watch", false, "the same as --wait")
	f.BoolVar(&o.run, "run", false, "without a server: answer in this process; implies --wait")
	f.DurationVar(&o.timeout, "timeout", 0, "with --wait: give up waiting after this long, such as 30s; the run goes on")
	_ = c.RegisterFlagCompletionFunc("head", a.completeHeads)
	_ = c.RegisterFlagCompletionFunc("lane", a.completeLanes)
	c.PreRun = func(*cobra.Command, []string) { o.isNew = o.fresh != "" }
	return c
}

func (a *app) send(ctx context.Context, o sendFlags, args []string) error {
	text, err := a.text(args)
	if err != nil {
		return err
	}
	return a.with(ctx, mayMake, func(t *target) error {
		if o.wait && t.alone() && !o.run {
			return usage("no server runs the store %s, so nothing would answer: add --run to answer here, or start `stepwell serve`", t.store)
		}
		o.wait = o.wait || o.run
		id, err := a.ensureSession(ctx, t, o.isNew, strings.TrimSpace(o.fresh))
		if err != nil {
			return err
		}
		opts := api.SendOptions{
			SessionID: id, Head: o.head, Lane: o.lane, Content: api.Text(text).Clean(), Key: o.key, Agent: o.agent, Actor: a.actor(),
		}
		if !o.wait {
			return a.submit(ctx, t, opts, o.isNew)
		}
		bounded, cancel := within(ctx, o.timeout)
		defer cancel()
		return a.converse(bounded, t, opts, o.run)
	})
}

// within bounds ctx unless d is 0.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// text returns what args say, or stdin.
func (a *app) text(args []string) (string, error) {
	if len(args) == 0 && a.typed {
		return "", usage("what should be sent? Give a text, or - to read it from stdin")
	}
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		data, err := io.ReadAll(io.LimitReader(a.in, api.MaxText+1))
		if err != nil {
			return "", fmt.Errorf("reading stdin: %w", err)
		}
		args = []string{strings.TrimRight(string(data), "\n")}
	}
	text := strings.Join(args, " ")
	if strings.TrimSpace(text) == "" {
		return "", usage("the message is empty: give a text, or - to read it from stdin")
	}
	return text, nil
}

type receipt struct {
	Session api.SessionID   `json:"session"`
	Receipt api.SendReceipt `json:"receipt"`
	Running bool            `json:"running"` // a server runs the store
}

// submit sends and prints the receipt.
func (a *app) submit(ctx context.Context, t *target, opts api.SendOptions, isNew bool) error {
	out, err := t.Send(ctx, opts)
	if err != nil {
		return err
	}
	if a.json {
		return emit(a.out, receipt{Session: opts.SessionID, Receipt: out, Running: !t.direct()})
	}
	change, word := received(out)
	if isNew {
		if _, err := fmt.Fprintf(a.out, "session %s\n", opts.SessionID); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(a.out, "%s %s\n", word, change); err != nil {
		return err
	}
	switch {
	case t.alone():
		_, err = fmt.Fprintf(a.err, "The message is durable in %s. No server runs that store: start `stepwell serve`, or send with --run.\n", t.store)
	case t.direct():
		_, err = fmt.Fprintf(a.err, "The message is durable in %s. Whoever runs that store answers it.\n", t.store)
	}
	return err
}

func received(out api.SendReceipt) (object.OID, string) {
	switch out := out.(type) {
	case api.Queued:
		return out.Change, "queued"
	case api.Duplicate:
		return out.Change, "duplicate"
	}
	return object.OID{}, ""
}

// converse sends and shows what happens until the message is answered.
func (a *app) converse(ctx context.Context, t *target, opts api.SendOptions, run bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	items := feed(ctx, t, api.WatchOptions{SessionID: opts.SessionID, Live: true})
	if err := synced(ctx, items); err != nil {
		return err
	}
	out, err := t.Send(ctx, opts)
	if err != nil {
		return err
	}
	change, word := received(out)
	if a.json {
		err = emit(a.out, receipt{Session: opts.SessionID, Receipt: out, Running: !t.direct()})
	} else {
		_, err = fmt.Fprintf(a.err, "%s %s in session %s\n", word, change.Short(), opts.SessionID)
	}
	if err != nil {
		return err
	}
	if _, dup := out.(api.Duplicate); dup {
		still, err := pending(ctx, t, opts, change)
		if err != nil || !still {
			return err
		}
	}
	if run && t.direct() {
		if err := t.host.Attach(ctx, opts.SessionID); err != nil {
			return err
		}
	}
	head := firstOf(opts.Head, defaultHead)
	end, err := a.untilAnswered(ctx, items, &follower{change: change, head: head})
	if err != nil {
		return err
	}
	if run && t.direct() {
		// What else is pending is this process's too.
		if _, err := t.WaitRun(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: opts.Head}); err != nil {
			return err
		}
	}
	return endError(end)
}

// synced waits until the feed is live, so that nothing that is sent now is missed.
func synced(ctx context.Context, items <-chan feedItem) error {
	for it := range items {
		if it.err != nil {
			return it.err
		}
		if _, ok := it.event.Body.(api.SyncedEvent); ok {
			return nil
		}
	}
	return firstError(context.Cause(ctx), errors.New("the feed ended"))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func pending(ctx context.Context, t *target, opts api.SendOptions, change object.OID) (bool, error) {
	items, err := t.Pending(ctx, api.HeadOptions{SessionID: opts.SessionID, Head: opts.Head})
	for _, it := range items {
		if it.Change == change {
			return true, err
		}
	}
	return false, err
}

// untilAnswered shows events until the change has come to an end.
func (a *app) untilAnswered(ctx context.Context, items <-chan feedItem, f *follower) (ending, error) {
	l := newLive(a.out, a.style(), f.head)
	l.mine[f.change] = true
	for it := range items {
		if it.err != nil {
			return underWay, it.err
		}
		end := f.see(it.event.Body)
		var err error
		if a.json {
			err = emit(a.out, it.event)
		} else if f.landed { // what came before belongs to what others said
			err = l.show(it.event)
			if w, ok := it.event.Body.(api.EffectEvent); ok && w.State == api.EffectWaiting && w.Selection != nil && err == nil {
				_, err = fmt.Fprintln(a.out, a.style().dim("  from any terminal: stepwell reply 1"))
			}
		}
		if err != nil {
			return underWay, err
		}
		if end != underWay {
			l.end()
			return end, l.err
		}
	}
	l.end()
	return underWay, firstError(context.Cause(ctx), errors.New("the feed ended before there was an answer"))
}

// endError gives an ending its exit code.
func endError(e ending) error {
	switch e {
	case answered:
		return nil
	case aborted:
		return &codeError{code: exitConflict, text: "the run was aborted before it answered"}
	case failed:
		return &codeError{code: exitConflict, text: "the run failed", hint: "send again to try again, or see `stepwell log`"}
	case withdrawn:
		return &codeError{code: exitConflict, text: "the message was cancelled, or replaced by another"}
	case underWay:
	}
	return nil
}
