package sdk

import (
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

func transcriptItems(items []view.TranscriptItem) []api.TranscriptItem {
	out := make([]api.TranscriptItem, len(items))
	for i, it := range items {
		out[i] = transcriptItem(it)
	}
	return out
}

func transcriptItem(it view.TranscriptItem) api.TranscriptItem {
	switch it := it.(type) {
	case view.Turn:
		turn := api.Turn{
			ID: it.ID, Outcome: api.TurnOutcome(it.Outcome), StartedAt: it.StartedAt, DurationMS: it.DurationMS,
			Parts: make([]api.TranscriptPart, len(it.Parts)),
		}
		for i, p := range it.Parts {
			turn.Parts[i] = transcriptPart(p)
		}
		return turn
	case view.CheckpointMarker:
		return api.CheckpointMarker(it)
	case view.SummaryMarker:
		return api.SummaryMarker(it)
	case view.ConfigMarker:
		return api.ConfigMarker(it)
	case view.NoteMarker:
		return api.NoteMarker(it)
	}
	panic("unreachable")
}

func transcriptPart(p view.TranscriptPart) api.TranscriptPart {
	switch p := p.(type) {
	case view.UserPart:
		return api.UserPart(p)
	case view.AssistantPart:
		return api.AssistantPart(p)
	case view.ThinkingPart:
		return api.ThinkingPart(p)
	case view.ToolPart:
		return api.ToolPart(p)
	case view.NotePart:
		return api.NotePart(p)
	}
	panic("unreachable")
}

func usageSummary(u view.UsageSummary) api.UsageSummary {
	out := api.UsageSummary{Total: u.Total, Tools: u.Tools, Compaction: u.Compaction, Models: make([]api.ModelUsage, len(u.Models))}
	for i, m := range u.Models {
		out.Models[i] = api.ModelUsage(m)
	}
	return out
}
