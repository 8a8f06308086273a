package api

import (
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// This file is the outcome table. One word is one type and may belong to several unions; where the same word carries
// different things, each has its own type.

// A ConfigureOutcome is [Queued], [UnknownModel] or [UnknownAgent].
//
//sumtype:decl
type ConfigureOutcome interface{ configureOutcome() }

func (Queued) configureOutcome()       {}
func (UnknownModel) configureOutcome() {}
func (UnknownAgent) configureOutcome() {}

// A SendReceipt is [Queued] or [Duplicate]. Both prove that the change is durable (invariant 40).
//
//sumtype:decl
type SendReceipt interface{ sendReceipt() }

func (Queued) sendReceipt()    {}
func (Duplicate) sendReceipt() {}

// A CancelOutcome is [Cancelled], [Landed] or [NotFound].
//
//sumtype:decl
type CancelOutcome interface{ cancelOutcome() }

func (Cancelled) cancelOutcome() {}
func (Landed) cancelOutcome()    {}
func (NotFound) cancelOutcome()  {}

// A RedeliverOutcome is [Redelivered], [Unchanged], [Landed] or [NotFound].
//
//sumtype:decl
type RedeliverOutcome interface{ redeliverOutcome() }

func (Redelivered) redeliverOutcome() {}
func (Unchanged) redeliverOutcome()   {}
func (Landed) redeliverOutcome()      {}
func (NotFound) redeliverOutcome()    {}

// An AbortOutcome is [Requested] or [NotRunning].
//
//sumtype:decl
type AbortOutcome interface{ abortOutcome() }

func (Requested) abortOutcome()  {}
func (NotRunning) abortOutcome() {}

// A WaitOutcome is [Idle] or [Waiting].
//
//sumtype:decl
type WaitOutcome interface{ waitOutcome() }

func (Idle) waitOutcome()    {}
func (Waiting) waitOutcome() {}

// A ReplyOutcome is [Signalled], [NotWaiting] or [NotFound].
//
//sumtype:decl
type ReplyOutcome interface{ replyOutcome() }

func (Signalled) replyOutcome()  {}
func (NotWaiting) replyOutcome() {}
func (NotFound) replyOutcome()   {}

// A CreateHeadOutcome is [HeadCreated], [Exists] or [UnknownParent].
//
//sumtype:decl
type CreateHeadOutcome interface{ createHeadOutcome() }

func (HeadCreated) createHeadOutcome()   {}
func (Exists) createHeadOutcome()        {}
func (UnknownParent) createHeadOutcome() {}

// A MoveOutcome is [Moved], [Busy], [MovedSince] or [NotFound].
//
//sumtype:decl
type MoveOutcome interface{ moveOutcome() }

func (Moved) moveOutcome()      {}
func (Busy) moveOutcome()       {}
func (MovedSince) moveOutcome() {}
func (NotFound) moveOutcome()   {}

// A DeleteHeadOutcome is [Deleted], [NotFound] or [HeadBusy].
//
//sumtype:decl
type DeleteHeadOutcome interface{ deleteHeadOutcome() }

func (Deleted) deleteHeadOutcome()  {}
func (NotFound) deleteHeadOutcome() {}
func (HeadBusy) deleteHeadOutcome() {}

// A MergeOutcome is [Merged], [Stale], [Empty] or [NoStack].
//
//sumtype:decl
type MergeOutcome interface{ mergeOutcome() }

func (Merged) mergeOutcome()  {}
func (Stale) mergeOutcome()   {}
func (Empty) mergeOutcome()   {}
func (NoStack) mergeOutcome() {}

// An AdvanceOutcome is [Unchanged], [Advanced] or [Diverged].
//
//sumtype:decl
type AdvanceOutcome interface{ advanceOutcome() }

func (Unchanged) advanceOutcome() {}
func (Advanced) advanceOutcome()  {}
func (Diverged) advanceOutcome()  {}

// A CreateSessionOutcome is [SessionCreated] or [SessionExists].
//
//sumtype:decl
type CreateSessionOutcome interface{ createSessionOutcome() }

func (SessionCreated) createSessionOutcome() {}
func (SessionExists) createSessionOutcome()  {}

// A StepOutcome is [Idle], [StepBusy], [StepWaiting], [Retry], [Finished], [Fenced] or [Continue].
//
//sumtype:decl
type StepOutcome interface{ stepOutcome() }

func (Idle) stepOutcome()        {}
func (StepBusy) stepOutcome()    {}
func (StepWaiting) stepOutcome() {}
func (Retry) stepOutcome()       {}
func (Finished) stepOutcome()    {}
func (Fenced) stepOutcome()      {}
func (Continue) stepOutcome()    {}

type (
	// Queued: the change is durable and pending.
	Queued struct {
		Change object.OID `json:"change"`
	}
	// Duplicate: the key was used before with the same content; Change is what the first use submitted.
	Duplicate struct {
		Change object.OID `json:"change"`
	}
	// UnknownModel: this host does not serve the model.
	UnknownModel struct{}
	// UnknownAgent: this host has no such agent.
	UnknownAgent struct{}
	// Cancelled: the change is withdrawn and will never land.
	Cancelled struct{}
	// Landed: too late, the change is part of the conversation.
	Landed struct{}
	// NotFound: there is no such change, call, commit or head.
	NotFound struct{}
	// Redelivered: Change replaced the original.
	Redelivered struct {
		Change object.OID `json:"change"`
	}
	// Unchanged: it already was as asked.
	Unchanged struct{}
	// Requested: the run will stop at its next publish.
	Requested struct {
		RunID string `json:"runId"`
	}
	// NotRunning: there is no live run.
	NotRunning struct{}
	// Idle: nothing is left to do on the head.
	Idle struct{}
	// Waiting: the run waits for a parked call.
	Waiting struct {
		RunID string `json:"runId"`
	}
	// Signalled: this reply is the one that wakes the call.
	Signalled struct{}
	// NotWaiting: the call is not, or no longer, in that wait.
	NotWaiting struct{}
	// HeadCreated has the new head's tip, null when it was cut from an unborn one.
	HeadCreated struct {
		Tip object.OID `json:"tip"`
	}
	// Exists: the name is taken.
	Exists struct{}
	// UnknownParent: there is no such head or commit to start from.
	UnknownParent struct{}
	// Moved: the head moved away from From. Restored is the user message that was taken back for editing.
	Moved struct {
		From     object.OID `json:"from"`
		Restored *Restored  `json:"restored,omitzero"`
	}
	// Busy: Run is live.
	Busy struct {
		Run RunInfo `json:"run"`
	}
	// HeadBusy: a runner holds the head.
	HeadBusy struct{}
	// MovedSince: the head is no longer where the caller expected it, but at Tip.
	MovedSince struct {
		Tip object.OID `json:"tip"`
	}
	// Deleted: the head is gone.
	Deleted struct{}
	// Merged: the parent head is now at Tip.
	Merged struct {
		Tip object.OID `json:"tip"`
	}
	// Stale: the parent moved since the head was cut.
	Stale struct{}
	// Empty: the head has nothing of its own.
	Empty struct{}
	// NoStack: the head was not cut from another.
	NoStack struct{}
	// Advanced: the stack's base is now the parent's tip.
	Advanced struct{}
	// Diverged: the parent's tip does not descend from the base.
	Diverged struct{}
	// SessionCreated has the new session.
	SessionCreated struct {
		Session SessionInfo `json:"session"`
	}
	// SessionExists has the session that is there already, unchanged.
	SessionExists struct {
		Session SessionInfo `json:"session"`
	}
	// StepBusy: another runner holds the head until ExpiresAt unless it renews.
	StepBusy struct {
		Holder    string         `json:"holder"`
		ExpiresAt message.Millis `json:"expiresAt"`
	}
	// StepWaiting: the run is parked; Until is the nearest deadline, absent when there is none.
	StepWaiting struct {
		Until message.Millis `json:"until,omitzero"`
	}
	// Retry: a provider failed; step again at At.
	Retry struct {
		At message.Millis `json:"at"`
	}
	// Finished: the run reached its end in this step.
	Finished struct {
		RunID string       `json:"runId"`
		Phase object.Phase `json:"phase"`
	}
	// Fenced: another runner took the head over; nothing was written.
	Fenced struct{}
	// Continue: one step was taken and the next can be taken now.
	Continue struct{}
)

// Restored is a user message that goes back to the composer because the head moved before it.
type Restored struct {
	Commit  object.OID        `json:"commit"`
	Content []message.Content `json:"content"`
}

// An Attention says what a session wants of the hosts that run it. It is for hosts, and not on the wire.
type Attention struct {
	Seq   int64         // all that happened up to this event is in it
	Ready []string      // heads that a step can advance now
	Held  []string      // heads that somebody is advancing
	Next  object.Millis // when another head can be advanced; zero: not before something happens
}
