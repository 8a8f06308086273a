package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

type replyFlags struct {
	head, call, wait, other, raw string
	picks                        []string
}

func (a *app) replyCommand() *cobra.Command {
	var o replyFlags
	c := &cobra.Command{
		Use:   "reply [answer...]",
		Short: "Answer a question that a run waits for, or list them",
		Long: `Reply answers a parked call. Without an answer it lists what waits. An answer is a number, the id of a choice, several of
them with commas, or own words where the question takes them; --pick, --other and --raw say which it is. When several
calls wait, --call says which is meant. Of several replies to one question one wins.`,
		Example: `  stepwell reply
  stepwell reply 2
  stepwell reply --call call_1_1 --other "something between green and blue"`,
	}
	f := c.Flags()
	f.StringVar(&o.head, "head", "", "only calls of this head (default all)")
	f.StringVar(&o.call, "call", "", "id of the call")
	f.StringVar(&o.wait, "wait-id", "", "id of the wait, to be exact: an answer to an earlier question is then refused")
	f.StringArrayVar(&o.picks, "pick", nil, "id or number of a choice; repeat it for several")
	f.StringVar(&o.other, "other", "", "own words")
	f.StringVar(&o.raw, "raw", "", "the reply as JSON, for calls that ask nothing")
	c.MarkFlagsMutuallyExclusive("raw", "pick")
	c.MarkFlagsMutuallyExclusive("raw", "other")
	_ = c.RegisterFlagCompletionFunc("head", a.completeHeads)
	c.RunE = a.do(a.on(func(ctx context.Context, t *target, args []string) error {
		calls, err := a.parkedCalls(ctx, t, o.head)
		if err != nil {
			return err
		}
		text := strings.Join(args, " ")
		if text != "" && (o.raw != "" || o.other != "" || len(o.picks) > 0) {
			return usage("give the answer as an argument or by --pick, --other or --raw, not both")
		}
		if text == "" && o.raw == "" && o.other == "" && len(o.picks) == 0 {
			return a.listParked(calls)
		}
		return a.reply(ctx, t, o, calls, text)
	}))
	return c
}

// parkedCalls returns the parked calls of a head or of all.
func (a *app) parkedCalls(ctx context.Context, t *target, head string) ([]api.ParkedCall, error) {
	heads := []api.HeadInfo{{Head: head}}
	if head == "" {
		var err error
		if heads, err = t.ListHeads(ctx, api.SessionOptions{SessionID: a.sessionID()}); err != nil {
			return nil, err
		}
	}
	calls := []api.ParkedCall{}
	for _, h := range heads {
		if head == "" && (h.Run == nil || object.Terminal(h.Run.Phase)) {
			continue
		}
		snap, err := t.Snapshot(ctx, api.HeadOptions{SessionID: a.sessionID(), Head: h.Head})
		if err != nil {
			return nil, err
		}
		calls = append(calls, snap.Parked...)
	}
	return calls, nil
}

func (a *app) listParked(calls []api.ParkedCall) error {
	if a.json {
		return emit(a.out, struct {
			Parked []api.ParkedCall `json:"parked"`
		}{calls})
	}
	if len(calls) == 0 {
		_, err := fmt.Fprintln(a.out, "Nothing waits for an answer.")
		return err
	}
	for _, p := range calls {
		if err := writeQuestion(a.out, a.style(), p); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.out, a.style().dim(fmt.Sprintf("  --call %s --wait-id %s", oneLine(p.CallID, 200), p.WaitID))); err != nil {
			return err
		}
	}
	return nil
}

// reply answers the call that is meant.
func (a *app) reply(ctx context.Context, t *target, o replyFlags, calls []api.ParkedCall, text string) error {
	p, err := choose(calls, o)
	if err != nil {
		return err
	}
	opts := api.ReplyOptions{SessionID: a.sessionID(), RunID: p.RunID, CallID: p.CallID, WaitID: p.WaitID, Actor: a.actor()}
	if o.wait != "" {
		if opts.WaitID, err = object.ParseOID(o.wait); err != nil {
			return usage("--wait-id: %w", err)
		}
	}
	if opts.Reply, err = answer(p, o, text); err != nil {
		return err
	}
	out, err := t.Reply(ctx, opts)
	if err != nil {
		return err
	}
	return a.replied(out, t.direct())
}

func (a *app) replied(out api.ReplyOutcome, direct bool) error {
	switch out.(type) {
	case api.Signalled:
		if direct && !a.json {
			_, _ = fmt.Fprintln(a.err, "The reply is durable. The run goes on as soon as a process runs this store.")
		}
		return a.outcome(out, exitOK, "signalled: the run goes on")
	case api.NotWaiting:
		return a.outcome(out, exitConflict, "not_waiting: it was answered already, or its time is over")
	case api.NotFound:
		return a.outcome(out, exitNotFound, "not_found: there is no such call")
	}
	return errors.New("unreachable")
}

// choose returns the call that flags mean: the one that is named, or the only one that asks.
func choose(calls []api.ParkedCall, o replyFlags) (api.ParkedCall, error) {
	var asks []api.ParkedCall
	for _, p := range calls {
		if o.call == p.CallID {
			return p, nil
		}
		if p.Selection != nil || o.raw != "" {
			asks = append(asks, p)
		}
	}
	switch {
	case o.call != "":
		return api.ParkedCall{}, &codeError{code: exitNotFound, text: "no call " + oneLine(o.call, 100) + " waits", hint: "`stepwell reply` lists what waits"}
	case len(asks) == 0:
		return api.ParkedCall{}, &codeError{code: exitConflict, text: "nothing waits for an answer", hint: "`stepwell watch` shows what happens"}
	case len(asks) > 1:
		return api.ParkedCall{}, usage("%d calls wait: say which with --call; `stepwell reply` lists them", len(asks))
	}
	return asks[0], nil
}

// answer returns the JSON that answers p.
func answer(p api.ParkedCall, o replyFlags, text string) (jsontext.Value, error) {
	if o.raw != "" {
		raw := jsontext.Value(o.raw)
		if !raw.IsValid() {
			return nil, usage("--raw is not valid JSON; own words go into --other")
		}
		return raw, nil
	}
	if p.Selection == nil {
		return nil, usage("the call %s asks nothing: only --raw fits it", oneLine(p.CallID, 100))
	}
	if text != "" {
		r, err := parseAnswer(*p.Selection, text)
		if err != nil {
			return nil, err
		}
		return replyJSON(r)
	}
	r := message.SelectionReply{Picked: []string{}, Other: o.other}
	for _, pick := range o.picks {
		id, ok := choice(*p.Selection, pick)
		if !ok {
			return nil, usage("--pick %q is none of the choices; `stepwell reply` lists them", oneLine(pick, 100))
		}
		r.Picked = append(r.Picked, id)
	}
	if err := checkReply(*p.Selection, r); err != nil {
		return nil, err
	}
	return replyJSON(r)
}
