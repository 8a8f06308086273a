package view_test

import (
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// What clients are sent has the fields of its projection, so that a service converts and never copies by hand.
var (
	_ = api.TurnOutcome(view.TurnOpen)
	_ = api.CheckpointMarker(view.CheckpointMarker{})
	_ = api.SummaryMarker(view.SummaryMarker{})
	_ = api.ConfigMarker(view.ConfigMarker{})
	_ = api.NoteMarker(view.NoteMarker{})
	_ = api.UserPart(view.UserPart{})
	_ = api.AssistantPart(view.AssistantPart{})
	_ = api.ThinkingPart(view.ThinkingPart{})
	_ = api.ToolPart(view.ToolPart{})
	_ = api.NotePart(view.NotePart{})
	_ = api.ContextStatus(view.ContextStatus{})
	_ = api.ModelUsage(view.ModelUsage{})
	_ = api.TreeNode(view.TreeNode{})
	_ = api.CommitItem(view.Commit{})
	_ = api.StackInfo(view.StackInfo{})
	_ = api.ParkedCall(view.ParkedCall{})
)
