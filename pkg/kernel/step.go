package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// DefaultTTL is how long a lease lives without renewal. It is failover metadata, not an execution budget (invariant 23).
const DefaultTTL = 30 * time.Second

// StepOptions say how a head is advanced.
type StepOptions struct {
	Head    string
	Landing Landing
	Turn    Turn
	// TTL of the lease. Default: [DefaultTTL].
	TTL time.Duration
	// Flush is how long what a call of the turn streams waits for more to be appended with, after its first words. Each append is a write.
	// Default: [DefaultFlush].
	Flush time.Duration
	// Ceiling returns how many responses a run may attempt; nil or a result below one means no ceiling.
	Ceiling func(object.Run) int
	// Resolve completes a run's configuration with the host's defaults; nil keeps it. The same input must give the same output.
	Resolve func(object.Config) object.Config
	// BeforeCall is called before each call of the turn with the lease as it is then, so that a host can see to it that somebody looks when
	// this process does not outlive the call. Nil: nobody.
	BeforeCall func(context.Context, store.Lease)
	// Lease is used instead of acquiring one, and is not released. It is kept up to date as the step renews it.
	Lease *store.Lease
}

func (o StepOptions) check() error {
	if err := ref.CheckHead(o.Head); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if o.Turn == nil {
		return fmt.Errorf("%w: turn is missing", ErrInvalid)
	}
	return o.Landing.Validate()
}

// Step takes one durable step of a head: it acquires the head's lease unless one is given, reads the refs, does one durable action,
// and releases what it acquired. An error means that the step's outcome is unknown; take it again.
func (s *Session) Step(ctx context.Context, opts StepOptions) (StepOutcome, error) {
	if opts.Lease != nil {
		if err := opts.check(); err != nil {
			return nil, err
		}
		st := &step{Session: s, opts: opts.withDefaults(), lease: *opts.Lease}
		outcome, err := st.take(ctx)
		if st.uncounted {
			_ = st.recordLoss(context.WithoutCancel(ctx)) // the caller keeps the lease, and the next step tells
		}
		*opts.Lease = st.lease
		return outcome, err
	}
	st, busy, err := s.acquire(ctx, opts)
	if err != nil || busy != nil {
		return busy, err
	}
	st.release = true
	defer st.finish(ctx)
	return st.take(ctx)
}

// acquire takes the lease of a head for a step or a drive. A nil step comes with [StepBusy] or an error.
func (s *Session) acquire(ctx context.Context, opts StepOptions) (*step, StepOutcome, error) {
	if err := opts.check(); err != nil {
		return nil, nil, err
	}
	opts = opts.withDefaults()
	outcome, err := s.AcquireLease(ctx, ref.Head(opts.Head), opts.TTL)
	if err != nil {
		return nil, nil, fmt.Errorf("acquire the lease of head %q: %w", opts.Head, err)
	}
	switch o := outcome.(type) {
	case store.Held:
		return nil, StepBusy{o.Holder}, nil
	case store.Acquired:
		return &step{Session: s, opts: opts, lease: o.Lease, uncounted: o.Takeover, seen: o.Seq, watched: true}, nil, nil
	}
	panic("unreachable")
}

func (o StepOptions) withDefaults() StepOptions {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.Flush == 0 {
		o.Flush = DefaultFlush
	}
	return o
}

// A step is one durable step in progress: what it read, and the lease it publishes under.
type step struct {
	*Session
	opts    StepOptions
	lease   store.Lease
	release bool // the lease was acquired here: the last publish frees it
	freed   bool
	// uncounted: a response under the run's next attempt number may have streamed and was not published. The head's last holder died,
	// or this one's publish has no outcome.
	uncounted bool
	lost      bool // pieces of the call in flight may be missing from the stream

	now     object.Millis // one reading of the clock, for every deadline
	seen    store.Seq     // all that comes after this event shows in what is read from here on, or is yet to come
	watched bool          // seen is known
	lanes   []view.Lane   // those of the landing policy that have a change
	tip     object.OID
	runOID  object.OID
	run     object.Run
	context view.Context
}

// take reads the durable state and does what the phase asks for.
func (st *step) take(ctx context.Context) (StepOutcome, error) {
	st.now = st.Now()
	st.run, st.context = object.Run{}, view.Context{}
	deleted, err := st.readRefs(ctx)
	if err != nil {
		return nil, err
	}
	if deleted {
		st.uncounted = false
		return StepIdle{}, nil
	}
	if err := st.readRun(ctx); err != nil {
		return nil, err
	}
	outcome, err := st.advance(ctx)
	if err != nil && errors.Is(err, object.ErrCorrupt) && st.live() {
		// A damaged branch ends the run where everyone sees it; nothing pending is consumed.
		return st.end(ctx, object.Failed{Error: err.Error(), Class: object.FailedCorrupt}, "fail")
	}
	return outcome, err
}

