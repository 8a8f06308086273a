package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// DefaultHead is the head of an operation that names none. It is listed before it has a ref.
const DefaultHead = "main"

// The default lanes.
const (
	SteerLane = "steer" // lands at the next response boundary
	QueueLane = "queue" // lands when no run is live
)

// DefaultLanding is the landing policy of a host that brings none: steer at boundaries, queue when idle, one message at a time.
func DefaultLanding() kernel.Landing {
	return kernel.Landing{
		Lanes: []kernel.LandingLane{{Lane: SteerLane, Lands: kernel.AtBoundary}, {Lane: QueueLane, Lands: kernel.WhenIdle}},
		Drain: kernel.DrainOne,
	}
}

// Options compose a host. Store, Models and DefaultModel are required.
type Options struct {
	Store store.Store
	// Models are the models this host serves; DefaultModel answers where a branch names none (invariant 22).
	Models       *llm.Catalog
	DefaultModel llm.Model
	// ThinkingLevel is the default; empty leaves it to the provider.
	ThinkingLevel string
	// Tools are offered to every model. Nil: none.
	Tools *tool.Set
	// System returns the system prompt of a run. Nil: none.
	System func(object.Config) string
	// Landing is the policy in force. The zero value is [DefaultLanding].
	Landing kernel.Landing
	// Actor is the attribution of operations that bring none. It is data, never authority.
	Actor *object.Actor
	// Ceiling is how many responses a run may attempt; zero is no ceiling.
	Ceiling int
	// Retry adjusts provider retries.
	Retry agent.RetryPolicy
	// Hooks intercept tool calls.
	Hooks agent.Hooks
	// LeaseTTL is failover metadata: how long a vanished runner of another host blocks a head. Default: [kernel.DefaultTTL].
	LeaseTTL time.Duration
	// Flush is how long streamed text waits for more of it, where every append costs. Default: [kernel.DefaultFlush].
	Flush time.Duration
	// Poll is how often a wait looks for what is in no event, such as the release of a lease. Default: [DefaultPoll].
	Poll time.Duration
	// BeforeCall is called before each call of a model or a batch of tools, with the time until which this host holds the head if it renews
	// nothing. A host that may vanish sees to it that somebody looks then. Nil: nobody.
	BeforeCall func(ctx context.Context, session api.SessionID, head string, until object.Millis)
	// Turn replaces the turn that Models, Tools and the rest describe.
	Turn kernel.Turn
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Logger gets what has no caller to return to. Default: discard.
	Logger *slog.Logger
}

// DefaultPoll suits a store that is at hand.
const DefaultPoll = 5 * time.Millisecond

// Stepwell is a host's handle on all its sessions. It is safe for concurrent use.
type Stepwell struct {
	opts    Options
	turn    kernel.Turn
	resolve func(object.Config) object.Config
	log     *slog.Logger
	// contexts bound what all sessions of this host keep of their branches.
	contexts *kernel.Contexts

	mu       sync.Mutex
	sessions map[store.SessionID]*kernel.Session
	closed   bool
	running  sync.WaitGroup
	stop     context.CancelCauseFunc
	life     context.Context //nolint:containedctx // ends with Close: it bounds runners, which have no caller
}

var _ api.Service = (*Stepwell)(nil)

// New returns a host over opts.Store, which stays the caller's to close, after [Stepwell.Close].
func New(opts Options) (*Stepwell, error) {
	if opts.Store == nil {
		return nil, errors.New("sdk: a store is required")
	}
	if len(opts.Landing.Lanes) == 0 {
		opts.Landing = DefaultLanding()
	}
	if err := opts.Landing.Validate(); err != nil {
		return nil, fmt.Errorf("sdk: %w", err)
	}
	if opts.Now == nil {
		opts.Now = time.Now //nolint:forbidigo // the one default clock
	}
	if opts.Poll <= 0 {
		opts.Poll = DefaultPoll
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Stepwell{
		opts: opts, turn: opts.Turn, log: opts.Logger, sessions: make(map[store.SessionID]*kernel.Session),
		contexts: kernel.NewContexts(kernel.DefaultContexts),
	}
	if s.turn == nil {
		if opts.Models == nil {
			return nil, errors.New("sdk: models are required")
		}
		if _, _, ok := opts.Models.Lookup(opts.DefaultModel); !ok {
			return nil, fmt.Errorf("sdk: no provider serves the default model %s/%s", opts.DefaultModel.Provider, opts.DefaultModel.ID)
		}
		turn := agent.New(agent.Options{
			Models: opts.Models, DefaultModel: opts.DefaultModel, DefaultThinking: opts.ThinkingLevel,
			Tools: opts.Tools, System: opts.System, Retry: opts.Retry, Hooks: opts.Hooks,
		})
		s.turn, s.resolve = turn, turn.Resolve
	}
	s.life, s.stop = context.WithCancelCause(context.Background()) //nolint:forbidigo // bounds what outlives every call; ended by Close
	return s, nil
}

// open returns the one handle that this host has on a session.
func (s *Stepwell) open(ctx context.Context, id api.SessionID) (*kernel.Session, error) {
	key := store.SessionID(id)
	s.mu.Lock()
	session, ok := s.sessions[key]
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, api.ErrClosed
	}
	if ok {
		// Another host may have removed the session, and even made a new one of the same id, which this handle does not reach.
		_, err := session.Info(ctx)
		if err == nil {
			return session, nil
		}
		if !errors.Is(err, store.ErrUnknownSession) {
			return nil, fault(err)
		}
		s.forget(session)
	}
	opened, err := s.opts.Store.OpenSession(ctx, key)
	if err != nil {
		return nil, fault(err)
	}
	return s.adopt(opened)
}

// adopt keeps a handle, or closes it in favour of one that was opened meanwhile.
func (s *Stepwell) adopt(opened store.Session) (*kernel.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = opened.Close()
		return nil, api.ErrClosed
	}
	if session, ok := s.sessions[opened.ID()]; ok {
		_ = opened.Close()
		return session, nil
	}
	session := kernel.New(opened, &kernel.Options{Now: s.opts.Now, Contexts: s.contexts})
	s.sessions[opened.ID()] = session
	return session, nil
}

// forget drops the handle of a session that is gone. It stays open, so that its watches learn from the store that the session was
// removed and do not take this for a host that closes.
func (s *Stepwell) forget(session *kernel.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session.ID()] == session {
		delete(s.sessions, session.ID())
	}
}

// fault turns errors of the layers below into the service's own. Others stay as they are.
func fault(err error) error {
	var expired *store.CursorExpiredError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnknownSession):
		return api.ErrSessionNotFound
	case errors.Is(err, store.ErrClosed):
		return errors.Join(api.ErrClosed, err)
	case errors.As(err, &expired):
		return &api.CursorExpiredError{Floor: int64(expired.Floor)}
	}
	return err
}

func head(name string) string {
	if name == "" {
		return DefaultHead
	}
	return name
}

func (s *Stepwell) actor(a *object.Actor) *object.Actor {
	if a == nil {
		return s.opts.Actor
	}
	return a
}

func newSessionID() store.SessionID {
	return store.SessionID("ses_" + uuid.Must(uuid.NewV7()).String())
}
