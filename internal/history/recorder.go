package history

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Recorder collects the calls of many clients. It is safe for concurrent use.
type Recorder struct {
	now  func() time.Time
	tick atomic.Int64

	mu  sync.Mutex
	ops []Op
}

// NewRecorder returns a recorder of calls to stores whose clock is now.
func NewRecorder(now func() time.Time) *Recorder { return &Recorder{now: now} }

// Wrap returns s as used by a client, recorded. A client makes one call at a time.
func (r *Recorder) Wrap(s store.Session, client int) store.Session {
	return &recorded{Session: s, recorder: r, client: client}
}

// Ops returns what is recorded so far, in the order of the calls.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	ops := slices.Clone(r.ops)
	slices.SortFunc(ops, func(a, b Op) int { return cmp.Compare(a.Call, b.Call) })
	return ops
}

// A recorded session records the calls that change something, and ReadRefs.
type recorded struct {
	store.Session

	recorder *Recorder
	client   int
}

func (s *recorded) begin() Op {
	r := s.recorder
	return Op{
		Session: s.ID(), Client: s.client, Earliest: store.Millis(r.now().UnixMilli()),
		Call: r.tick.Add(1), Return: Open, Latest: math.MaxInt64,
	}
}

func (s *recorded) end(op Op, did Did, err error) {
	r := s.recorder
	op.Did = did
	if err == nil {
		op.Return, op.Latest = r.tick.Add(1), store.Millis(r.now().UnixMilli())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// UpdateRefs implements [store.RefWriter].
func (s *recorded) UpdateRefs(ctx context.Context, updates []store.Update, opts store.UpdateOptions) (store.UpdateOutcome, error) {
	op := s.begin()
	out, err := s.Session.UpdateRefs(ctx, updates, opts)
	s.end(op, Updates{Updates: updates, Options: opts, Outcome: out}, err)
	return out, err
}

// ReadRefs implements [store.RefReader].
func (s *recorded) ReadRefs(ctx context.Context, names ...ref.Name) ([]object.OID, error) {
	op := s.begin()
	oids, err := s.Session.ReadRefs(ctx, names...)
	if err == nil {
		s.end(op, Reads{Names: names, OIDs: slices.Clone(oids)}, nil)
	}
	return oids, err
}

// AcquireLease implements [store.Leaser].
func (s *recorded) AcquireLease(ctx context.Context, name ref.Name, ttl store.Duration) (store.AcquireOutcome, error) {
	op := s.begin()
	out, err := s.Session.AcquireLease(ctx, name, ttl)
	s.end(op, Acquires{Name: name, TTL: ttl, Outcome: out}, err)
	return out, err
}

// RenewLease implements [store.Leaser].
func (s *recorded) RenewLease(ctx context.Context, l store.Lease, ttl store.Duration) (store.Lease, bool, error) {
	op := s.begin()
	renewed, ok, err := s.Session.RenewLease(ctx, l, ttl)
	s.end(op, Renews{Lease: l, TTL: ttl, Renewed: renewed, OK: ok}, err)
	return renewed, ok, err
}

// ReleaseLease implements [store.Leaser].
func (s *recorded) ReleaseLease(ctx context.Context, l store.Lease) (bool, error) {
	op := s.begin()
	ok, err := s.Session.ReleaseLease(ctx, l)
	s.end(op, Releases{Lease: l, OK: ok}, err)
	return ok, err
}

// AppendEvents implements [store.EventWriter].
func (s *recorded) AppendEvents(ctx context.Context, bodies []store.EventBody, lease *store.Lease) (store.AppendOutcome, error) {
	op := s.begin()
	out, err := s.Session.AppendEvents(ctx, bodies, lease)
	s.end(op, Appends{Bodies: bodies, Lease: lease, Outcome: out}, err)
	return out, err
}

// Stream reads the whole event stream of a session that was never trimmed.
func Stream(ctx context.Context, s store.EventReader) ([]store.Event, error) {
	var all []store.Event
	for after := store.Seq(0); ; {
		page, err := s.ReadEvents(ctx, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("reading the stream after %d: %w", after, err)
		}
		if len(page) == 0 {
			return all, nil
		}
		all = append(all, page...)
		last := page[len(page)-1].Seq
		if last <= after {
			return nil, fmt.Errorf("reading the stream after %d: a page ends at %d", after, last)
		}
		after = last
	}
}
