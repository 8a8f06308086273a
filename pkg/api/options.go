package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Every operation takes one value of these. Validate reports the first rule that the options break as a
// [*ValidationError]; a service validates before it reads or writes anything, and checks in addition what only it can know,
// such as the syntax of ref names, lanes that do not exist and replies that do not answer their selection. An empty Head is
// the default head, an empty Lane the first one of the landing policy. Actor is attribution, never authority.

// CreateSessionOptions make a session. Repeating them with the same SessionID or Key answers [SessionExists] with the
// session that the first call made.
type CreateSessionOptions struct {
	SessionID SessionID     `json:"sessionId,omitzero"` // chosen by the service when empty
	Name      string        `json:"name,omitzero"`
	Key       string        `json:"key,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// SessionOptions name a session.
type SessionOptions struct {
	SessionID SessionID `json:"sessionId"`
}

// HeadOptions name a head of a session.
type HeadOptions struct {
	SessionID SessionID `json:"sessionId"`
	Head      string    `json:"head,omitzero"`
}

// ListSessionsOptions page through the sessions.
type ListSessionsOptions struct {
	Owner  string `json:"owner,omitzero"`  // only those that the actor with this user id made; empty: all
	Cursor string `json:"cursor,omitzero"` // of an earlier [SessionPage]
	Limit  int    `json:"limit,omitzero"`  // 0: [DefaultPage]; at most [MaxPage]
}

// RenameSessionOptions name a session; an empty Name takes its name away.
type RenameSessionOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Name      string        `json:"name"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// FlagSessionOptions set or clear a session's pinned or archived mark.
type FlagSessionOptions struct {
	SessionID SessionID     `json:"sessionId"`
	On        bool          `json:"on"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// DeleteSessionOptions delete a session. Deleting it again is harmless.
type DeleteSessionOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// ConfigureOptions submit a declaration of configuration. At least one of Model, ThinkingLevel and Agent is given.
type ConfigureOptions struct {
	SessionID     SessionID     `json:"sessionId"`
	Head          string        `json:"head,omitzero"`
	Model         *object.Model `json:"model,omitzero"`
	ThinkingLevel string        `json:"thinkingLevel,omitzero"`
	Agent         string        `json:"agent,omitzero"`
	Lane          string        `json:"lane,omitzero"`
	Key           string        `json:"key,omitzero"`
	Actor         *object.Actor `json:"actor,omitzero"`
}

// SendOptions submit a user message.
type SendOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head,omitzero"`
	Lane      string        `json:"lane,omitzero"`
	Content   Content       `json:"content"`
	Agent     string        `json:"agent,omitzero"` // the agent to answer from here on
	Key       string        `json:"key,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// CancelOptions withdraw a pending change.
type CancelOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head,omitzero"`
	Change    object.OID    `json:"change"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// RedeliverOptions move, edit or reorder a pending change. An empty Lane keeps its lane. Content, when given, replaces what
// it says. Before puts it in front of another pending change of the lane, End behind all of them; not both.
type RedeliverOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head,omitzero"`
	Change    object.OID    `json:"change"`
	Lane      string        `json:"lane,omitzero"`
	Content   Content       `json:"content,omitzero"`
	Before    object.OID    `json:"before,omitzero"`
	End       bool          `json:"end,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// TranscriptOptions page through the transcript backwards, from the tip or from the commit Before (exclusive).
type TranscriptOptions struct {
	SessionID SessionID  `json:"sessionId"`
	Head      string     `json:"head,omitzero"`
	Before    object.OID `json:"before,omitzero"` // Next of an earlier [TranscriptPage]
	Limit     int        `json:"limit,omitzero"`  // items; 0: [DefaultPage]; at most [MaxPage]
}

// ReplyOptions answer a parked call.
type ReplyOptions struct {
	SessionID SessionID  `json:"sessionId"`
	RunID     string     `json:"runId,omitzero"` // when given, the call must belong to this run
	CallID    string     `json:"callId"`
	WaitID    object.OID `json:"waitId"`
	// Reply is any JSON; when the wait has a selection it is a [message.SelectionReply] and is checked against it.
	Reply jsontext.Value `json:"reply"`
	Actor *object.Actor  `json:"actor,omitzero"`
}

// AbortOptions ask the live run of a head to stop.
type AbortOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// RunChangesOptions name a run of a head.
type RunChangesOptions struct {
	SessionID SessionID `json:"sessionId"`
	Head      string    `json:"head,omitzero"`
	RunID     string    `json:"runId"`
}

// CreateHeadOptions make a head from the tip of the head Parent, as a stack, or from a Commit. Exactly one is given.
type CreateHeadOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head"`
	Parent    string        `json:"parent,omitzero"`
	Commit    object.OID    `json:"commit,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// MoveHeadOptions move a head to the commit To, or make it unborn. Selecting a user message moves to its parent and hands
// the message back. With Expect, a head that is elsewhere is [MovedSince].
type MoveHeadOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head,omitzero"`
	To        Tip           `json:"to,omitzero"` // required
	Expect    Tip           `json:"expect,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// DeleteHeadOptions delete a head. With Expect, a head that is elsewhere is [ErrPreconditionFailed].
type DeleteHeadOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head"`
	Expect    Tip           `json:"expect,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// MergeHeadOptions fast-forward the parent of a stacked head to its tip. With Expect, a head that is elsewhere is
// [ErrPreconditionFailed].
type MergeHeadOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head"`
	Expect    Tip           `json:"expect,omitzero"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// AdvanceBaseOptions move the base of a stacked head to its parent's tip.
type AdvanceBaseOptions struct {
	SessionID SessionID     `json:"sessionId"`
	Head      string        `json:"head"`
	Actor     *object.Actor `json:"actor,omitzero"`
}

// WatchOptions say where to start: after a cursor (nil: at the floor), or Live, with only what is new.
type WatchOptions struct {
	SessionID SessionID `json:"sessionId"`
	AfterSeq  *int64    `json:"afterSeq,omitzero"`
	Live      bool      `json:"live,omitzero"`
}

// RefsOptions list refs by prefix; an empty one lists all.
type RefsOptions struct {
	SessionID SessionID `json:"sessionId"`
	Prefix    string    `json:"prefix,omitzero"`
}

// ReflogOptions read the newest recorded moves of a ref, or of all.
type ReflogOptions struct {
	SessionID SessionID `json:"sessionId"`
	Ref       string    `json:"ref,omitzero"`
	Limit     int       `json:"limit,omitzero"` // 0: [DefaultPage]; at most [MaxPage]
}

// ObjectOptions name an object.
type ObjectOptions struct {
	SessionID SessionID  `json:"sessionId"`
	OID       object.OID `json:"oid"`
}

// TrimOptions raise the event floor to Before. Undo and cursors below it end there.
type TrimOptions struct {
	SessionID SessionID `json:"sessionId"`
	Before    int64     `json:"before"`
}

// CollectOptions sweep objects that nothing protects and that are older than the grace period.
type CollectOptions struct {
	SessionID SessionID `json:"sessionId"`
	GraceMS   int64     `json:"graceMs"` // milliseconds
}
