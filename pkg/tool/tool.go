package tool

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Replay says whether a call that was started, and whose result was lost with its process, may be executed again. The
// zero value means [ReplayNever], since nobody but the tool knows whether "send the email" does harm twice.
type Replay string

// The replay policies.
const (
	ReplaySafe  Replay = "safe"  // run it again
	ReplayNever Replay = "never" // settle it as interrupted
)

// A Tool is something a model can call. It is a value: copies share its functions, which must be safe for concurrent use.
type Tool struct {
	// Name is what the model calls the tool: 1 to 64 of A-Z a-z 0-9 _ and -, which every provider accepts.
	Name string
	// Description tells the model what the tool does and when to use it.
	Description string
	// Parameters is the JSON Schema of the arguments, whose type is "object". It goes to providers unchanged, and the same
	// schema checks the arguments (invariant 44).
	Parameters jsontext.Value
	// Replay is the tool's replay policy.
	Replay Replay
	// Execute runs one call whose arguments match Parameters. An expected failure is a [Done] with IsError; an error (or a
	// panic, caught by the caller) becomes an error result as well. Execute returns soon after ctx ends.
	Execute func(ctx context.Context, call Call) (Outcome, error)
	// Wake resumes a parked call. It may settle the call or park it again. It is nil when the tool never parks.
	Wake func(ctx context.Context, w Wake) (Outcome, error)
}

// A Call is one execution that a model asked for.
type Call struct {
	ID   string // the provider's name for the call
	Name string // the tool's name
	// Arguments is exactly the model's bytes. No number in them has been through a float.
	Arguments jsontext.Value
	// Now is the step's clock.
	Now message.Millis
	// Progress shows p to whoever watches. It is never nil and never blocks for long. Nothing durable depends on it.
	Progress func(p Progress)
	// RunID is the run the call belongs to.
	RunID string
}

// A Progress is a remark about a call that is still running.
type Progress struct {
	Text    string         `json:"text"`
	Title   string         `json:"title,omitzero"`
	Details jsontext.Value `json:"details,omitzero"` // for clients, never sent to a model
}

// A Wake ends the wait of a parked call. Exactly one of Reply, Expired and Aborted applies.
type Wake struct {
	Call
	Reply   jsontext.Value // what the signal carried, any JSON
	Expired bool           // the deadline passed and nobody replied
	Aborted bool           // the run is being aborted: settle, do not park again

	Selection *message.Selection // the question the call was parked with, nil when it had none
	Until     message.Millis     // the deadline it was parked with, 0 when it had none
	ParkedAt  message.Millis     // when it was parked
}
