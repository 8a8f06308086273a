package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A world has sessions as the table has them, and a bus.
type world struct {
	t       *testing.T
	objects map[object.OID]object.Object
	effects map[string]object.OID // as they are now
	packed  []eventbus.Move
	reads   []string
	gone    bool
	fails   error

	heard  []eventbus.Event
	takes  int // how many events the bus takes, -1 for all
	opened int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, objects: map[object.OID]object.Object{}, takes: -1}
}

func (w *world) Put(_ context.Context, events []eventbus.Event) (int, error) {
	if w.takes >= 0 && len(events) > w.takes {
		w.heard = append(w.heard, events[:w.takes]...)
		return w.takes, errors.New("the bus is down")
	}
	w.heard = append(w.heard, events...)
	return len(events), nil
}

func (w *world) read(what string) error {
	w.reads = append(w.reads, what)
	switch {
	case w.gone:
		return eventbus.ErrGone
	default:
		return w.fails
	}
}

func (w *world) Moves(_ context.Context, after, upto int64) ([]eventbus.Move, error) {
	var out []eventbus.Move
	for _, m := range w.packed {
		if m.Seq > after && m.Seq <= upto {
			out = append(out, m)
		}
	}
	return out, w.read(fmt.Sprintf("events %d-%d", after, upto))
}

func (w *world) Objects(_ context.Context, oids ...object.OID) ([]object.Object, error) {
	out := make([]object.Object, len(oids))
	for i, oid := range oids {
		out[i] = w.objects[oid]
	}
	return out, w.read(fmt.Sprintf("%d objects", len(oids)))
}

func (w *world) Effects(context.Context, string) (map[string]object.OID, error) {
	return w.effects, w.read("effects")
}

func (w *world) Close() error { w.opened--; return nil }

func (w *world) publish(changes ...eventbus.Change) (string, error) {
	w.t.Helper()
	p := eventbus.Publisher{Sink: w, Logger: slog.New(slog.DiscardHandler), Open: func(context.Context, eventbus.Origin) (eventbus.Session, error) {
		w.opened++
		return w, nil
	}}
	record, err := p.Publish(w.t.Context(), changes)
	if w.opened != 0 {
		w.t.Errorf("%d sessions stay open", w.opened)
	}
	return record, err
}

