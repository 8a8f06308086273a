package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// DefaultEventPage is how many events a page of the feed has when no limit is given.
const DefaultEventPage = api.MaxPage

// An EventPage is a page of the feed.
type EventPage struct {
	Events []api.Event `json:"events"`
	// Next is the cursor of the next page.
	Next int64 `json:"next"`
	// Synced says that there was nothing more to replay.
	Synced bool `json:"synced"`
}

type pollOptions struct {
	limit int
	wait  time.Duration
}

// poll answers with the events that are there after the cursor; when there are none, with the first that come within the
// wait, or none. A page never splits the events of one seq, so it may exceed its limit by some.
func (h *Handler) poll(w http.ResponseWriter, r *http.Request, o api.WatchOptions, p pollOptions) error {
	if p.limit == 0 {
		p.limit = DefaultEventPage
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	arrivals := pump(ctx, h.svc.Watch(ctx, o))
	page := EventPage{Events: []api.Event{}}
	if o.AfterSeq != nil {
		page.Next = *o.AfterSeq
	}
	var wait <-chan time.Time
	more := false // in the middle of a seq
	for {
		select {
		case a, ok := <-arrivals:
			if !ok {
				return outcome(w, page)
			}
			if a.err != nil {
				// What was read before the error is good; the next request meets the error again.
				if len(page.Events) > 0 && !more {
					return outcome(w, page)
				}
				return a.err
			}
			if !a.event.Durable() {
				page.Synced, page.Next = true, max(page.Next, a.event.Seq)
				if len(page.Events) > 0 || p.wait == 0 {
					return outcome(w, page)
				}
				t := time.NewTimer(p.wait)
				defer t.Stop()
				wait = t.C
				continue
			}
			page.Events = append(page.Events, a.event)
			more = a.event.More
			if more {
				continue
			}
			page.Next = a.event.Seq
			if page.Synced || len(page.Events) >= p.limit {
				return outcome(w, page)
			}
		case <-wait:
			if !more {
				return outcome(w, page)
			}
		case <-h.closed:
			if !more {
				return outcome(w, page)
			}
			return api.ErrUnavailable
		case <-ctx.Done():
			return nil
		}
	}
}
