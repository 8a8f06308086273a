package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

const chatHelp = `  text            send it (or answer the question above, by number or in own words)
  /say text       send it, also while a question waits
  /steer text     send it to the lane steer: it lands at the next boundary
  /queue text     send it to the lane queue: it lands when no run is live
  /pending        list what has not landed; /cancel n withdraws one
  /abort          stop the run
  /heads          list heads; /move commit moves this one
  /help, /quit    Ctrl-D quits too; runs go on without you when a server runs them`

// turnsShown is how much of the conversation a chat begins with.
const turnsShown = 5

func (a *app) chatCommand() *cobra.Command {
	var head, fresh string
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk in a session, line by line",
		Long: `Chat shows a conversation live and sends what is typed. Others may write in it at the same time; their messages appear as
they come. Without a server this process runs the session while it is open.

When stdin is not a terminal, every line waits until the one before it is answered, and the end of stdin ends the chat.

` + chatHelp,
		Example: `  stepwell chat
  stepwell chat --new="Holiday plans"
  printf 'ask\n2\n' | stepwell chat`,
		Args: cobra.NoArgs,
	}
	a.headFlag(c, &head)
	c.Flags().StringVar(&fresh, "new", "", "make a new session, with this name if one is given as --new=name")
	c.Flags().Lookup("new").NoOptDefVal = " "
	c.RunE = a.do(func(ctx context.Context, _ []string) error {
		return a.with(ctx, mayMake, func(t *target) error {
			id, err := a.ensureSession(ctx, t, fresh != "", strings.TrimSpace(fresh))
			if err != nil {
				return err
			}
			a.session = string(id)
			return (&chat{app: a, t: t, head: firstOf(head, defaultHead), patient: !a.typed}).run(ctx)
		})
	})
	return c
}

// A chat is one conversation on a terminal. All its state belongs to the one loop.
type chat struct {
	app  *app
	t    *target
	head string

	// patient chats take a line only when the one before has come to its end; they are for scripts.
	patient bool
	live    *live
	asked   []api.ParkedCall // questions that wait, in order
	awaited *follower        // what a patient chat waits for; nil: nothing
}

var errEnough = errors.New("the chat is over")

func (c *chat) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := c.app.sessionID()
	snap, err := c.t.Snapshot(ctx, api.HeadOptions{SessionID: id, Head: c.head})
	if err != nil {
		return err
	}
	start, err := answerStart(ctx, c.t, snap)
	if err != nil {
		return err
	}
	c.live = newLive(c.app.out, c.app.style(), c.head)
	c.live.join(snap.Run)
	if err := c.greet(snap); err != nil {
		return err
	}
	if c.t.direct() {
		if err := c.t.host.Attach(ctx, id); err != nil {
			return err
		}
	}
	items := feed(ctx, c.t, api.WatchOptions{SessionID: id, AfterSeq: &start})
	err = c.loop(ctx, items, c.lines(ctx), snap.Seq)
	c.live.end()
	if errors.Is(err, errEnough) {
		return c.live.err
	}
	return err
}

// lines reads stdin until it ends.
func (c *chat) lines(ctx context.Context) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(c.app.in)
		scanner.Buffer(make([]byte, 0, 64<<10), api.MaxText)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

func (c *chat) loop(ctx context.Context, items <-chan feedItem, lines <-chan string, seen int64) error {
	for {
		ready := lines
		if c.awaited != nil {
			ready = nil
		}
		select {
		case it, ok := <-items:
			if !ok {
				if ctx.Err() != nil {
					return errEnough // Ctrl-C
				}
				return errors.New("the feed ended")
			}
			if it.err != nil {
				return it.err
			}
			if err := c.event(it.event, seen); err != nil {
				return err
			}
		case line, ok := <-ready:
			if !ok {
				return errEnough
			}
			if err := c.line(ctx, strings.TrimSpace(line)); err != nil {
				return err
			}
		}
	}
}

// event shows what happens, and keeps the questions that wait.
func (c *chat) event(e api.Event, seen int64) error {
	if e.Seq <= seen && !streams(e.Body) {
		return nil
	}
	if err := c.live.show(e); err != nil {
		return err
	}
	if b, ok := e.Body.(api.EffectEvent); ok && !c.live.hidden(c.live.heads[b.RunID]) {
		c.forget(b.CallID)
		if b.State == api.EffectWaiting && b.Selection != nil {
			c.asked = append(c.asked, parkedCall(b))
			c.awaited = nil
		}
	}
	if c.awaited != nil && c.awaited.see(e.Body) != underWay {
		c.awaited = nil
	}
	return nil
}

func (c *chat) forget(call string) {
	kept := c.asked[:0]
	for _, p := range c.asked {
		if p.CallID != call {
			kept = append(kept, p)
		}
	}
	c.asked = kept
}

func (c *chat) greet(snap api.Snapshot) error {
	st := c.app.style()
	name := string(snap.Session.SessionID)
	if snap.Session.Name != "" {
		name += " (" + oneLine(snap.Session.Name, 60) + ")"
	}
	where := "the server at " + c.t.url
	if c.t.direct() {
		where = "this process, while it is open; `stepwell serve` would go on without you"
	}
	c.live.line(st.dim(fmt.Sprintf("Session %s, head %s, run by %s. /help lists commands.", name, c.head, where)))
	items := snap.Transcript
	if len(items) > turnsShown {
		items = items[len(items)-turnsShown:]
		c.live.line(st.dim("(older: stepwell log)"))
	}
	if err := writeTranscript(c.app.out, st, items); err != nil {
		return err
	}
	if len(snap.Pending) > 0 {
		c.live.line(st.dim("Pending:"))
		if err := c.app.writePending(snap.Pending); err != nil {
			return err
		}
	}
	for _, p := range snap.Parked {
		if p.Selection != nil {
			c.asked = append(c.asked, p)
		}
		if err := writeQuestion(c.app.out, st, p); err != nil {
			return err
		}
	}
	return c.live.err
}
