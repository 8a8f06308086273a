package httpapi

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// events serves the feed as server-sent events, or as one page for ?wait, ?limit or Accept: application/json.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r, "after", "live", "named", "wait", "limit")
	o := api.WatchOptions{SessionID: api.SessionID(r.PathValue("id")), Live: q.boolean("live", false)}
	if after, given := q.integer("after"); given {
		o.AfterSeq = &after
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		// A browser repeats its first URL when it comes back, so the header overrules both after and live.
		seq, err := strconv.ParseInt(id, 10, 53)
		if err != nil {
			return api.Invalid("/Last-Event-ID", "%q is not a sequence number", id)
		}
		o.AfterSeq, o.Live = &seq, false
	}
	named := q.boolean("named", true)
	page := wantsPage(r)
	p := pollOptions{limit: q.limit()}
	if seconds, given := q.integer("wait"); given {
		p.wait = h.bounded(q, "wait", seconds)
	}
	if err := firstError(q.err, o.Validate()); err != nil {
		return err
	}
	if page {
		return h.poll(w, r, o, p)
	}
	return h.stream(w, r, o, named)
}

func wantsPage(r *http.Request) bool {
	values := r.URL.Query()
	if values.Has("wait") || values.Has("limit") {
		return true
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// An arrival is what a watch yields.
type arrival struct {
	event api.Event
	err   error
}

// pump runs a watch on its own goroutine, which ends with ctx. The channel holds nothing, so that a slow client slows the
// watch and costs no memory; it is closed when the watch ends.
func pump(ctx context.Context, watch iter.Seq2[api.Event, error]) <-chan arrival {
	ch := make(chan arrival)
	go func() {
		defer close(ch)
		send := func(a arrival) bool {
			select {
			case ch <- a:
				return true
			case <-ctx.Done():
				return false
			}
		}
		defer func() {
			if p := recover(); p != nil { // this goroutine is outside of the request's own recovery
				send(arrival{err: fmt.Errorf("panic in watch: %v\n%s", p, debug.Stack())})
			}
		}()
		for event, err := range watch {
			if !send(arrival{event, err}) {
				return
			}
		}
	}()
	return ch
}
