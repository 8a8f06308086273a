package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// maxCoalesced is how many bytes of deltas are gathered into one event.
const maxCoalesced = 2 << 10

// An sse writes one event stream. It gathers adjacent deltas of one text, so that a fast model does not cost a write a
// token. The first failure stays in err and stops all writing.
type sse struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	named bool
	opts  Options

	held  *api.Event // a delta that may still grow
	timer *time.Timer
	seq   int64 // the last id written
	wrote bool  // since follow looked
	err   error
}

func newSSE(w http.ResponseWriter, named bool, opts Options) *sse {
	return &sse{w: w, ctl: http.NewResponseController(w), named: named, opts: opts}
}

// open sends the header and the first bytes.
func (s *sse) open() {
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	s.write([]byte(": open\nretry: " + strconv.FormatInt(s.opts.Reconnect.Milliseconds(), 10) + "\n\n"))
}

// take sends e, or holds it while it may grow.
func (s *sse) take(e api.Event) {
	if s.held != nil {
		if merged, ok := merge(*s.held, e); ok {
			s.held = &merged
			if len(delta(merged.Body)) >= maxCoalesced {
				s.flush()
			}
			return
		}
		s.flush()
	}
	if s.opts.Coalesce > 0 && !e.More && isDelta(e.Body) && len(delta(e.Body)) < maxCoalesced {
		s.held = &e
		s.timer = time.NewTimer(s.opts.Coalesce)
		return
	}
	s.event(e)
}

// due fires when what is held must go out.
func (s *sse) due() <-chan time.Time {
	if s.timer == nil {
		return nil
	}
	return s.timer.C
}

// flush sends what is held.
func (s *sse) flush() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.held != nil {
		e := *s.held
		s.held = nil
		s.event(e)
	}
}

func (s *sse) event(e api.Event) {
	data, err := api.Marshal(e)
	if err != nil {
		s.err = err
		return
	}
	var frame []byte
	// Only the last event of a seq has an id: a client that came back with an earlier one would miss the rest.
	if e.Durable() && !e.More {
		s.seq = e.Seq
		frame = append(strconv.AppendInt(append(frame, "id: "...), e.Seq, 10), '\n')
	}
	s.write(s.frame(frame, api.EventKind(e.Body), data))
}

// control sends an event of the transport. It has no id.
func (s *sse) control(kind string, v any) {
	data, err := api.Marshal(v)
	if err != nil {
		s.err = err
		return
	}
	s.write(s.frame(nil, kind, data))
}

// close leaves the connection as it was, so that the next request on it is not bound by this one's deadline.
func (s *sse) close() { _ = s.ctl.SetWriteDeadline(time.Time{}) } // not supported: there was none

func (s *sse) comment(text string) { s.write([]byte(": " + text + "\n\n")) }

func (s *sse) frame(frame []byte, kind string, data []byte) []byte {
	if s.named && plainID(kind) {
		frame = append(append(append(frame, "event: "...), kind...), '\n')
	}
	frame = append(append(frame, "data: "...), data...) // JSON has no line breaks
	return append(frame, "\n\n"...)
}

func (s *sse) write(frame []byte) {
	if s.err != nil {
		return
	}
	s.wrote = true
	// Without a deadline a client that stopped reading would hold the stream for ever.
	if err := s.ctl.SetWriteDeadline(s.opts.Now().Add(s.opts.WriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
		return
	}
	if _, err := s.w.Write(frame); err != nil {
		s.err = err
		return
	}
	if err := s.ctl.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
	}
}

// merge joins two adjacent deltas of one text under the later seq.
func merge(a, b api.Event) (api.Event, bool) {
	if b.More {
		return api.Event{}, false
	}
	if x, ok := a.Body.(api.TextDeltaEvent); ok {
		if y, ok := b.Body.(api.TextDeltaEvent); ok && x.RunID == y.RunID && x.Attempt == y.Attempt && x.Index == y.Index {
			x.Delta += y.Delta
			return api.Event{Seq: b.Seq, Body: x}, true
		}
	}
	if x, ok := a.Body.(api.ReasoningDeltaEvent); ok {
		if y, ok := b.Body.(api.ReasoningDeltaEvent); ok && x.RunID == y.RunID && x.Attempt == y.Attempt && x.Index == y.Index {
			x.Delta += y.Delta
			return api.Event{Seq: b.Seq, Body: x}, true
		}
	}
	return api.Event{}, false
}

func isDelta(b api.EventBody) bool {
	switch b.(type) {
	case api.TextDeltaEvent, api.ReasoningDeltaEvent:
		return true
	case api.CommitEvent, api.HeadMovedEvent, api.RunEvent, api.QueuedEvent, api.LandedEvent, api.QueueCancelledEvent,
		api.EffectEvent, api.StackEvent, api.FactEvent, api.DeletedEvent, api.SyncedEvent, api.ToolProgressEvent,
		api.DiagnosticEvent, api.UnknownEvent:
		return false
	}
	panic("unreachable")
}

func delta(b api.EventBody) string {
	if t, ok := b.(api.TextDeltaEvent); ok {
		return t.Delta
	}
	if t, ok := b.(api.ReasoningDeltaEvent); ok {
		return t.Delta
	}
	return ""
}
