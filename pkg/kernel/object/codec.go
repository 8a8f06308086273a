package object

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/ijson"
	"github.com/stepwell-dev/stepwell/internal/union"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// MaxDepth is how deep the JSON of an object may nest.
const MaxDepth = 1000

//nolint:gochecknoglobals // immutable codec tables
var (
	objects = union.New("kind", Kind,
		union.Kind[Object, Commit]("commit"),
		union.Kind[Object, Change]("change"),
		union.Kind[Object, Run]("run"),
		union.Kind[Object, Stack]("stack"),
		union.Kind[Object, Blob]("blob"),
	)
	effects = union.New("state", StateName,
		union.KindState[Effect, Intent]("effect", "intent"),
		union.KindState[Effect, Waiting]("effect", "waiting"),
		union.KindState[Effect, Expired]("effect", "expired"),
		union.KindState[Effect, Signal]("effect", "signal"),
		union.KindState[Effect, Result]("effect", "result"),
	)
	bodies = union.New("kind", BodyKind,
		union.Kind[Body, MessageBody]("message"),
		union.Kind[Body, CheckpointBody]("checkpoint"),
		union.Kind[Body, SummaryBody]("summary"),
		union.Kind[Body, ConfigBody]("config"),
		union.Kind[Body, NoteBody]("note"),
	)
	phases = union.New("kind", PhaseName,
		union.Kind[Phase, Respond]("respond"),
		union.Kind[Phase, Tools]("tools"),
		union.Kind[Phase, WaitingPhase]("waiting"),
		union.Kind[Phase, Retry]("retry"),
		union.Kind[Phase, Done]("done"),
		union.Kind[Phase, Aborted]("aborted"),
		union.Kind[Phase, Failed]("failed"),
	)
	marshalers = json.JoinMarshalers(objects.Marshalers(), effects.Marshalers(), bodies.Marshalers(),
		phases.Marshalers(), message.Marshalers())
	unmarshalers = json.JoinUnmarshalers(objects.Unmarshalers(), effects.Unmarshalers(), bodies.Unmarshalers(),
		phases.Unmarshalers(), message.Unmarshalers())
	strict = json.JoinOptions(json.WithUnmarshalers(unmarshalers), json.RejectUnknownMembers(true))
)

// Marshalers returns the encoders of objects, bodies, phases and messages, for packages whose types hold them.
func Marshalers() *json.Marshalers { return marshalers }

// Unmarshalers returns the decoders that belong to [Marshalers].
func Unmarshalers() *json.Unmarshalers { return unmarshalers }

// BodyKind returns the wire word of b.
func BodyKind(b Body) string {
	switch b.(type) {
	case MessageBody:
		return "message"
	case CheckpointBody:
		return "checkpoint"
	case SummaryBody:
		return "summary"
	case ConfigBody:
		return "config"
	case NoteBody:
		return "note"
	}
	panic("unreachable")
}

// An Encoded is an object with its canonical bytes and their hash.
type Encoded struct {
	OID    OID
	Object Object
	Body   []byte // canonical JSON; not to be modified
}

// ErrInvalid reports a value that cannot become an object.
var ErrInvalid = errors.New("invalid object")

// ErrCorrupt reports stored bytes that are not the object they are stored as.
var ErrCorrupt = errors.New("corrupt object")

// A CorruptError says which object is corrupt and how. It is [ErrCorrupt].
type CorruptError struct {
	OID    OID
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("object %s is corrupt: %s", e.OID, e.Reason)
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Encode returns o with its canonical bytes (RFC 8785) and oid. It refuses a value of the wrong shape and a value that is
// not I-JSON: a number that no IEEE double holds, a duplicate name, invalid UTF-8, nesting beyond [MaxDepth]. The error is
// [ErrInvalid] and names the JSON path.
func Encode(o Object) (Encoded, error) {
	if o == nil {
		return Encoded{}, fmt.Errorf("%w: no object given", ErrInvalid)
	}
	if err := validate(o); err != nil {
		return Encoded{}, fmt.Errorf("%w: %s: %w", ErrInvalid, Kind(o), err)
	}
	body, err := canonical(o)
	if err != nil {
		return Encoded{}, fmt.Errorf("%w: %s: %w", ErrInvalid, Kind(o), err)
	}
	return Encoded{OID: Hash(body), Object: o, Body: body}, nil
}

// Decode reads the canonical bytes of the object oid and verifies them: the shape, every required member, and the hash. The
// error is a [*CorruptError].
func Decode(oid OID, body []byte) (Object, error) {
	o, err := parse(body)
	if err != nil {
		return nil, &CorruptError{OID: oid, Reason: "not a known object: " + err.Error()}
	}
	if err := validate(o); err != nil {
		return nil, &CorruptError{OID: oid, Reason: "not a known object: " + err.Error()}
	}
	// Encoding again proves at once that no required member is missing and that the bytes are the canonical ones.
	again, err := canonical(o)
	if err != nil {
		return nil, &CorruptError{OID: oid, Reason: err.Error()}
	}
	if string(again) != string(body) {
		return nil, &CorruptError{OID: oid, Reason: "not the canonical form of a known object"}
	}
	if Hash(body) != oid {
		return nil, &CorruptError{OID: oid, Reason: "does not match its hash"}
	}
	return o, nil
}

// CheckJSON reports why v cannot be stored: it is not JSON, or not I-JSON. The error names the JSON path.
func CheckJSON(v jsontext.Value) error { return ijson.Check(v, MaxDepth) }

func parse(body []byte) (Object, error) {
	kind, err := union.Peek(body, "kind")
	if err != nil {
		return nil, err
	}
	if kind == "effect" {
		var e Effect
		if err := json.Unmarshal(body, &e, strict); err != nil {
			return nil, err
		}
		return e, nil
	}
	var o Object
	if err := json.Unmarshal(body, &o, strict); err != nil {
		return nil, err
	}
	return o, nil
}

func canonical(o Object) ([]byte, error) {
	// Duplicate names are left to the I-JSON check, which says where they are.
	body, err := json.Marshal(o, json.WithMarshalers(marshalers), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, err
	}
	if err := CheckJSON(body); err != nil {
		return nil, err
	}
	v := jsontext.Value(body)
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	return v, nil
}
