package main

import (
	"context"
	"errors"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// line does what was typed. What is refused is shown, and the chat goes on.
func (c *chat) line(ctx context.Context, line string) error {
	err := c.do(ctx, line)
	if err == nil || errors.Is(err, errEnough) || ctx.Err() != nil {
		return err
	}
	code, text, hint := c.app.explain(ctx, err)
	if code == exitUnavailable || errors.Is(err, api.ErrSessionNotFound) || c.live.err != nil {
		return err
	}
	if text != "" {
		c.live.line(c.app.style().red("! " + text))
	}
	if hint != "" {
		c.live.line(c.app.style().dim("  " + hint))
	}
	return nil
}

func (c *chat) do(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if !strings.HasPrefix(word, "/") {
		if len(c.asked) > 0 {
			return c.answer(ctx, line)
		}
		return c.send(ctx, "", line, c.patient)
	}
	switch word {
	case "/say":
		return c.send(ctx, "", rest, false)
	case "/steer", "/queue":
		return c.send(ctx, word[1:], rest, false)
	case "/quit", "/exit":
		return errEnough
	case "/help":
		c.live.line(chatHelp)
		return c.live.err
	}
	return c.command(ctx, word, rest)
}

// command does what works on the session rather than in the conversation.
func (c *chat) command(ctx context.Context, word, rest string) error {
	c.live.end()
	a, opts := c.app, api.HeadOptions{SessionID: c.app.sessionID(), Head: c.head}
	switch word {
	case "/pending":
		items, err := c.t.Pending(ctx, opts)
		if err != nil {
			return err
		}
		return a.writePending(items)
	case "/cancel":
		change, err := a.pendingChange(ctx, c.t, c.head, rest)
		if err != nil {
			return err
		}
		return a.cancel(ctx, c.t, c.head, change)
	case "/abort":
		out, err := c.t.Abort(ctx, api.AbortOptions{SessionID: opts.SessionID, Head: c.head, Actor: a.actor()})
		if err != nil {
			return err
		}
		if _, idle := out.(api.NotRunning); idle {
			c.live.line(a.style().dim("There is no live run."))
		}
		return c.live.err
	case "/heads":
		heads, err := c.t.ListHeads(ctx, api.SessionOptions{SessionID: opts.SessionID})
		if err != nil {
			return err
		}
		return a.writeHeads(heads)
	case "/move":
		to, err := a.expected(ctx, c.t, rest)
		if err != nil {
			return err
		}
		out, err := c.t.MoveHead(ctx, api.MoveHeadOptions{SessionID: opts.SessionID, Head: c.head, To: to, Actor: a.actor()})
		if err != nil {
			return err
		}
		return a.moved(out, c.head)
	}
	return usage("there is no command %s; /help lists them", oneLine(word, 40))
}

func (c *chat) send(ctx context.Context, lane, text string, await bool) error {
	if text == "" {
		return usage("say what to send, for example /queue and then look at this")
	}
	out, err := c.t.Send(ctx, api.SendOptions{
		SessionID: c.app.sessionID(), Head: c.head, Lane: lane, Content: api.Text(text).Clean(), Actor: c.app.actor(),
	})
	if err != nil {
		return err
	}
	change, _ := received(out)
	c.live.mine[change] = c.app.typed // what was typed is on the screen already
	if await {
		c.awaited = &follower{change: change, head: c.head}
	}
	return nil
}

// answer answers the first question that waits.
func (c *chat) answer(ctx context.Context, line string) error {
	p := c.asked[0]
	reply, err := parseAnswer(*p.Selection, line)
	if err != nil {
		c.live.line(c.app.style().dim("  /say sends a message without answering"))
		return err
	}
	raw, err := replyJSON(reply)
	if err != nil {
		return err
	}
	out, err := c.t.Reply(ctx, api.ReplyOptions{
		SessionID: c.app.sessionID(), RunID: p.RunID, CallID: p.CallID, WaitID: p.WaitID, Reply: raw, Actor: c.app.actor(),
	})
	if err != nil {
		return err
	}
	switch out.(type) {
	case api.Signalled:
		c.forget(p.CallID)
		if c.patient && len(c.asked) == 0 {
			c.awaited = &follower{head: c.head, landed: true}
		}
	case api.NotWaiting, api.NotFound:
		c.forget(p.CallID)
		c.live.line(c.app.style().dim("It was answered already, or its time is over."))
	}
	return c.live.err
}
