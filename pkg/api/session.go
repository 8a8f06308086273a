package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A SessionID names a session: 1 to [MaxID] letters, digits, "_" and "-".
type SessionID string

// SessionInfo is one row of the session list.
type SessionInfo struct {
	SessionID      SessionID      `json:"sessionId"`
	Name           string         `json:"name,omitzero"`
	Preview        string         `json:"preview,omitzero"` // the newest user or assistant text, cut short
	CreatedAt      message.Millis `json:"createdAt"`
	LastActivityAt message.Millis `json:"lastActivityAt"`
	Pinned         bool           `json:"pinned"`
	Archived       bool           `json:"archived"`
	Heads          []string       `json:"heads"` // the default head first
	Config         object.Config  `json:"config"`
}

// A SessionPage is a page of the session list.
type SessionPage struct {
	Items   []SessionInfo `json:"items"`
	Next    string        `json:"next,omitzero"` // the cursor of the next page
	HasMore bool          `json:"hasMore"`
}

// HeadInfo is one head.
type HeadInfo struct {
	Head  string     `json:"head"`
	Tip   object.OID `json:"tip"` // null: unborn
	Stack *StackInfo `json:"stack,omitzero"`
	Run   *RunInfo   `json:"run,omitzero"`
}

// StackInfo says where a head was cut from.
type StackInfo struct {
	Parent string     `json:"parent"`
	Base   object.OID `json:"base"`  // null: the parent was unborn
	Stale  bool       `json:"stale"` // the base is not the parent's tip
}

// RunInfo is a run. It is not a terminal-state union: look at Phase.
type RunInfo struct {
	RunID          string         `json:"runId"`
	Head           string         `json:"head"`
	Phase          object.Phase   `json:"phase"`
	StartedAt      message.Millis `json:"startedAt"`
	Attempts       int            `json:"attempts"`
	Config         object.Config  `json:"config"`
	AbortRequested bool           `json:"abortRequested,omitzero"`
	Lease          *LeaseInfo     `json:"lease,omitzero"` // who runs it now
}

// LeaseInfo is the holder of a head.
type LeaseInfo struct {
	Owner     string         `json:"owner"`
	ExpiresAt message.Millis `json:"expiresAt"`
}

// A PendingItem is a user message that has not landed.
type PendingItem struct {
	Change  object.OID        `json:"change"`
	Lane    string            `json:"lane"`
	At      message.Millis    `json:"at"`
	Content []message.Content `json:"content"`
	Author  *object.Actor     `json:"author,omitzero"`
	Key     string            `json:"key,omitzero"`
}

// A ParkedCall is a tool call that waits. With a Selection it asks a participant; without one it is background work and
// must not be presented as a request for input (invariant 45).
type ParkedCall struct {
	RunID     string             `json:"runId"`
	CallID    string             `json:"callId"`
	WaitID    object.OID         `json:"waitId"` // a new one for every wait, also of the same call
	Tool      string             `json:"tool"`
	Args      jsontext.Value     `json:"args"`
	Selection *message.Selection `json:"selection,omitzero"`
	Until     message.Millis     `json:"until,omitzero"`
}

// A Snapshot is everything a client needs to draw a head. Watch from Seq; a commit that is already here may come again and
// is folded by oid.
type Snapshot struct {
	Seq        int64            `json:"seq"`
	Session    SessionInfo      `json:"session"`
	Head       string           `json:"head"`
	Tip        object.OID       `json:"tip"` // null: unborn
	Config     object.Config    `json:"config"`
	Transcript []TranscriptItem `json:"transcript"`
	Pending    []PendingItem    `json:"pending"`
	Run        *RunInfo         `json:"run,omitzero"`
	Parked     []ParkedCall     `json:"parked"` // in call order
	Context    ContextStatus    `json:"context"`
	Usage      *UsageSummary    `json:"usage,omitzero"`
}

// ContextStatus says how full the model's context is. All counts are tokens.
type ContextStatus struct {
	EstimatedTokens int `json:"estimatedTokens"`
	UsageTokens     int `json:"usageTokens"`    // the part a provider measured
	TrailingTokens  int `json:"trailingTokens"` // the part estimated after it
	ContextWindow   int `json:"contextWindow"`  // 0: unknown
	LastTurnTokens  int `json:"lastTurnTokens,omitzero"`
	// Percent of the window, rounded; absent without a window.
	Percent *int `json:"percent,omitzero"`
}

// A UsageSummary adds up what a branch has spent.
type UsageSummary struct {
	Total      message.Usage `json:"total"`
	Models     []ModelUsage  `json:"models"`
	Tools      message.Usage `json:"tools"`      // what tools themselves spent on models
	Compaction message.Usage `json:"compaction"` // checkpoints and summaries
}

// ModelUsage is what one model's responses have spent.
type ModelUsage struct {
	Provider  string        `json:"provider"`
	Model     string        `json:"model"`
	Responses int           `json:"responses"`
	Usage     message.Usage `json:"usage"`
}

// Landing is the landing policy in force: the lanes a client may send to, in priority order.
type Landing struct {
	Lanes []LaneInfo `json:"lanes"`
	Drain string     `json:"drain"` // "one" or "all"
}

// LaneInfo is one lane of the policy.
type LaneInfo struct {
	Lane  string `json:"lane"`
	Lands string `json:"lands"` // "boundary" or "idle"
}
