package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A TranscriptItem is a [Turn] or, between turns, a [CheckpointMarker], [SummaryMarker], [ConfigMarker] or [NoteMarker].
//
//sumtype:decl
type TranscriptItem interface{ transcriptItem() }

func (Turn) transcriptItem()             {}
func (CheckpointMarker) transcriptItem() {}
func (SummaryMarker) transcriptItem()    {}
func (ConfigMarker) transcriptItem()     {}
func (NoteMarker) transcriptItem()       {}

type (
	// A Turn is a user message and all that answers it. A branch may also start with a turn that has no user message.
	Turn struct {
		ID         object.OID       `json:"id"` // its first commit
		Parts      []TranscriptPart `json:"parts"`
		Outcome    TurnOutcome      `json:"outcome"`
		StartedAt  message.Millis   `json:"startedAt"`
		DurationMS int64            `json:"durationMs"`
	}
	// A CheckpointMarker says that the model's context starts anew here.
	CheckpointMarker struct {
		ID           object.OID     `json:"id"`
		At           message.Millis `json:"at"`
		Summary      string         `json:"summary"`
		TokensBefore int            `json:"tokensBefore"`
	}
	// A SummaryMarker carries an abandoned path forward.
	SummaryMarker struct {
		ID   object.OID     `json:"id"`
		At   message.Millis `json:"at"`
		Text string         `json:"text"`
	}
	// A ConfigMarker declares configuration.
	ConfigMarker struct {
		ID     object.OID     `json:"id"`
		At     message.Millis `json:"at"`
		Config object.Config  `json:"config"`
	}
	// A NoteMarker is data that no model sees.
	NoteMarker struct {
		ID   object.OID     `json:"id"`
		At   message.Millis `json:"at"`
		Type string         `json:"type"`
		Data jsontext.Value `json:"data"`
	}
)

// A TurnOutcome says how a turn's last response ended.
type TurnOutcome string

// The turn outcomes.
const (
	TurnOpen    TurnOutcome = "open" // not answered yet
	TurnDone    TurnOutcome = "done"
	TurnFailed  TurnOutcome = "failed"
	TurnAborted TurnOutcome = "aborted"
)

// A TranscriptPart is a [UserPart], [AssistantPart], [ThinkingPart], [ToolPart] or [NotePart]. Its ID is stable, so that a
// client can keep what it has drawn.
//
//sumtype:decl
type TranscriptPart interface{ transcriptPart() }

func (UserPart) transcriptPart()      {}
func (AssistantPart) transcriptPart() {}
func (ThinkingPart) transcriptPart()  {}
func (ToolPart) transcriptPart()      {}
func (NotePart) transcriptPart()      {}

type (
	// A UserPart is what a participant said. Its id is user:<oid>.
	UserPart struct {
		ID      string            `json:"id"`
		Content []message.Content `json:"content"`
		At      message.Millis    `json:"at"`
		Change  object.OID        `json:"change,omitzero"`
		Key     string            `json:"key,omitzero"`
		Author  *object.Actor     `json:"author,omitzero"`
	}
	// An AssistantPart is text of an answer. Its id is assistant:<oid>:<contentIndex>.
	AssistantPart struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	// A ThinkingPart is reasoning. Its id is thinking:<oid>:<contentIndex>.
	ThinkingPart struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	// A ToolPart is a tool call and its result. Its id is tool:<callId>. A result without a call has no Args; a call without
	// a result has no Result.
	ToolPart struct {
		ID     string              `json:"id"`
		CallID string              `json:"callId"`
		Tool   string              `json:"tool"`
		Args   jsontext.Value      `json:"args,omitzero"`
		Result *message.ToolResult `json:"result,omitzero"`
	}
	// A NotePart is a remark, such as an error. Its id is note:<oid>.
	NotePart struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
)

// A TranscriptPage is a page of the transcript, oldest item first.
type TranscriptPage struct {
	Items []TranscriptItem `json:"items"`
	// Next is the commit to pass as Before for the page of older items; absent at the beginning.
	Next    object.OID `json:"next,omitzero"`
	HasMore bool       `json:"hasMore"`
}
