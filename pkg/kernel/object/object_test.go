package object_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, o := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enc := encode(t, o)
			got, err := object.Decode(enc.OID, enc.Body)
			if err != nil {
				t.Fatalf("%v\n%s", err, enc.Body)
			}
			if diff := cmp.Diff(o, got); diff != "" {
				t.Errorf("decoded object (-want +got):\n%s", diff)
			}
			oracle, err := jcs.Transform(enc.Body)
			if err != nil {
				t.Fatal(err)
			}
			if string(oracle) != string(enc.Body) {
				t.Errorf("canonical bytes differ from the oracle's:\n%s\n%s", enc.Body, oracle)
			}
		})
	}
}

// Every kind and every variant inside an object has a sample, so that the tests over samples leave none out.
func TestSamplesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, o := range samples() {
		seen[object.Kind(o)] = true
		switch o := o.(type) {
		case object.Commit:
			seen["body "+object.BodyKind(o.Body)] = true
		case object.Change:
			seen["body "+object.BodyKind(o.Body)] = true
		case object.Run:
			seen["phase "+object.PhaseName(o.Phase)] = true
		case object.Intent, object.Waiting, object.Expired, object.Signal, object.Result:
			seen["state "+object.StateName(o.(object.Effect))] = true
		case object.Stack, object.Blob:
		}
	}
	for _, want := range []string{
		"commit", "change", "run", "effect", "stack", "blob",
		"body message", "body checkpoint", "body summary", "body config", "body note",
		"phase respond", "phase tools", "phase waiting", "phase retry", "phase done", "phase aborted", "phase failed",
		"state intent", "state waiting", "state expired", "state signal", "state result",
	} {
		if !seen[want] {
			t.Errorf("no sample has %s", want)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	a, b, c := object.Hash([]byte("a")), object.Hash([]byte("b")), object.Hash([]byte("c"))
	body := object.SummaryBody{Text: "s"}
	tests := []struct {
		name   string
		object object.Object
		links  []object.OID
		parent object.OID
	}{
		{"commit", object.Commit{Parent: a, Change: b, Imports: []object.OID{c}, Body: body}, []object.OID{a, b, c}, a},
		{"root commit", object.Commit{Body: body}, nil, object.OID{}},
		{"change keeps its previous, not what it supersedes", object.Change{Previous: a, Supersedes: b, Body: body}, []object.OID{a}, a},
		{"stack", object.Stack{Parent: "main", Base: a}, []object.OID{a}, object.OID{}},
		{"stack of an unborn parent", object.Stack{Parent: "main"}, nil, object.OID{}},
		{"waiting", object.Waiting{Intent: a}, []object.OID{a}, object.OID{}},
		{"expired", object.Expired{Intent: a, Waiting: b}, []object.OID{a, b}, object.OID{}},
		{"signal", object.Signal{Intent: a, Waiting: b}, []object.OID{a, b}, object.OID{}},
		{"result", object.Result{Intent: a}, []object.OID{a}, object.OID{}},
		{"intent", object.Intent{}, nil, object.OID{}},
		{"run", object.Run{}, nil, object.OID{}},
		{"blob", object.Blob{}, nil, object.OID{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := object.Links(test.object); !slices.Equal(got, test.links) {
				t.Errorf("Links = %v, want %v", got, test.links)
			}
			if got := object.Parent(test.object); got != test.parent {
				t.Errorf("Parent = %v, want %v", got, test.parent)
			}
		})
	}
}

func TestEffectViews(t *testing.T) {
	t.Parallel()
	self, intent := object.Hash([]byte("self")), object.Hash([]byte("intent"))
	for _, test := range []struct {
		effect object.Effect
		intent object.OID
		at     object.Millis
	}{
		{object.Intent{At: 1}, self, 1},
		{object.Waiting{Intent: intent, At: 2}, intent, 2},
		{object.Expired{Intent: intent, At: 3}, intent, 3},
		{object.Signal{Intent: intent, At: 4}, intent, 4},
		{object.Result{Intent: intent, At: 5}, intent, 5},
	} {
		if got := object.IntentOf(self, test.effect); got != test.intent {
			t.Errorf("IntentOf(%s) = %v, want %v", object.StateName(test.effect), got, test.intent)
		}
		if got := object.EffectAt(test.effect); got != test.at {
			t.Errorf("EffectAt(%s) = %d, want %d", object.StateName(test.effect), got, test.at)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	for _, p := range []object.Phase{object.Done{}, object.Aborted{}, object.Failed{}} {
		if !object.Terminal(p) {
			t.Errorf("%s does not end a run", object.PhaseName(p))
		}
	}
	for _, p := range []object.Phase{object.Respond{}, object.Tools{}, object.WaitingPhase{}, object.Retry{}} {
		if object.Terminal(p) {
			t.Errorf("%s ends a run", object.PhaseName(p))
		}
	}
}

// The latest value of each member wins, also across a checkpoint.
func TestConfigFold(t *testing.T) {
	t.Parallel()
	one, two := &object.Model{ID: "one"}, &object.Model{Provider: "p", ID: "two"}
	var got object.Config
	for _, step := range []struct {
		body object.Body
		want object.Config
	}{
		{object.ConfigBody{Model: one, ThinkingLevel: "low"}, object.Config{Model: one, ThinkingLevel: "low"}},
		{object.MessageBody{Message: message.NewUser("x", 1), Agent: "plan"}, object.Config{Model: one, ThinkingLevel: "low", Agent: "plan"}},
		{object.ConfigBody{Model: two}, object.Config{Model: two, ThinkingLevel: "low", Agent: "plan"}},
		{object.CheckpointBody{}, object.Config{Model: two, ThinkingLevel: "low", Agent: "plan"}},
		{object.NoteBody{}, object.Config{Model: two, ThinkingLevel: "low", Agent: "plan"}},
		{object.SummaryBody{}, object.Config{Model: two, ThinkingLevel: "low", Agent: "plan"}},
		{object.MessageBody{Message: message.NewUser("x", 1)}, object.Config{Model: two, ThinkingLevel: "low", Agent: "plan"}},
		{object.CheckpointBody{Config: &object.Config{Agent: "build"}}, object.Config{Agent: "build"}},
		{object.ConfigBody{Agent: "plan"}, object.Config{Agent: "plan"}},
	} {
		before := got
		got = got.With(step.body)
		if !got.Equal(step.want) {
			t.Errorf("%+v with %s = %+v, want %+v", before, object.BodyKind(step.body), got, step.want)
		}
	}
	for _, unequal := range []object.Config{{}, {Agent: "build"}, {Agent: "plan", ThinkingLevel: "low"}, {Agent: "plan", Model: one}} {
		if got.Equal(unequal) || unequal.Equal(got) {
			t.Errorf("%+v equals %+v", got, unequal)
		}
	}
	if a, b := (object.Config{Model: one}), (object.Config{Model: &object.Model{ID: "one"}}); !a.Equal(b) {
		t.Error("equal models behind different pointers are not equal")
	}
}

func encode(tb testing.TB, o object.Object) object.Encoded {
	tb.Helper()
	enc, err := object.Encode(o)
	if err != nil {
		tb.Fatal(err)
	}
	return enc
}
