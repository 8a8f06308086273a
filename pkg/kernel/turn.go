package kernel

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Turn is what a step calls to move a run: once to get a response, once to answer the response's tool calls. There is one commit
// boundary between the two, and no state of a turn outlives a call.
//
// The context ends with cause [ErrAborted], [ErrFenced] or [ErrSuperseded] when the work has become pointless. A call that is aborted
// returns what it has; an error means that nothing can be said, and the step is taken again. What a call records of itself in the store it
// records under [context.WithoutCancel]: an abort is no reason to forget.
type Turn interface {
	// Respond asks the model and returns the whole message, also when it failed or was cut short.
	Respond(ctx context.Context, in TurnInput) (RespondOutcome, error)
	// Tools recovers or executes every call of the assistant message through its effect ref. Results are in call order.
	Tools(ctx context.Context, in ToolsInput) (ToolsOutcome, error)
}

// TurnInput is everything a turn may look at.
type TurnInput struct {
	Session *Session
	Lease   store.Lease
	Run     object.Run
	Attempt int           // Run.Attempts+1 for Respond, Run.Attempts for Tools: the attempt that deltas carry
	Now     object.Millis // the step's one reading of the clock, for every deadline
	Context view.Context  // the branch from its newest checkpoint on
	// Emit appends a delta, progress or notice to the stream, in order. It merges what can be merged and blocks while the outbox is
	// full. It fails once the call's context has ended.
	Emit func(ctx context.Context, body store.EventBody) error
}

// ToolsInput adds the committed assistant message.
type ToolsInput struct {
	TurnInput
	Assistant message.Assistant
}

// A RespondOutcome is [WriteCheckpoint], [Complete], [CallTools], [RetryLater], [ResponseFailed] or [ResponseAborted].
//
//sumtype:decl
type RespondOutcome interface{ respondOutcome() }

func (WriteCheckpoint) respondOutcome() {}
func (Complete) respondOutcome()        {}
func (CallTools) respondOutcome()       {}
func (RetryLater) respondOutcome()      {}
func (ResponseFailed) respondOutcome()  {}
func (ResponseAborted) respondOutcome() {}

type (
	// WriteCheckpoint asks to commit a checkpoint and to be called again.
	WriteCheckpoint struct{ Checkpoint object.CheckpointBody }
	// Complete is an answer without tool calls.
	Complete struct{ Message message.Assistant }
	// CallTools is a response with tool calls.
	CallTools struct{ Message message.Assistant }
	// RetryLater is a transient failure. At is absolute.
	RetryLater struct {
		Message message.Assistant
		At      object.Millis
		Retries int // consecutive ones, this one included
		Error   string
	}
	// ResponseFailed is a failure that a retry would not mend.
	ResponseFailed struct {
		Message message.Assistant
		Error   string
		Class   object.FailureClass
	}
	// ResponseAborted is a response cut short by a participant or by the host.
	ResponseAborted struct{ Message message.Assistant }
)

// A ToolsOutcome is [Settled], [Parked], [BatchFailed], [BatchFenced] or [BatchConflict].
//
//sumtype:decl
type ToolsOutcome interface{ toolsOutcome() }

func (Settled) toolsOutcome()       {}
func (Parked) toolsOutcome()        {}
func (BatchFailed) toolsOutcome()   {}
func (BatchFenced) toolsOutcome()   {}
func (BatchConflict) toolsOutcome() {}

type (
	// Settled has one result per call, in call order. Effects are the calls' effects as the turn left them: the publish removes just these, and
	// one that moved since is a conflict. Nil removes what it finds.
	Settled struct {
		Results []message.ToolResult
		Effects []EffectState
	}
	// Parked names the calls that wait. Everything else is settled behind its effect ref.
	Parked struct{ Calls []string }
	// BatchFailed ends the run. Results are those that exist. With a Cause the store failed: nothing is published and the step is taken
	// again.
	BatchFailed struct {
		Results []message.ToolResult
		Error   string
		Cause   error
	}
	// BatchFenced means that the lease is gone; nothing may be published.
	BatchFenced struct{}
	// BatchConflict means that an effect moved under the batch; the next step reads it again.
	BatchConflict struct{}
)
