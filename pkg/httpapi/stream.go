package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// openGrace is how long a stream waits for the first event or error before it opens. An expired cursor or a session that
// is not there shows at once and is answered with its status; a slow store must not keep proxies and phones in doubt.
const openGrace = 250 * time.Millisecond

// stream serves the feed until the client leaves, the watch ends, or the planned end.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, o api.WatchOptions, named bool) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	arrivals := pump(ctx, h.svc.Watch(ctx, o))

	var end <-chan time.Time
	if h.opts.MaxStream > 0 {
		t := time.NewTimer(h.opts.MaxStream)
		defer t.Stop()
		end = t.C
	}
	grace := time.NewTimer(openGrace)
	defer grace.Stop()
	var first *arrival
	select {
	case a, ok := <-arrivals:
		if !ok {
			return nil // the client left before anything came
		}
		if a.err != nil {
			return a.err
		}
		first = &a
	case <-grace.C:
	case <-h.closed:
	case <-ctx.Done():
		return nil
	}

	s := newSSE(w, named, h.opts)
	if o.AfterSeq != nil {
		s.seq = *o.AfterSeq
	}
	s.open()
	if first != nil {
		s.take(first.event)
	}
	h.follow(ctx, s, arrivals, end)
	s.close()
	if s.err != nil {
		h.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "stream cut", slog.String("requestId", requestID(r)), slog.Any("error", s.err))
	}
	return nil
}

// follow copies arrivals into s until one side ends. An error of s means that the client is gone.
func (h *Handler) follow(ctx context.Context, s *sse, arrivals <-chan arrival, end <-chan time.Time) {
	quiet := time.NewTimer(h.opts.KeepAlive)
	defer quiet.Stop()
	for s.err == nil {
		select {
		case a, ok := <-arrivals:
			switch {
			case !ok:
				s.flush()
				return
			case a.err != nil:
				s.flush()
				h.lastWord(ctx, s, a.err)
				return
			}
			s.take(a.event)
		case <-s.due():
			s.flush()
		case <-quiet.C:
			s.comment("keep-alive")
		case <-end:
			s.reconnect()
			return
		case <-h.closed:
			s.reconnect()
			return
		case <-ctx.Done():
			return
		}
		if s.wrote {
			s.wrote = false
			quiet.Reset(h.opts.KeepAlive)
		}
	}
}

// lastWord tells why the stream ends.
func (h *Handler) lastWord(ctx context.Context, s *sse, err error) {
	var expired *api.CursorExpiredError
	if errors.As(err, &expired) {
		s.control("cursor_expired", struct {
			Kind  string `json:"kind"`
			Floor int64  `json:"floor"`
		}{"cursor_expired", expired.Floor})
		return
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		h.opts.Logger.LogAttrs(ctx, slog.LevelError, "watch failed", slog.Any("error", err))
	}
	s.control("problem", struct {
		Kind   string `json:"kind"`
		Code   string `json:"code"`
		Status int    `json:"status"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}{"problem", p.Code, p.Status, p.Title, p.Detail})
}

// reconnect ends the stream on purpose; the client comes back with the last id.
func (s *sse) reconnect() {
	s.flush()
	s.control("reconnect", struct {
		Kind string `json:"kind"`
		Seq  int64  `json:"seq"`
	}{"reconnect", s.seq})
}
