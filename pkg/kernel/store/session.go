package store

import (
	"context"
	"iter"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// A Session is one repository.
type Session interface {
	Reader
	ObjectWriter
	RefWriter
	Leaser
	EventWriter

	// ID returns the session's id.
	ID() SessionID
	// Info returns the session's row, or [ErrUnknownSession] once it is removed.
	Info(ctx context.Context) (SessionInfo, error)
	// Close ends pending and future watches of this handle with [ErrClosed] and refuses further calls with it. Closing twice
	// is harmless. It does not touch the session itself.
	Close() error
}

// A Reader is the read half of a session.
type Reader interface {
	ObjectReader
	RefReader
	LeaseReader
	EventReader
}

// An ObjectReader reads immutable objects. Their reads may be served from a cache for ever.
type ObjectReader interface {
	// GetObject returns the object oid, verified in shape and hash; ok is false when it is not stored. Stored bytes that are
	// not the object are an error, [object.ErrCorrupt].
	GetObject(ctx context.Context, oid object.OID) (o object.Object, ok bool, err error)

	// GetObjects returns the objects of oids in their order, nil where one is not stored, in as few round trips as the store
	// can. Corruption is an error as in GetObject.
	GetObjects(ctx context.Context, oids []object.OID) ([]object.Object, error)

	// Chain walks from an object by [object.Parent], newest first: commits by parent, changes by previous. It returns at most
	// limit entries and stops early at stop (exclusive), at a missing object, and at an object without a parent. A zero from or
	// a zero limit gives none. It takes far fewer round trips than entries. A forged loop ends at the limit, or as corruption.
	Chain(ctx context.Context, from, stop object.OID, limit int) ([]Entry, error)

	// ListObjects returns every stored object with its write time, sorted by oid. It is for collectors and checkers.
	ListObjects(ctx context.Context) ([]Stored, error)
}

// An ObjectWriter writes immutable objects.
type ObjectWriter interface {
	// PutObjects stores objects; existing ones stay as they are and get a new write time, so that a sweep cannot take an object
	// between its put and the ref that names it. Putting the same value twice is the same as once. All are stored or, on error,
	// possibly some: loose objects are harmless (invariant 42).
	PutObjects(ctx context.Context, objs []object.Encoded) error

	// DeleteObjects removes those of the objects that were last written before the time before, and returns how many it removed. Only a
	// collector calls it; the time is judged in the same transaction, so that an object put again since the collector looked stays.
	DeleteObjects(ctx context.Context, oids []object.OID, before Millis) (int, error)
}

// A RefReader reads refs.
type RefReader interface {
	// ReadRefs returns the oids of names in their order, zero where a ref is absent, all as of one instant.
	ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error)

	// ListRefs returns the refs whose name starts with prefix, sorted by name, as of one instant.
	ListRefs(ctx context.Context, prefix string) ([]Ref, error)
}

// A RefWriter moves refs.
type RefWriter interface {
	// UpdateRefs is the one compare-and-swap over many refs. It checks in this order: the shape (an empty list, an invalid or
	// repeated name is an error before anything else), the lease (owner and fence must match the stored ones, else
	// [Fenced]; fenced wins over conflict; expiry is not looked at), and every From in list order (the first mismatch is
	// [UpdateConflict] with the actual oid). Then it stores opts.Objects, writes every ref whose To differs from From (zero deletes),
	// and appends one ref event per write in list order followed by opts.Events, all together or not at all (invariant 35).
	// An update with To equal to From is an assertion: checked, not written, no event.
	//
	// [Updated] has the last sequence number allocated, or the current last one when there was nothing to write. The store does
	// not check that To exists.
	UpdateRefs(ctx context.Context, updates []Update, opts UpdateOptions) (UpdateOutcome, error)
}

// A LeaseReader reads leases.
type LeaseReader interface {
	// ReadLease returns the live lease of a name; ok is false when there is none or it has expired.
	ReadLease(ctx context.Context, name ref.Name) (l Lease, ok bool, err error)
}

// A Leaser grants fenced execution authority over names. Leases are liveness, not history: they are in no event. A fence never
// goes down for the life of the session, also across release. A lease is expired from the millisecond ExpiresAt on, by the
// store's clock; stores whose processes have different clocks state their skew margin.
type Leaser interface {
	// AcquireLease grants name to a new owner for ttl (at least one millisecond). A live lease of someone else is [Held]. A free,
	// expired, or provably abandoned name is [Acquired] with a higher fence. After an error the caller may hold a lease it does not
	// know of; it expires.
	AcquireLease(ctx context.Context, name ref.Name, ttl Duration) (AcquireOutcome, error)

	// RenewLease extends l to ttl from now if its owner and fence still match, also when it has expired untaken; ok is false when
	// it does not match.
	RenewLease(ctx context.Context, l Lease, ttl Duration) (renewed Lease, ok bool, err error)

	// ReleaseLease frees l if its owner and fence still match; ok is false when they do not.
	ReleaseLease(ctx context.Context, l Lease) (ok bool, err error)
}

// An EventReader reads the session's one ordered stream.
type EventReader interface {
	// ReadEvents returns up to limit events after the sequence number after, in order and without a gap. An after below the floor is a
	// [*CursorExpiredError] and never a partial result. A limit of zero or less means [DefaultPage].
	ReadEvents(ctx context.Context, after Seq, limit int) ([]Event, error)

	// LastSeq returns the newest sequence number, 0 when there is none.
	LastSeq(ctx context.Context) (Seq, error)

	// Floor returns the oldest valid cursor: 0 until something is trimmed.
	Floor(ctx context.Context) (Seq, error)

	// WatchEvents yields the events after a cursor and then every later one, each once and in order, without polling
	// delay for writes of this process. It ends without an error when ctx ends, with [ErrClosed] when the handle or the store closes, with
	// [ErrUnknownSession] when the session is removed, and with a [*CursorExpiredError] when the floor passes the cursor.
	WatchEvents(ctx context.Context, after Seq) iter.Seq2[Event, error]
}

// An EventWriter adds to and trims the stream.
type EventWriter interface {
	// AppendEvents adds events without moving a ref. With a lease whose owner and fence do not match it is [Fenced]
	// and nothing is written.
	AppendEvents(ctx context.Context, bodies []EventBody, lease *Lease) (AppendOutcome, error)

	// TrimEvents raises the floor to before, or to the newest event if that is lower, and drops the events at or below it. The floor
	// never goes down and a sequence number is never used again.
	TrimEvents(ctx context.Context, before Seq) (floor Seq, err error)
}
