package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/sse"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

// waitRound is how long one request of [Client.WaitRun] waits.
const waitRound = 20 * time.Second

// WaitRun blocks until the head is idle, or its run waits. It asks again when the server's time for one request is over.
func (c *Client) WaitRun(ctx context.Context, o api.HeadOptions) (api.WaitOutcome, error) {
	b := backoff{first: c.opts.Backoff, most: c.opts.MaxBackoff}
	query := params("head", o.Head, "timeout", strconv.Itoa(int(waitRound/time.Second)))
	for {
		out, err := ask[api.WaitOutcome](ctx, c, o, get(session(o.SessionID, "runs", "wait"), query))
		if !errors.Is(err, api.ErrDeadline) {
			return out, err
		}
		if !b.pause(ctx, 0) {
			return nil, context.Cause(ctx)
		}
	}
}

// Watch yields a session's events as one unbroken feed: when the connection breaks it comes back with its cursor and skips
// what it has yielded already. A first connection that fails is an error; later ones are tried until ctx ends.
func (c *Client) Watch(ctx context.Context, o api.WatchOptions) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if err := o.Validate(); err != nil {
			yield(api.Event{}, err)
			return
		}
		w := &watcher{c: c, opts: o, cursor: o.AfterSeq, backoff: backoff{first: c.opts.Backoff, most: c.opts.MaxBackoff}}
		for {
			err := w.connect(ctx, yield)
			switch {
			case errors.Is(err, errStopped), ctx.Err() != nil:
				return
			case errors.Is(err, errPlanned):
				w.backoff.reset()
			case err != nil && (!w.opened || !temporary(err)):
				yield(api.Event{}, err)
				return
			}
			var e *Error
			least := time.Duration(0)
			if errors.As(err, &e) {
				least = e.RetryAfter
			}
			if !w.backoff.pause(ctx, least) {
				return
			}
		}
	}
}

var (
	errStopped = errors.New("the reader stopped")
	errPlanned = errors.New("the server asked to come back")
	errSilent  = errors.New("the server does not answer")
)

// temporary reports whether coming back may help: it does for everything but a definite answer.
func temporary(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Temporary()
	}
	var bad *badEventError
	return !errors.As(err, &bad)
}

// A badEventError is an event that cannot be read. Reading it again would not help.
type badEventError struct{ err error }

func (e *badEventError) Error() string { return "reading an event: " + e.err.Error() }
func (e *badEventError) Unwrap() error { return e.err }

// A watcher is one Watch over its connections.
type watcher struct {
	c       *Client
	opts    api.WatchOptions
	backoff backoff

	cursor  *int64 // everything up to here has been yielded
	part    int64  // the seq of which some events have been yielded, but not the last
	partLen int    // how many
	opened  bool
	synced  bool
}

// connect follows one connection until it ends. Nil means that it broke.
func (w *watcher) connect(ctx context.Context, yield func(api.Event, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	query := params()
	switch {
	case w.cursor != nil && w.opened:
		header.Set("Last-Event-ID", strconv.FormatInt(*w.cursor, 10))
	case w.cursor != nil:
		query.Set("after", strconv.FormatInt(*w.cursor, 10))
	case w.opts.Live:
		query.Set("live", "true")
	}
	idle := time.AfterFunc(w.c.opts.Idle, func() { cancel(errSilent) })
	defer idle.Stop()
	q := get(session(w.opts.SessionID, "events"), query)
	q.header = header
	resp, err := w.c.do(ctx, q)
	if err != nil {
		if context.Cause(ctx) == errSilent { //nolint:errorlint // the sentinel itself was given
			err = errSilent
		}
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it is left behind
	w.opened = true
	skip := w.partLen // of the seq part, which comes again from its start
	r := sse.NewReader(&alive{resp.Body, func() { idle.Reset(w.c.opts.Idle) }})
	for {
		frame, err := r.Next()
		if err != nil {
			return nil // however it broke, coming back is the answer
		}
		if err := control(frame); err != nil {
			return err
		}
		var e api.Event
		if err := api.Unmarshal([]byte(frame.Data), &e); err != nil {
			return &badEventError{err}
		}
		if w.cursor != nil && e.Durable() && e.Seq <= *w.cursor {
			continue
		}
		if skip > 0 && e.Durable() && e.Seq == w.part {
			skip--
			continue
		}
		if e.Durable() || !w.synced {
			if !yield(e, nil) {
				return errStopped
			}
		}
		w.backoff.reset()
		w.move(e)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// move takes note that e was yielded.
func (w *watcher) move(e api.Event) {
	switch {
	case !e.Durable():
		// All up to its seq has been replayed, or was not asked for.
		w.synced = true
		if w.cursor == nil || *w.cursor < e.Seq {
			w.cursor = &e.Seq
		}
	case !e.More:
		w.cursor, w.partLen = &e.Seq, 0
	case w.part == e.Seq:
		w.partLen++
	default:
		w.part, w.partLen = e.Seq, 1
	}
}

// control reads the events that belong to the transport.
func control(frame sse.Event) error {
	switch frame.Event {
	case "reconnect":
		return errPlanned
	case "cursor_expired", "problem":
		var p problem
		if err := json.Unmarshal([]byte(frame.Data), &p); err != nil {
			return &badEventError{fmt.Errorf("%s: %w", frame.Event, err)}
		}
		if frame.Event == "cursor_expired" {
			p.Status, p.Code = http.StatusGone, "cursor-expired"
			p.Detail = (&api.CursorExpiredError{Floor: p.Floor}).Error()
		}
		return p.err()
	}
	return nil
}

// alive calls heard for every read that brings something.
type alive struct {
	r     io.Reader
	heard func()
}

func (a *alive) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if n > 0 {
		a.heard()
	}
	return n, err
}
