package api

import "github.com/stepwell-dev/stepwell/internal/union"

//nolint:gochecknoglobals // immutable codec tables
var (
	configureOutcomes = union.New("kind", configureOutcomeWord,
		union.Kind[ConfigureOutcome, Queued]("queued"),
		union.Kind[ConfigureOutcome, UnknownModel]("unknown_model"),
		union.Kind[ConfigureOutcome, UnknownAgent]("unknown_agent"),
	)
	sendReceipts = union.New("kind", sendReceiptWord,
		union.Kind[SendReceipt, Queued]("queued"),
		union.Kind[SendReceipt, Duplicate]("duplicate"),
	)
	cancelOutcomes = union.New("kind", cancelOutcomeWord,
		union.Kind[CancelOutcome, Cancelled]("cancelled"),
		union.Kind[CancelOutcome, Landed]("landed"),
		union.Kind[CancelOutcome, NotFound]("not_found"),
	)
	redeliverOutcomes = union.New("kind", redeliverOutcomeWord,
		union.Kind[RedeliverOutcome, Redelivered]("redelivered"),
		union.Kind[RedeliverOutcome, Unchanged]("unchanged"),
		union.Kind[RedeliverOutcome, Landed]("landed"),
		union.Kind[RedeliverOutcome, NotFound]("not_found"),
	)
	abortOutcomes = union.New("kind", abortOutcomeWord,
		union.Kind[AbortOutcome, Requested]("requested"),
		union.Kind[AbortOutcome, NotRunning]("not_running"),
	)
	waitOutcomes = union.New("kind", waitOutcomeWord,
		union.Kind[WaitOutcome, Idle]("idle"),
		union.Kind[WaitOutcome, Waiting]("waiting"),
	)
	replyOutcomes = union.New("kind", replyOutcomeWord,
		union.Kind[ReplyOutcome, Signalled]("signalled"),
		union.Kind[ReplyOutcome, NotWaiting]("not_waiting"),
		union.Kind[ReplyOutcome, NotFound]("not_found"),
	)
	createHeadOutcomes = union.New("kind", createHeadOutcomeWord,
		union.Kind[CreateHeadOutcome, HeadCreated]("created"),
		union.Kind[CreateHeadOutcome, Exists]("exists"),
		union.Kind[CreateHeadOutcome, UnknownParent]("unknown_parent"),
	)
	moveOutcomes = union.New("kind", moveOutcomeWord,
		union.Kind[MoveOutcome, Moved]("moved"),
		union.Kind[MoveOutcome, Busy]("busy"),
		union.Kind[MoveOutcome, MovedSince]("moved_since"),
		union.Kind[MoveOutcome, NotFound]("not_found"),
	)
	deleteHeadOutcomes = union.New("kind", deleteHeadOutcomeWord,
		union.Kind[DeleteHeadOutcome, Deleted]("deleted"),
		union.Kind[DeleteHeadOutcome, NotFound]("not_found"),
		union.Kind[DeleteHeadOutcome, HeadBusy]("busy"),
	)
	mergeOutcomes = union.New("kind", mergeOutcomeWord,
		union.Kind[MergeOutcome, Merged]("merged"),
		union.Kind[MergeOutcome, Stale]("stale"),
		union.Kind[MergeOutcome, Empty]("empty"),
		union.Kind[MergeOutcome, NoStack]("no_stack"),
	)
	advanceOutcomes = union.New("kind", advanceOutcomeWord,
		union.Kind[AdvanceOutcome, Unchanged]("unchanged"),
		union.Kind[AdvanceOutcome, Advanced]("advanced"),
		union.Kind[AdvanceOutcome, Diverged]("diverged"),
	)
	createSessionOutcomes = union.New("kind", createSessionOutcomeWord,
		union.Kind[CreateSessionOutcome, SessionCreated]("created"),
		union.Kind[CreateSessionOutcome, SessionExists]("exists"),
	)
	stepOutcomes = union.New("kind", stepOutcomeWord,
		union.Kind[StepOutcome, Idle]("idle"),
		union.Kind[StepOutcome, StepBusy]("busy"),
		union.Kind[StepOutcome, StepWaiting]("waiting"),
		union.Kind[StepOutcome, Retry]("retry"),
		union.Kind[StepOutcome, Finished]("finished"),
		union.Kind[StepOutcome, Fenced]("fenced"),
		union.Kind[StepOutcome, Continue]("continue"),
	)
)

// An Outcome is any value of the outcome unions.
type Outcome interface{ Word() string }

// Word returns "queued".
func (Queued) Word() string { return "queued" }

// Word returns "unknown_model".
func (UnknownModel) Word() string { return "unknown_model" }

// Word returns "unknown_agent".
func (UnknownAgent) Word() string { return "unknown_agent" }

// Word returns "duplicate".
func (Duplicate) Word() string { return "duplicate" }

// Word returns "cancelled".
func (Cancelled) Word() string { return "cancelled" }

// Word returns "landed".
func (Landed) Word() string { return "landed" }

// Word returns "not_found".
func (NotFound) Word() string { return "not_found" }

// Word returns "redelivered".
func (Redelivered) Word() string { return "redelivered" }

// Word returns "unchanged".
func (Unchanged) Word() string { return "unchanged" }

// Word returns "requested".
func (Requested) Word() string { return "requested" }

// Word returns "not_running".
func (NotRunning) Word() string { return "not_running" }

// Word returns "idle".
func (Idle) Word() string { return "idle" }

// Word returns "waiting".
func (Waiting) Word() string { return "waiting" }

