package view

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Transcript is a branch as people read it. It needs no plugin and no tool to be drawn (invariant 31). It is immutable: appending
// makes a new one and leaves the old one as it is.
type Transcript struct {
	Items []TranscriptItem
	Tip   object.OID // the newest commit folded; zero before the first

	open  []openCall // calls without a result, oldest first
	batch int        // how many responses have been folded
}

// TranscriptOf folds the commits of a branch, oldest first. A page that does not begin at the root may be folded too.
func TranscriptOf(commits []Commit) Transcript {
	f := folder{}
	for _, c := range commits {
		f.fold(c)
	}
	return f.t
}

// Append returns t with one more commit. The commit that t ends with already changes nothing. ok is false when c does not continue t, because
// the head was moved or something was missed: fold the branch again.
func (t Transcript) Append(c Commit) (next Transcript, ok bool) {
	if c.OID == t.Tip {
		return t, true
	}
	if c.Commit.Parent != t.Tip {
		return t, false
	}
	t.Items, t.open = slices.Clone(t.Items), slices.Clone(t.open)
	f := folder{t: t, shared: true}
	f.fold(c)
	return f.t, true
}

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
	// A Turn is a user message and all that answers it, also what comes after a marker. A branch may start with a turn that has no
	// user message. It always has a part.
	Turn struct {
		ID         object.OID // its first commit
		Parts      []TranscriptPart
		Outcome    TurnOutcome
		StartedAt  message.Millis
		DurationMS int64 // to its newest commit; never shrinks, whatever the clocks say
	}
	// A CheckpointMarker says that the model's context starts anew here.
	CheckpointMarker struct {
		ID           object.OID
		At           message.Millis
		Summary      string
		TokensBefore int
	}
	// A SummaryMarker carries an abandoned path forward.
	SummaryMarker struct {
		ID   object.OID
		At   message.Millis
		Text string
	}
	// A ConfigMarker declares configuration.
	ConfigMarker struct {
		ID     object.OID
		At     message.Millis
		Config object.Config
	}
	// A NoteMarker is data that no model sees, of a known type or not.
	NoteMarker struct {
		ID   object.OID
		At   message.Millis
		Type string
		Data jsontext.Value
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
		ID      string
		Content []message.Content
		At      message.Millis
		Change  object.OID
		Key     string
		Author  *object.Actor
	}
	// An AssistantPart is text of an answer. Its id is assistant:<oid>:<contentIndex>.
	AssistantPart struct {
		ID   string
		Text string
	}
	// A ThinkingPart is reasoning. Its id is thinking:<oid>:<contentIndex>.
	ThinkingPart struct {
		ID   string
		Text string
	}
	// A ToolPart is a tool call and its result. Its id is tool:<callId>. A result without a call has no Args; a call without
	// a result has no Result.
	ToolPart struct {
		ID     string
		CallID string
		Tool   string
		Args   jsontext.Value
		Result *message.ToolResult
	}
	// A NotePart is a remark, such as an error. Its id is note:<oid>.
	NotePart struct {
		ID   string
		Text string
	}
)

// ItemID returns the commit that an item begins with.
func ItemID(it TranscriptItem) object.OID {
	switch it := it.(type) {
	case Turn:
		return it.ID
	case CheckpointMarker:
		return it.ID
	case SummaryMarker:
		return it.ID
	case ConfigMarker:
		return it.ID
	case NoteMarker:
		return it.ID
	}
	panic("unreachable")
}
