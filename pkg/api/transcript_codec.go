package api

import "github.com/stepwell-dev/stepwell/internal/union"

//nolint:gochecknoglobals // immutable codec tables
var (
	transcriptItems = union.New("kind", transcriptItemKind,
		union.Kind[TranscriptItem, Turn]("turn"),
		union.Kind[TranscriptItem, CheckpointMarker]("checkpoint"),
		union.Kind[TranscriptItem, SummaryMarker]("summary"),
		union.Kind[TranscriptItem, ConfigMarker]("config"),
		union.Kind[TranscriptItem, NoteMarker]("note"),
	)
	transcriptParts = union.New("kind", transcriptPartKind,
		union.Kind[TranscriptPart, UserPart]("user"),
		union.Kind[TranscriptPart, AssistantPart]("assistant"),
		union.Kind[TranscriptPart, ThinkingPart]("thinking"),
		union.Kind[TranscriptPart, ToolPart]("tool"),
		union.Kind[TranscriptPart, NotePart]("note"),
	)
)

func transcriptItemKind(v TranscriptItem) string {
	switch v.(type) {
	case Turn:
		return "turn"
	case CheckpointMarker:
		return "checkpoint"
	case SummaryMarker:
		return "summary"
	case ConfigMarker:
		return "config"
	case NoteMarker:
		return "note"
	}
	panic("unreachable")
}

func transcriptPartKind(v TranscriptPart) string {
	switch v.(type) {
	case UserPart:
		return "user"
	case AssistantPart:
		return "assistant"
	case ThinkingPart:
		return "thinking"
	case ToolPart:
		return "tool"
	case NotePart:
		return "note"
	}
	panic("unreachable")
}