// Word returns "signalled".
func (Signalled) Word() string { return "signalled" }

// Word returns "not_waiting".
func (NotWaiting) Word() string { return "not_waiting" }

// Word returns "created".
func (HeadCreated) Word() string { return "created" }

// Word returns "exists".
func (Exists) Word() string { return "exists" }

// Word returns "unknown_parent".
func (UnknownParent) Word() string { return "unknown_parent" }

// Word returns "moved".
func (Moved) Word() string { return "moved" }

// Word returns "busy".
func (Busy) Word() string { return "busy" }

// Word returns "moved_since".
func (MovedSince) Word() string { return "moved_since" }

// Word returns "deleted".
func (Deleted) Word() string { return "deleted" }

// Word returns "busy".
func (HeadBusy) Word() string { return "busy" }

// Word returns "merged".
func (Merged) Word() string { return "merged" }

// Word returns "stale".
func (Stale) Word() string { return "stale" }

// Word returns "empty".
func (Empty) Word() string { return "empty" }

// Word returns "no_stack".
func (NoStack) Word() string { return "no_stack" }

// Word returns "advanced".
func (Advanced) Word() string { return "advanced" }

// Word returns "diverged".
func (Diverged) Word() string { return "diverged" }

// Word returns "created".
func (SessionCreated) Word() string { return "created" }

// Word returns "exists".
func (SessionExists) Word() string { return "exists" }

// Word returns "busy".
func (StepBusy) Word() string { return "busy" }

// Word returns "waiting".
func (StepWaiting) Word() string { return "waiting" }

// Word returns "retry".
func (Retry) Word() string { return "retry" }

// Word returns "finished".
func (Finished) Word() string { return "finished" }

// Word returns "fenced".
func (Fenced) Word() string { return "fenced" }

// Word returns "continue".
func (Continue) Word() string { return "continue" }

func configureOutcomeWord(o ConfigureOutcome) string {
	switch o := o.(type) {
	case Queued:
		return o.Word()
	case UnknownModel:
		return o.Word()
	case UnknownAgent:
		return o.Word()
	}
	panic("unreachable")
}

func sendReceiptWord(o SendReceipt) string {
	switch o := o.(type) {
	case Queued:
		return o.Word()
	case Duplicate:
		return o.Word()
	}
	panic("unreachable")
}

func cancelOutcomeWord(o CancelOutcome) string {
	switch o := o.(type) {
	case Cancelled:
		return o.Word()
	case Landed:
		return o.Word()
	case NotFound:
		return o.Word()
	}
	panic("unreachable")
}

func redeliverOutcomeWord(o RedeliverOutcome) string {
	switch o := o.(type) {
	case Redelivered:
		return o.Word()
	case Unchanged:
		return o.Word()
	case Landed:
		return o.Word()
	case NotFound:
		return o.Word()
	}
	panic("unreachable")
}

func abortOutcomeWord(o AbortOutcome) string {
	switch o := o.(type) {
	case Requested:
		return o.Word()
	case NotRunning:
		return o.Word()
	}
	panic("unreachable")
}

func waitOutcomeWord(o WaitOutcome) string {
	switch o := o.(type) {
	case Idle:
		return o.Word()
	case Waiting:
		return o.Word()
	}
	panic("unreachable")
}

func replyOutcomeWord(o ReplyOutcome) string {
	switch o := o.(type) {
	case Signalled:
		return o.Word()
	case NotWaiting:
		return o.Word()
	case NotFound:
		return o.Word()
	}
	panic("unreachable")
}

func createHeadOutcomeWord(o CreateHeadOutcome) string {
	switch o := o.(type) {
	case HeadCreated:
		return o.Word()
	case Exists:
		return o.Word()
	case UnknownParent:
		return o.Word()
	}
	panic("unreachable")
}

func moveOutcomeWord(o MoveOutcome) string {
	switch o := o.(type) {
	case Moved:
		return o.Word()
	case Busy:
		return o.Word()
	case MovedSince:
		return o.Word()
	case NotFound:
		return o.Word()
	}
	panic("unreachable")
}

func deleteHeadOutcomeWord(o DeleteHeadOutcome) string {
	switch o := o.(type) {
	case Deleted:
		return o.Word()
	case NotFound:
		return o.Word()
	case HeadBusy:
		return o.Word()
	}
	panic("unreachable")
}

func mergeOutcomeWord(o MergeOutcome) string {
	switch o := o.(type) {
	case Merged:
		return o.Word()
	case Stale:
		return o.Word()
	case Empty:
		return o.Word()
	case NoStack:
		return o.Word()
	}
	panic("unreachable")
}

func advanceOutcomeWord(o AdvanceOutcome) string {
	switch o := o.(type) {
	case Unchanged:
		return o.Word()
	case Advanced:
		return o.Word()
	case Diverged:
		return o.Word()
	}
	panic("unreachable")
}

func createSessionOutcomeWord(o CreateSessionOutcome) string {
	switch o := o.(type) {
	case SessionCreated:
		return o.Word()
	case SessionExists:
		return o.Word()
	}
	panic("unreachable")
}

func stepOutcomeWord(o StepOutcome) string {
	switch o := o.(type) {
	case Idle:
		return o.Word()
	case StepBusy:
		return o.Word()
	case StepWaiting:
		return o.Word()
	case Retry:
		return o.Word()
	case Finished:
		return o.Word()
	case Fenced:
		return o.Word()
	case Continue:
		return o.Word()
	}
	panic("unreachable")
}