func (w *world) put(o object.Object) object.OID {
	enc, err := object.Encode(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.objects[enc.OID] = o
	return enc.OID
}

func (w *world) run(id string, p object.Phase) object.OID {
	return w.put(object.Run{ID: id, Head: "main", Phase: p, StartedAt: 1})
}

// types is what was heard.
func (w *world) types() string {
	var out []string
	for _, e := range w.heard {
		out = append(out, strings.TrimPrefix(string(e.Type), "dev.stepwell."))
	}
	return strings.Join(out, " ")
}

func move(seq int64, from, to object.OID) eventbus.Move {
	return eventbus.Move{Seq: seq, At: 1_700_000_000_000 + object.Millis(seq), Name: ref.Run("main"), From: from, To: to}
}

var origin = eventbus.Origin{Tenant: "acme", Session: "s", Incarnation: "i"}

// change is a record with all of its moves.
func change(after int64, moves ...eventbus.Move) eventbus.Change {
	c := eventbus.Change{Record: fmt.Sprint("r", after), Origin: origin, After: after, Known: after + 1, Upto: after + 1, Moves: moves}
	if len(moves) > 0 {
		c.Upto = moves[len(moves)-1].Seq
	}
	return c
}

// A run is told of when it comes to one of the phases, with one read where the phase before is known, and never for a flag.
func TestPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	respond, done := w.run("run_1", object.Respond{}), w.run("run_1", object.Done{})
	next, failed := w.run("run_2", object.Respond{}), w.run("run_2", object.Failed{Error: "it broke", Class: object.FailedProvider})
	flagged := w.put(object.Run{ID: "run_2", Head: "main", Phase: object.Failed{Error: "it broke", Class: object.FailedProvider}, StartedAt: 1, Attempts: 1})
	aborted := w.run("run_3", object.Aborted{})
	batch := []eventbus.Change{
		change(1, move(2, object.OID{}, respond)),
		change(2), change(3), change(4), // deltas
		change(5, move(6, respond, done)),
		change(6, move(7, done, next)),
		change(7, move(8, next, failed)),
		change(8, move(9, failed, flagged)),
		change(9, move(10, failed, aborted)),
		change(10, move(11, aborted, object.OID{})),
		{Record: "last", Origin: origin, At: 1_700_000_000_999, Deleted: true},
	}
	if record, err := w.publish(batch...); record != "" || err != nil {
		t.Fatalf("came back to %q: %v", record, err)
	}
	if got := w.types(); got != "run.finished run.failed run.aborted session.deleted" {
		t.Errorf("heard %s", got)
	}
	if len(w.reads) != 6 {
		t.Errorf("read %q, want each run once", w.reads)
	}
	want := eventbus.Event{
		SpecVersion: "1.0", ID: w.heard[1].ID, Source: "stepwell", Type: "dev.stepwell.run.failed", Subject: "sessions/s/heads/main",
		Time: "2023-11-14T22:13:20.008Z", DataContentType: "application/json",
		Data: eventbus.Data{Tenant: "acme", SessionID: "s", Head: "main", RunID: "run_2", Seq: 8, Error: "it broke", Class: "provider"},
	}
	if diff := cmp.Diff(want, w.heard[1]); diff != "" {
		t.Errorf("the failure (-want +got):\n%s", diff)
	}
	if e := w.heard[3]; e.Subject != "sessions/s" || e.Time != "2023-11-14T22:13:20.999Z" {
		t.Errorf("the end is %+v", e)
	}

	// Again, and in parts: the same events with the same ids.
	first := slices.Clone(w.heard)
	w.heard = nil
	for _, c := range batch {
		if _, err := w.publish(c); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(first, w.heard); diff != "" {
		t.Errorf("told again (-first +again):\n%s", diff)
	}
	ids := map[string]bool{}
	for _, e := range first {
		ids[e.ID] = true
	}
	later := batch[4]
	later.Origin.Incarnation = "j"
	w.heard = nil
	if _, err := w.publish(later); err != nil || len(w.heard) != 1 || ids[w.heard[0].ID] || len(ids) != 4 {
		t.Errorf("ids %v; a later session of the same id has %+v, %v", ids, w.heard, err)
	}
}

// What the image does not have is read, once, and what it has besides is told of no more than once.
func TestPublish_packed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	respond, done, next := w.run("run_1", object.Respond{}), w.run("run_1", object.Done{}), w.run("run_2", object.Aborted{})
	w.packed = []eventbus.Move{move(3, object.OID{}, respond), move(5, respond, done), move(7, done, next)}
	c := change(4, w.packed[1], w.packed[2])
	c.Known, c.Upto = 6, 7
	if _, err := w.publish(c); err != nil || w.types() != "run.finished run.aborted" || w.reads[0] != "events 4-5" {
		t.Errorf("heard %s, read %q, %v", w.types(), w.reads, err)
	}
	w.heard, w.reads = nil, nil
	if _, err := w.publish(change(6, w.packed...)); err != nil || w.types() != "run.aborted" {
		t.Errorf("from before the record on, heard %s, %v", w.types(), err)
	}
}

