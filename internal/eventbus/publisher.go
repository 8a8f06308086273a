package eventbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// A Sink takes events, in their order. It returns how many of the first ones it has for certain.
type Sink interface {
	Put(ctx context.Context, events []Event) (done int, err error)
}

// ErrGone reports that what was asked for is there no longer, and will not be.
var ErrGone = errors.New("the session, or what is asked of it, is gone")

// A Session is one incarnation of a session, as far as its events ask for it.
type Session interface {
	// Moves returns the moves of refs after one event and up to another, or [ErrGone].
	Moves(ctx context.Context, after, upto int64) ([]Move, error)
	// Objects returns objects in the order of their oids, nil where one is not stored, or [ErrGone].
	Objects(ctx context.Context, oids ...object.OID) ([]object.Object, error)
	// Effects returns where the effects of a run point, by call, or [ErrGone].
	Effects(ctx context.Context, run string) (map[string]object.OID, error)
	// Close frees what the handle holds.
	Close() error
}

// A Move is one move of a ref.
type Move struct {
	Seq      int64
	At       object.Millis
	Name     ref.Name
	Head     string // of a run's ref; [Publisher] fills it in
	From, To object.OID
}

// A Change is what one record of the table's stream tells of a session.
type Change struct {
	Record  string // its number
	Origin  Origin
	At      object.Millis // when it was written
	Deleted bool          // the session is gone; nothing below is set

	After int64 // the newest event before it
	Known int64 // the first event after that which Moves covers: those in between are to be read
	Upto  int64 // the newest event after it
	Moves []Move
}

// A Publisher publishes what changes tell. It is safe for concurrent use.
type Publisher struct {
	Sink   Sink
	Open   func(ctx context.Context, o Origin) (Session, error) // it should ask nothing of anybody
	Logger *slog.Logger
}

// Publish publishes what the changes of a batch tell, in their order. When that does not succeed it returns the record to come back to:
// everything before it is published.
func (p *Publisher) Publish(ctx context.Context, changes []Change) (record string, err error) {
	b := &tellers{open: p.Open, known: map[Origin]*teller{}}
	defer b.close()
	var events []Event
	var records []string // of each event
	var failed string
	var why error
	for _, c := range changes {
		told, err := p.tell(ctx, b, c)
		if err != nil {
			failed, why = c.Record, err
			break
		}
		for _, e := range told {
			events, records = append(events, e), append(records, c.Record)
		}
	}
	if len(events) == 0 {
		return failed, why
	}
	done, err := p.Sink.Put(ctx, events)
	if err == nil {
		return failed, why
	}
	return records[min(done, len(events)-1)], err
}

// tell returns what a change tells. What can never be told is passed over.
func (p *Publisher) tell(ctx context.Context, b *tellers, c Change) ([]Event, error) {
	if c.Deleted {
		return []Event{c.Origin.deleted(c.At)}, nil
	}
	t, err := b.of(ctx, c.Origin)
	if err != nil {
		return nil, fmt.Errorf("opening session %s: %w", c.Origin.Session, err)
	}
	events, err := t.tell(ctx, c)
	if err == nil {
		return events, nil
	}
	if never(err) {
		p.Logger.LogAttrs(ctx, slog.LevelWarn, "what a record tells was passed over", slog.String("record", c.Record),
			slog.String("tenant", c.Origin.Tenant), slog.String("session", string(c.Origin.Session)), slog.Any("error", err))
		return events, nil
	}
	return nil, fmt.Errorf("telling of session %s: %w", c.Origin.Session, err)
}

// never reports whether an error is the same however often something is tried.
func never(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, object.ErrCorrupt) }

// tellers are those of the sessions of a batch.
type tellers struct {
	open  func(ctx context.Context, o Origin) (Session, error)
	known map[Origin]*teller
}

func (b *tellers) of(ctx context.Context, o Origin) (*teller, error) {
	if t := b.known[o]; t != nil {
		return t, nil
	}
	s, err := b.open(ctx, o)
	if err != nil {
		return nil, err
	}
	t := &teller{Session: s, origin: o, runs: map[object.OID]object.Run{}, effects: map[ref.EffectRef]object.OID{}}
	b.known[o] = t
	return t, nil
}

func (b *tellers) close() {
	for _, t := range b.known {
		_ = t.Close() // it only reads
	}
}
