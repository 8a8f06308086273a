package api

import (
	"context"
	"iter"
)

// A Service is every operation on sessions. The SDK implements it over a store, the HTTP client over a server. All methods
// may be called from many goroutines.
type Service interface {
	Sessions
	Messages
	Runs
	Heads
	Watcher
	Stepper
	Inspector
}

// Sessions are the operations on whole sessions. Those on a session that is not there fail with [ErrSessionNotFound].
type Sessions interface {
	// Landing returns the landing policy in force.
	Landing(ctx context.Context) (Landing, error)
	// CreateSession makes a session.
	CreateSession(ctx context.Context, opts CreateSessionOptions) (CreateSessionOutcome, error)
	// GetSession returns one row of the list.
	GetSession(ctx context.Context, opts SessionOptions) (SessionInfo, error)
	// ListSessions returns a page of sessions.
	ListSessions(ctx context.Context, opts ListSessionsOptions) (SessionPage, error)
	// RenameSession sets or removes the session's name.
	RenameSession(ctx context.Context, opts RenameSessionOptions) error
	// SetPinned sets or clears the pinned mark.
	SetPinned(ctx context.Context, opts FlagSessionOptions) error
	// SetArchived sets or clears the archived mark.
	SetArchived(ctx context.Context, opts FlagSessionOptions) error
	// DeleteSession removes the session with everything in it. It is harmless to repeat.
	DeleteSession(ctx context.Context, opts DeleteSessionOptions) error
	// Configure submits configuration for a head. It lands like a message does.
	Configure(ctx context.Context, opts ConfigureOptions) (ConfigureOutcome, error)
	// Snapshot returns all that a client draws of a head.
	Snapshot(ctx context.Context, opts HeadOptions) (Snapshot, error)
}

// Messages are the operations on what participants say.
type Messages interface {
	// Send submits a user message. It never waits for a run. The same key with the same content is [Duplicate], with other
	// content [ErrKeyReused].
	Send(ctx context.Context, opts SendOptions) (SendReceipt, error)
	// Cancel withdraws a pending change.
	Cancel(ctx context.Context, opts CancelOptions) (CancelOutcome, error)
	// Redeliver moves, edits or reorders a pending change.
	Redeliver(ctx context.Context, opts RedeliverOptions) (RedeliverOutcome, error)
	// ListMessages returns a page of the transcript.
	ListMessages(ctx context.Context, opts TranscriptOptions) (TranscriptPage, error)
	// Pending returns the user messages of a head that have not landed, in the order of their submission.
	Pending(ctx context.Context, opts HeadOptions) ([]PendingItem, error)
}

// Runs are the operations on a head's run.
type Runs interface {
	// CurrentRun returns the head's run, live or ended, or nil when there is none.
	CurrentRun(ctx context.Context, opts HeadOptions) (*RunInfo, error)
	// Abort asks the live run to stop.
	Abort(ctx context.Context, opts AbortOptions) (AbortOutcome, error)
	// WaitRun blocks until the head is idle and free, or its run waits for a parked call. Ending ctx never affects the run.
	WaitRun(ctx context.Context, opts HeadOptions) (WaitOutcome, error)
	// Reply answers a parked call. Of several replies one is [Signalled].
	Reply(ctx context.Context, opts ReplyOptions) (ReplyOutcome, error)
	// Context says how full the model's context is.
	Context(ctx context.Context, opts HeadOptions) (ContextStatus, error)
	// RunChanges returns the commits that a run wrote, or [ErrRunNotFound].
	RunChanges(ctx context.Context, opts RunChangesOptions) (Changes, error)
	// Usage adds up what a head's branch has spent.
	Usage(ctx context.Context, opts HeadOptions) (UsageSummary, error)
}

// Heads are the operations on heads.
type Heads interface {
	// ListHeads returns the session's heads, the default one first, also before it is born.
	ListHeads(ctx context.Context, opts SessionOptions) ([]HeadInfo, error)
	// CreateHead makes a head.
	CreateHead(ctx context.Context, opts CreateHeadOptions) (CreateHeadOutcome, error)
	// MoveHead moves a head that has no live run.
	MoveHead(ctx context.Context, opts MoveHeadOptions) (MoveOutcome, error)
	// DeleteHead deletes a head. The default head is refused with [ErrInvalid].
	DeleteHead(ctx context.Context, opts DeleteHeadOptions) (DeleteHeadOutcome, error)
	// MergeHead fast-forwards a stacked head's parent.
	MergeHead(ctx context.Context, opts MergeHeadOptions) (MergeOutcome, error)
	// AdvanceBase makes a stale head current when its parent only grew.
	AdvanceBase(ctx context.Context, opts AdvanceBaseOptions) (AdvanceOutcome, error)
}

// A Watcher follows a session.
type Watcher interface {
	// Watch yields the events after a cursor in order, a [SyncedEvent] where the replay ends, and then what is new. It ends
	// without an error when ctx ends. An error is the last thing it yields: [ErrSessionNotFound], also when the session is
	// removed, or a [*CursorExpiredError].
	Watch(ctx context.Context, opts WatchOptions) iter.Seq2[Event, error]
}

// A Stepper advances runs, for hosts in which nothing stays running.
type Stepper interface {
	// Step takes one durable step of a head.
	Step(ctx context.Context, opts HeadOptions) (StepOutcome, error)
}

// An Inspector reads a session as a repository, and keeps it.
type Inspector interface {
	// Refs lists refs by name.
	Refs(ctx context.Context, opts RefsOptions) ([]RefInfo, error)
	// Reflog returns recorded ref moves, newest first.
	Reflog(ctx context.Context, opts ReflogOptions) ([]ReflogEntry, error)
	// Object returns a stored object, or [ErrObjectNotFound].
	Object(ctx context.Context, opts ObjectOptions) (StoredObject, error)
	// Tree returns every commit of the session; the path of opts.Head is marked.
	Tree(ctx context.Context, opts HeadOptions) (Tree, error)
	// Fsck checks every invariant that can be read off the session.
	Fsck(ctx context.Context, opts SessionOptions) (CheckReport, error)
	// Trim raises the event floor.
	Trim(ctx context.Context, opts TrimOptions) (TrimReport, error)
	// Collect sweeps unprotected objects.
	Collect(ctx context.Context, opts CollectOptions) (CollectReport, error)
}
