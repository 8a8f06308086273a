package view_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func loadSnapshot(t *testing.T, r store.Reader, head string) view.Snapshot {
	t.Helper()
	s, err := view.LoadSnapshot(t.Context(), r, head)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (g *graph) run(phase object.Phase, config object.Config) object.OID {
	g.t.Helper()
	oid := g.put(object.Run{ID: "run_1", Head: "main", Phase: phase, StartedAt: 100, Config: config})
	g.set(ref.Run("main"), oid)
	return oid
}

// submit puts a change behind the tip of a lane of main.
func (g *graph) submit(lane, text string) object.OID {
	g.t.Helper()
	at, err := g.ReadRefs(g.t.Context(), ref.QueueTip("main", lane))
	if err != nil {
		g.t.Fatal(err)
	}
	oid := g.put(object.Change{Previous: at[0], Body: user(text), At: g.at})
	g.set(ref.QueueTip("main", lane), oid)
	return oid
}

func (g *graph) park(callID string, selection *message.Selection, until object.Millis) object.OID {
	g.t.Helper()
	intent := g.put(object.Intent{RunID: "run_1", CallID: callID, Tool: "read", Args: jsontext.Value(`{"n":1}`), Replay: object.ReplaySafe, At: 1})
	waiting := g.put(object.Waiting{Intent: intent, At: 2, Selection: selection, Until: until})
	g.set(ref.Effect("run_1", callID), waiting)
	return waiting
}

// Conformance 185: a snapshot equals the separate reads.
func TestConformance185_SnapshotEqualsReads(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	ctx := t.Context()
	parent := g.branch("parent", object.OID{}, "", user("0"))
	config := object.Config{Model: &object.Model{Provider: "p", ID: "running"}}
	g.branch("main", parent[0].OID, "run_1", model("m"), user("hi"), checkpoint("s"), calls("z", "a", "m"))
	g.set(ref.Stack("main"), g.put(object.Stack{Parent: "parent", Base: parent[0].OID}))
	g.branch("parent", parent[0].OID, "", user("1"))
	runOID := g.run(object.WaitingPhase{}, config)
	g.submit("steer", "s1")
	withdrawn := g.submit("steer", "s2")
	g.set(ref.Tombstone(withdrawn), g.put(object.Blob{Value: jsontext.Value(`{"at":1}`)}))
	g.submit("followup", "f1")
	ask := &message.Selection{Title: "Sure?", Choices: []message.Choice{{ID: "y", Label: "Yes"}}}
	// In neither order of names nor of time.
	waitM, waitZ := g.park("m", nil, 0), g.park("z", ask, 900)
	settled := g.put(object.Intent{RunID: "run_1", CallID: "a", Tool: "read", Args: jsontext.Value(`{}`), Replay: object.ReplaySafe, At: 1})
	g.set(ref.Effect("run_1", "a"), settled)
	got, err := g.AcquireLease(ctx, ref.Head("main"), time.Minute)
	acquired, ok := got.(store.Acquired)
	if err != nil || !ok {
		t.Fatalf("%T %v", got, err)
	}

	s := loadSnapshot(t, g, "main")
	tips, err := g.ReadRefs(ctx, ref.Head("main"))
	if err != nil {
		t.Fatal(err)
	}
	want := view.Snapshot{
		Head: "main", Tip: tips[0], Lease: &acquired.Lease,
		Run:   &view.RunSnapshot{OID: runOID, Run: object.Run{ID: "run_1", Head: "main", Phase: object.WaitingPhase{}, StartedAt: 100, Config: config}},
		Stack: &view.StackInfo{Parent: "parent", Base: parent[0].OID, Stale: true},
		Parked: []view.ParkedCall{
			{RunID: "run_1", CallID: "z", WaitID: waitZ, Tool: "read", Args: jsontext.Value(`{"n":1}`), Selection: ask, Until: 900},
			{RunID: "run_1", CallID: "m", WaitID: waitM, Tool: "read", Args: jsontext.Value(`{"n":1}`)},
		},
	}
	if want.Seq, err = g.LastSeq(ctx); err != nil {
		t.Fatal(err)
	}
	if want.Branch, err = view.Branch(ctx, g, want.Tip, 0); err != nil {
		t.Fatal(err)
	}
	if want.Context, err = view.LoadContext(ctx, g, want.Tip, view.Context{}); err != nil {
		t.Fatal(err)
	}
	if want.Lanes, err = view.LoadLanes(ctx, g, "main"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestSnapshotOfUnbornHead(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	if diff := cmp.Diff(view.Snapshot{Head: "main"}, loadSnapshot(t, g, "main")); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

// An ended run has nothing parked, whatever its effects say.
func TestSnapshotOfEndedRun(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	g.branch("main", object.OID{}, "run_1", user("hi"), calls("a"))
	g.park("a", nil, 0)
	g.run(object.Aborted{}, object.Config{})
	if s := loadSnapshot(t, g, "main"); s.Run == nil || s.Parked != nil {
		t.Errorf("run %v, parked %v", s.Run, s.Parked)
	}
}

// A landing reader plays a landing into the middle of a snapshot: behind the queues, before the branch.
type landing struct {
	store.Reader
	land func()
	seen []string
}

func (l *landing) LastSeq(ctx context.Context) (store.Seq, error) {
	l.seen = append(l.seen, "seq")
	return l.Reader.LastSeq(ctx)
}

func (l *landing) ListRefs(ctx context.Context, prefix string) ([]store.Ref, error) {
	refs, err := l.Reader.ListRefs(ctx, prefix)
	if prefix == ref.HeadQueues("main") {
		l.seen = append(l.seen, "queues")
		l.land()
	}
	return refs, err
}

func (l *landing) Chain(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	entries, err := l.Reader.Chain(ctx, from, stop, limit)
	if len(entries) > 0 {
		if _, ok := entries[0].Object.(object.Commit); ok {
			l.seen = append(l.seen, "branch")
		}
	}
	return entries, err
}

// Conformance 185: what lands while a snapshot is read is in both the queue and the branch, rather than in neither; the sequence
// number is from before, and a branch costs one query.
func TestConformance185_LandingDuringSnapshot(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	change := g.submit("steer", "hi")
	before, err := g.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &landing{Reader: g, land: func() {
		c := g.commit(object.Commit{Change: change, Run: "run_1"}, user("hi"))
		g.set(ref.Head("main"), c.OID)
		g.set(ref.QueueBase("main", "steer"), change)
	}}
	s := loadSnapshot(t, r, "main")
	if pending := view.Pending(s.Lanes); len(pending) != 1 || pending[0].OID != change {
		t.Errorf("pending %v", pending)
	}
	if len(s.Branch) != 1 || s.Branch[0].Commit.Change != change {
		t.Errorf("branch %v", s.Branch)
	}
	if s.Seq != before {
		t.Errorf("seq %d, want %d", s.Seq, before)
	}
	if diff := cmp.Diff([]string{"seq", "queues", "branch"}, r.seen); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// Conformance 186: a snapshot re-verifies stored ancestry and reports the missing commit.
func TestConformance186_MissingCommit(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	main := g.branch("main", object.OID{}, "", user("1"), answer("2"), user("3"))
	if _, err := g.DeleteObjects(t.Context(), []object.OID{main[1].OID}, 1<<62); err != nil {
		t.Fatal(err)
	}
	wantCorrupt(t, g, main[1].OID)
	// A damaged one is reported alike.
	g = newGraph(t)
	main = g.branch("main", object.OID{}, "", user("1"), answer("2"))
	if err := g.store.PlantObject(sessionID, main[0].OID, []byte(`{"kind":"commit"}`)); err != nil {
		t.Fatal(err)
	}
	wantCorrupt(t, g, main[0].OID)
}

func wantCorrupt(t *testing.T, g *graph, oid object.OID) {
	t.Helper()
	_, err := view.LoadSnapshot(t.Context(), g, "main")
	if !errors.Is(err, object.ErrCorrupt) || !strings.Contains(err.Error(), oid.String()) {
		t.Errorf("got %v, want a report of %s", err, oid)
	}
}

// What a snapshot cannot read, it names.
func TestSnapshotCorruption(t *testing.T) {
	t.Parallel()
	missing := object.Hash([]byte("missing"))
	for name, damage := range map[string]func(*graph) object.OID{
		"missing tip":   func(g *graph) object.OID { g.set(ref.Head("main"), missing); return missing },
		"missing run":   func(g *graph) object.OID { g.set(ref.Run("main"), missing); return missing },
		"missing stack": func(g *graph) object.OID { g.set(ref.Stack("main"), missing); return missing },
		"run that is no run": func(g *graph) object.OID {
			oid := g.put(object.Blob{Value: jsontext.Value(`1`)})
			g.set(ref.Run("main"), oid)
			return oid
		},
		"stack that is none": func(g *graph) object.OID {
			oid := g.put(object.Blob{Value: jsontext.Value(`1`)})
			g.set(ref.Stack("main"), oid)
			return oid
		},
		"wait without an intent": func(g *graph) object.OID {
			g.run(object.WaitingPhase{}, object.Config{})
			g.set(ref.Effect("run_1", "a"), g.put(object.Waiting{Intent: missing, At: 1}))
			return missing
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			wantCorrupt(t, g, damage(g))
		})
	}
}

// Conformance 184: inputs of an active run outlive a choice made meanwhile; an idle head shows the next choice.
func TestConformance184_Config(t *testing.T) {
	t.Parallel()
	running := object.Config{Model: &object.Model{Provider: "p", ID: "running"}, ThinkingLevel: "high", Agent: "coder"}
	next := object.Config{Model: &object.Model{Provider: "p", ID: "next"}, ThinkingLevel: "high", Agent: "coder"}
	for name, test := range map[string]struct {
		phase object.Phase
		want  object.Config
	}{
		"never ran": {nil, object.Config{Model: next.Model}},
		"active":    {object.Tools{}, running},
		"retrying":  {object.Retry{At: 1, Retries: 1, Error: "x"}, running},
		"done":      {object.Done{}, next},
		"failed":    {object.Failed{Error: "x", Class: object.FailedProvider}, next},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			g.branch("main", object.OID{}, "run_1", user("hi"), model("next"))
			if test.phase != nil {
				g.run(test.phase, running)
			}
			if diff := cmp.Diff(test.want, view.Config(loadSnapshot(t, g, "main"))); diff != "" {
				t.Errorf("snapshot (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, loadEntry(t, g).Config); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}
