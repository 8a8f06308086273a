package sqlitestore

import (
	"context"
	"iter"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A hub tells watches how far the streams have come. A watch subscribes before its first read; so what was committed
// before is in that read, and what comes later raises the mark that the watch compares its cursor with. No wake is lost.
type hub struct {
	mu       sync.Mutex
	streams  map[int64]*stream // of the sessions being watched
	newest   int64             // the newest session key heard of
	sessions chan struct{}     // closed when newest rises
}

type stream struct {
	watches int
	last    store.Seq
	gone    bool
	changed chan struct{} // closed when last or gone changes
}

func newHub() *hub {
	return &hub{streams: make(map[int64]*stream), sessions: make(chan struct{})}
}

func (h *hub) subscribe(session int64) (unsubscribe func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.streams[session]
	if !ok {
		s = &stream{changed: make(chan struct{})}
		h.streams[session] = s
	}
	s.watches++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.watches--; s.watches == 0 {
			delete(h.streams, session)
		}
	}
}

// after returns nil when the stream of a subscribed session may have grown past seq, else what will be closed then.
func (h *hub) after(session int64, seq store.Seq) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[session]
	if s.last > seq || s.gone {
		return nil
	}
	return s.changed
}

func (h *hub) advance(session int64, last store.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.streams[session]; ok && last > s.last {
		s.last = last
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (h *hub) vanish(session int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.streams[session]; ok && !s.gone {
		s.gone = true
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (h *hub) appear(session int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if session > h.newest {
		h.newest = session
		close(h.sessions)
		h.sessions = make(chan struct{})
	}
}

// nextSession returns what will be closed when a session appears. Take it before looking.
func (h *hub) nextSession() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions
}

// watched returns the sessions being watched.
func (h *hub) watched() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := make([]int64, 0, len(h.streams))
	for key := range h.streams {
		keys = append(keys, key)
	}
	return keys
}

// WatchEvents implements [store.EventReader]. Commits of this Store wake it directly, those of others through the file system.
func (s *session) WatchEvents(ctx context.Context, after store.Seq) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		if err := s.ready(ctx); err != nil {
			if ctx.Err() == nil {
				yield(store.Event{}, err)
			}
			return
		}
		s.store.listener.start()
		defer s.store.hub.subscribe(s.key)()
		store.Follow(ctx, s, after, s.wait)(yield)
	}
}

func (s *session) wait(ctx context.Context, after store.Seq) error {
	changed := s.store.hub.after(s.key, after)
	if changed == nil {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-s.closed:
		return store.ErrClosed
	case <-s.store.closed:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
