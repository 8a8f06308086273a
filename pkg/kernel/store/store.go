package store

import (
	"context"
	"iter"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A SessionID names a session. It is a single path-safe component, see [CheckSessionID].
type SessionID string

// A Seq is a position in a session's event stream. The first event is 1; 0 is before everything.
type Seq int64

// A Duration is a lease's length.
type Duration = time.Duration

// Millis is epoch milliseconds.
type Millis = object.Millis

// DefaultPage is how many events a read returns when no limit is given.
const DefaultPage = 256

// A Store holds sessions.
type Store interface {
	// CreateSession makes an empty session, or one with the given first refs in the same transaction. An id that is taken is
	// [SessionExists] and changes nothing.
	CreateSession(ctx context.Context, opts CreateOptions) (CreateOutcome, error)

	// OpenSession returns a handle on a session, or [ErrUnknownSession].
	OpenSession(ctx context.Context, id SessionID) (Session, error)

	// ListSessions returns sessions, the newest first. A cursor that never named a session is [ErrInvalid]; one whose session is gone may be.
	ListSessions(ctx context.Context, opts ListOptions) ([]SessionInfo, error)

	// DeleteSession removes a session with everything in it. Removing it again is harmless. A later session of the same id starts
	// empty. Watches of it end with [ErrUnknownSession].
	DeleteSession(ctx context.Context, id SessionID) error

	// WatchSessions yields the id of every session, the existing ones first, then each as it is created, also by other processes. It
	// ends like WatchEvents does.
	WatchSessions(ctx context.Context) iter.Seq2[SessionID, error]

	// Close closes every handle and frees what the store holds. Closing twice is harmless.
	Close() error
}

// MaxOwner is how many bytes the name of an owner may have.
const MaxOwner = 255

// CreateOptions say how to make a session. The first refs must have a zero From.
type CreateOptions struct {
	ID      SessionID
	Owner   string // under whom the session is listed besides; empty: nobody. It stays, and is no authority
	Refs    []Update
	Objects []object.Encoded
	Reason  string
	Actor   *object.Actor
}

// ListOptions say which sessions to list.
type ListOptions struct {
	Owner  string    // only those of this owner; empty: all
	Cursor SessionID // only those older than this session; empty: from the newest
	Limit  int       // how many at most; zero or less: [DefaultPage]
}

// A SessionInfo is one row of the list. Nothing in it ever changes, so that a list needs no look at the sessions.
type SessionInfo struct {
	ID        SessionID
	Owner     string
	CreatedAt Millis
}

// A CreateOutcome is [SessionCreated] or [SessionExists].
//
//sumtype:decl
type CreateOutcome interface{ createOutcome() }

func (SessionCreated) createOutcome() {}
func (SessionExists) createOutcome()  {}

type (
	// SessionCreated has a handle on the new session.
	SessionCreated struct{ Session Session }
	// SessionExists says that the id is taken.
	SessionExists struct{}
)
