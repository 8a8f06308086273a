package kernel

import (
	"time"

	"github.com/google/uuid"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// A Session is a conversation: a [store.Session] and the operations of participants and runners on it. It is safe for concurrent use
// and cheap; what it remembers are caches of immutable objects.
type Session struct {
	store.Session
	now      func() time.Time
	newID    func() string
	contexts *Contexts
	submits  combiner
}

// Options adjust a session. The zero value and nil are ready for use.
type Options struct {
	// Now is the one clock. Default: time.Now.
	Now func() time.Time
	// NewID makes the random part of run ids. Default: a version 7 UUID.
	NewID func() string
	// Contexts is the cache that the session shares with others. Default: one of its own, of [DefaultContexts].
	Contexts *Contexts
}

// New returns the kernel on s.
func New(s store.Session, opts *Options) *Session {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one default clock
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Contexts == nil {
		o.Contexts = NewContexts(DefaultContexts)
	}
	return &Session{Session: s, now: o.Now, newID: o.NewID, contexts: o.Contexts}
}

// Now returns the session's clock in epoch milliseconds.
func (s *Session) Now() object.Millis { return object.Millis(s.now().UnixMilli()) }

// remember keeps the context of a head for the next step's sake.
func (s *Session) remember(head string, c view.Context) { s.contexts.put(headKey{s, head}, c) }

func (s *Session) remembered(head string) view.Context { return s.contexts.get(headKey{s, head}) }
