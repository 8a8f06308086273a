package view

import (
	"context"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Snapshot is everything about one head, read without a write. Watch from Seq: a commit that is already here may come again,
// nothing is left out.
type Snapshot struct {
	Seq     store.Seq
	Head    string
	Tip     object.OID // zero: unborn
	Branch  []Commit   // the whole branch, oldest first
	Context Context    // of the same branch, from its newest checkpoint on
	Lanes   []Lane
	Run     *RunSnapshot // the newest run, live or ended; nil when there never was one
	Parked  []ParkedCall // of a live run, in call order
	Lease   *store.Lease // who runs the head now
	Stack   *StackInfo
}

// A RunSnapshot is a run and the object that holds it.
type RunSnapshot struct {
	OID object.OID
	Run object.Run
}

// StackInfo says where a head was cut from.
type StackInfo struct {
	Parent string
	Base   object.OID // zero: the parent was unborn
	Stale  bool       // the base is not the parent's tip
}

// LoadSnapshot reads a snapshot of head. The sequence number is read first and the queues before the branch, so that what lands in between
// is in both rather than in neither. The branch is read once. A branch or lane that cannot be followed is a [*GraphError].
func LoadSnapshot(ctx context.Context, r store.Reader, head string) (Snapshot, error) {
	s := Snapshot{Head: head}
	var err error
	if s.Seq, err = r.LastSeq(ctx); err != nil {
		return Snapshot{}, fmt.Errorf("read the last sequence number: %w", err)
	}
	if s.Lanes, err = LoadLanes(ctx, r, head); err != nil {
		return Snapshot{}, err
	}
	oids, err := r.ReadRefs(ctx, ref.Head(head), ref.Run(head), ref.Stack(head))
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the refs of head %q: %w", head, err)
	}
	s.Tip = oids[0]
	if s.Branch, err = Branch(ctx, r, s.Tip, 0); err != nil {
		return Snapshot{}, err
	}
	s.Context = contextOf(s.Tip, s.Branch)
	if err := s.loadRefs(ctx, r, oids[1], oids[2]); err != nil {
		return Snapshot{}, err
	}
	if s.Run != nil && !object.Terminal(s.Run.Run.Phase) {
		if s.Parked, err = loadParked(ctx, r, s.Run.Run.ID, s.Branch); err != nil {
			return Snapshot{}, err
		}
	}
	lease, ok, err := r.ReadLease(ctx, ref.Head(head))
	if err != nil {
		return Snapshot{}, fmt.Errorf("read the lease of head %q: %w", head, err)
	}
	if ok {
		s.Lease = &lease
	}
	return s, nil
}

// loadRefs reads the run and the stack, zero when there is none.
func (s *Snapshot) loadRefs(ctx context.Context, r store.Reader, run, stack object.OID) error {
	objs, err := getPresent(ctx, r, []object.OID{run, stack})
	if err != nil {
		return err
	}
	if objs[0] != nil {
		o, ok := objs[0].(object.Run)
		if !ok {
			return &GraphError{run, "not a run"}
		}
		s.Run = &RunSnapshot{run, o}
	}
	if objs[1] != nil {
		o, ok := objs[1].(object.Stack)
		if !ok {
			return &GraphError{stack, "not a stack"}
		}
		parent, err := r.ReadRefs(ctx, ref.Head(o.Parent))
		if err != nil {
			return fmt.Errorf("read the parent %q of head %q: %w", o.Parent, s.Head, err)
		}
		s.Stack = &StackInfo{Parent: o.Parent, Base: o.Base, Stale: parent[0] != o.Base}
	}
	return nil
}

// Config returns the configuration that s shows: what a live run answers with, and on an idle head what the next run would start with, as far as
// the session itself says. A reader's own defaults never appear.
func Config(s Snapshot) object.Config {
	if s.Run == nil {
		return s.Context.Config
	}
	return configOf(s.Run.Run, s.Context.Config)
}

func configOf(run object.Run, declared object.Config) object.Config {
	if run.Phase != nil && !object.Terminal(run.Phase) {
		return run.Config
	}
	return run.Config.With(object.ConfigBody(declared))
}