// A run that waits is told of when a call asks a person, with what asks and until when, also when it was answered long ago.
func TestPublish_waiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tools, waiting := w.run("run_1", object.Tools{}), w.run("run_1", object.WaitingPhase{})
	question := &message.Selection{Title: "Which?", Choices: []message.Choice{{ID: "red", Label: "Red"}}}
	intent := object.Hash([]byte("intent"))
	ask, sooner := w.put(object.Waiting{Intent: intent, At: 2, Selection: question, Until: 1_700_000_900_000}), w.put(object.Waiting{Intent: intent, At: 3, Selection: question, Until: 1_700_000_800_000})
	forEver, sleep := w.put(object.Waiting{Intent: intent, At: 4, Selection: question}), w.put(object.Waiting{Intent: intent, At: 5, Until: 1_700_000_100_000})
	effect := func(seq int64, call string, to object.OID) eventbus.Move {
		return eventbus.Move{Seq: seq, Name: ref.Effect("run_1", call), To: to}
	}
	for name, tc := range map[string]struct {
		now   map[string]object.OID
		moves []eventbus.Move // before the record
		told  bool
		calls []string
		until string
	}{
		"one asks":            {map[string]object.OID{"a": ask}, nil, true, []string{"a"}, "2023-11-14T22:28:20.000Z"},
		"two ask, one sleeps": {map[string]object.OID{"b": ask, "a/b": sooner, "c": sleep}, nil, true, []string{"a/b", "b"}, "2023-11-14T22:26:40.000Z"},
		"for ever":            {map[string]object.OID{"a": forEver}, nil, true, []string{"a"}, ""},
		"sleeping":            {map[string]object.OID{"a": sleep}, nil, false, nil, ""},
		"answered since":      {nil, []eventbus.Move{effect(2, "a", forEver)}, true, []string{"a"}, ""},
		"slept since":         {nil, []eventbus.Move{effect(2, "a", sleep)}, false, nil, ""},
		"settled before":      {map[string]object.OID{"b": forEver}, []eventbus.Move{effect(2, "a", ask), effect(3, "a", object.OID{})}, true, []string{"b"}, ""},
		"nothing is known":    {nil, nil, true, nil, ""},
	} {
		w := *w
		w.t, w.effects = t, tc.now
		if _, err := w.publish(change(9, append(tc.moves, move(10, tools, waiting))...)); err != nil || (len(w.heard) == 1) != tc.told {
			t.Errorf("%s: heard %+v, %v", name, w.heard, err)
			continue
		}
		if tc.told && (!slices.Equal(w.heard[0].Data.Calls, tc.calls) || w.heard[0].Data.Until != tc.until) {
			t.Errorf("%s: heard %+v, want calls %v until %s", name, w.heard[0].Data, tc.calls, tc.until)
		}
	}
}

// What fails makes the stream come back to its record, with everything before it published; what can never be told does not.
func TestPublish_fails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done, aborted := w.run("run_1", object.Done{}), w.run("run_2", object.Aborted{})
	batch := []eventbus.Change{change(1, move(2, object.OID{}, done)), change(2), change(3, move(4, done, aborted)), change(4, move(5, aborted, done))}
	for takes, want := range []string{"r1", "r3", "r4", ""} {
		w.takes, w.heard = takes, nil
		if record, err := w.publish(batch...); record != want || (err != nil) != (want != "") || len(w.heard) != takes {
			t.Errorf("a bus that takes %d: came back to %q with %d told, %v; want %q", takes, record, len(w.heard), err, want)
		}
	}
	w.takes, w.heard, w.fails = -1, nil, errors.New("the table is throttled")
	if record, err := w.publish(append([]eventbus.Change{{Record: "r0", Origin: origin, Deleted: true}}, batch...)...); record != "r1" || err == nil || w.types() != "session.deleted" {
		t.Errorf("a table that is away: came back to %q after %s, %v", record, w.types(), err)
	}
	w.heard, w.fails = nil, &object.CorruptError{OID: done, Reason: "bits"}
	if record, err := w.publish(batch...); record != "" || err != nil || len(w.heard) != 0 {
		t.Errorf("damaged objects: came back to %q, %v", record, err)
	}
	w.fails, w.gone = nil, true
	if record, err := w.publish(append(batch, eventbus.Change{Record: "r9", Origin: origin, Deleted: true})...); record != "" || err != nil || w.types() != "session.deleted" {
		t.Errorf("a session that is gone: came back to %q after %s, %v", record, w.types(), err)
	}
}

// An event is bounded, and cut between characters.
func TestPublish_longErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failed := w.run("run_1", object.Failed{Error: "x" + strings.Repeat("é", 5000), Class: object.FailedTool})
	if _, err := w.publish(change(1, move(2, object.OID{}, failed))); err != nil || len(w.heard) != 1 {
		t.Fatalf("heard %d, %v", len(w.heard), err)
	}
	if got := w.heard[0].Data.Error; len(got) != 4095 || !strings.HasSuffix(got, "é") {
		t.Errorf("the error has %d bytes and ends in %q", len(got), got[len(got)-2:])
	}
}