// readRefs reads where the head, its run and the lanes of the landing policy stand, all as of one instant.
func (st *step) readRefs(ctx context.Context) (deleted bool, err error) {
	if !st.watched {
		if st.seen, err = st.LastSeq(ctx); err != nil {
			return false, fmt.Errorf("read the last event: %w", err)
		}
		st.watched = true
	}
	head := st.opts.Head
	names := []ref.Name{ref.Head(head), ref.Run(head), ref.Deleted}
	for _, l := range st.opts.Landing.Lanes {
		names = append(names, ref.QueueTip(head, l.Lane), ref.QueueBase(head, l.Lane))
	}
	oids, err := st.ReadRefs(ctx, names...)
	if err != nil {
		return false, fmt.Errorf("read the refs of head %q: %w", head, err)
	}
	st.tip, st.runOID, st.lanes = oids[0], oids[1], nil
	for i, l := range st.opts.Landing.Lanes {
		if tip, base := oids[3+2*i], oids[4+2*i]; tip != base {
			st.lanes = append(st.lanes, view.Lane{Lane: l.Lane, Tip: tip, Base: base})
		}
	}
	return !oids[2].IsZero(), nil
}

// readRun reads the run, and with it what a step goes on to read, so that a store that is far away is asked once.
func (st *step) readRun(ctx context.Context) (err error) {
	var ahead []object.OID
	if !st.runOID.IsZero() {
		ahead = append(ahead, st.runOID)
	}
	if !st.tip.IsZero() && st.remembered(st.opts.Head).Tip != st.tip {
		ahead = append(ahead, st.tip)
	}
	for _, l := range st.lanes {
		ahead = append(ahead, l.Tip)
	}
	if len(ahead) > 1 {
		// What is missing or damaged is told of by whoever needs it.
		_, _ = st.GetObjects(ctx, ahead)
	}
	if !st.runOID.IsZero() {
		st.run, err = st.loadRun(ctx, st.runOID)
	}
	return err
}

func (st *step) live() bool { return !st.runOID.IsZero() && !object.Terminal(st.run.Phase) }

func (st *step) advance(ctx context.Context) (StepOutcome, error) {
	if !st.live() {
		st.uncounted = false
		return st.landIdle(ctx)
	}
	switch p := st.run.Phase.(type) {
	case object.Respond:
		return st.respond(ctx)
	case object.Retry:
		if st.now < p.At && !st.run.AbortRequested {
			st.uncounted = false
			return StepRetry{p.At}, nil
		}
		return st.respond(ctx)
	case object.Tools:
		st.uncounted = false
		return st.tools(ctx)
	case object.WaitingPhase:
		st.uncounted = false
		return st.wait(ctx)
	case object.Done, object.Aborted, object.Failed:
	}
	panic("unreachable")
}

// loadContext reads the branch of the tip, from what an earlier step read where it can.
func (st *step) loadContext(ctx context.Context) error {
	c, err := view.LoadContext(ctx, st.Session, st.tip, st.remembered(st.opts.Head))
	if err != nil {
		return err
	}
	st.context = c
	st.remember(st.opts.Head, c)
	return nil
}

func (st *step) resolve(c object.Config) object.Config {
	if st.opts.Resolve == nil {
		return c
	}
	return st.opts.Resolve(c)
}

// finish counts an attempt that was lost and gives back the lease. While the loss is not on record the lease stays: whoever takes it
// after its expiry knows that its holder may have streamed.
func (st *step) finish(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if st.uncounted {
		if err := st.recordLoss(ctx); err != nil {
			return
		}
	}
	if st.freed {
		return
	}
	// The step's own outcome stands whatever happens to the lease: it expires by itself.
	_, _ = st.ReleaseLease(ctx, st.lease)
}

func (s *Session) loadRun(ctx context.Context, oid object.OID) (object.Run, error) {
	o, ok, err := s.GetObject(ctx, oid)
	if err != nil {
		return object.Run{}, fmt.Errorf("read run: %w", err)
	}
	run, isRun := o.(object.Run)
	if !ok || !isRun {
		return object.Run{}, &missingError{oid, "a run"}
	}
	return run, nil
}
