package view

import (
	"cmp"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A UsageSummary adds up what commits have spent. The zero value has spent nothing.
type UsageSummary struct {
	Total      message.Usage
	Models     []ModelUsage  // by provider, then model
	Tools      message.Usage // what tools themselves spent on models
	Compaction message.Usage // checkpoints and summaries
}

// ModelUsage is what one model's responses have spent, failed and aborted ones included.
type ModelUsage struct {
	Provider  string
	Model     string
	Responses int
	Usage     message.Usage
}

// UsageOf adds up what commits have spent. A checkpoint's retained tail is not counted: its messages have commits of their own.
func UsageOf(commits []Commit) UsageSummary {
	var s UsageSummary
	for _, c := range commits {
		switch b := c.Commit.Body.(type) {
		case object.MessageBody:
			switch m := b.Message.(type) {
			case message.Assistant:
				addModel(&s, ModelUsage{Provider: m.Provider, Model: m.Model, Responses: 1, Usage: m.Usage})
				s.Total = s.Total.Add(m.Usage)
			case message.ToolResult:
				s.Tools = spend(&s, s.Tools, m.Usage)
			case message.User:
			}
		case object.CheckpointBody:
			s.Compaction = spend(&s, s.Compaction, b.Usage)
		case object.SummaryBody:
			s.Compaction = spend(&s, s.Compaction, b.Usage)
		case object.ConfigBody, object.NoteBody:
		}
	}
	return s
}

// Merge returns the sum of a and b, the rows of a model added up. Neither is modified.
func (a UsageSummary) Merge(b UsageSummary) UsageSummary {
	a.Models = slices.Clone(a.Models)
	for _, m := range b.Models {
		addModel(&a, m)
	}
	a.Total = a.Total.Add(b.Total)
	a.Tools = a.Tools.Add(b.Tools)
	a.Compaction = a.Compaction.Add(b.Compaction)
	return a
}

// spend adds u to the total and to one kind of spending, which it returns.
func spend(a *UsageSummary, kind message.Usage, u *message.Usage) message.Usage {
	if u == nil {
		return kind
	}
	a.Total = a.Total.Add(*u)
	return kind.Add(*u)
}

func addModel(a *UsageSummary, m ModelUsage) {
	i, found := slices.BinarySearchFunc(a.Models, m, func(x, y ModelUsage) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model))
	})
	if !found {
		a.Models = slices.Insert(a.Models, i, m)
		return
	}
	a.Models[i].Responses += m.Responses
	a.Models[i].Usage = a.Models[i].Usage.Add(m.Usage)
}
