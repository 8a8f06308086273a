package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A feedItem is an event, or why the feed ended.
type feedItem struct {
	event api.Event
	err   error
}

// feed follows a session in the background until ctx ends. The channel is closed when the feed ends.
func feed(ctx context.Context, t *target, opts api.WatchOptions) <-chan feedItem {
	items := make(chan feedItem)
	go func() {
		defer close(items)
		for e, err := range t.Watch(ctx, opts) {
			select {
			case items <- feedItem{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return items
}

// An ending is how what was said came to its end.
type ending int

const (
	underWay  ending = iota
	answered         // the model has said all it will
	aborted          // a participant stopped the run
	failed           // the run failed
	withdrawn        // it was cancelled or replaced before it landed
)

// A follower sees from the events what becomes of a change that was submitted to a head.
type follower struct {
	change object.OID
	head   string
	landed bool
}

func (f *follower) see(b api.EventBody) ending {
	switch b := b.(type) {
	case api.LandedEvent:
		f.landed = f.landed || b.Change == f.change
	case api.QueueCancelledEvent:
		if b.Change == f.change && !f.landed {
			return withdrawn
		}
	case api.CommitEvent:
		if b.Item.Commit.Change == f.change {
			f.landed = true
		}
		if f.landed && b.Head == f.head && settles(b.Item.Commit) {
			return answered
		}
	case api.RunEvent:
		if f.landed && b.Head == f.head {
			return endingOf(b.Run.Phase)
		}
	case api.HeadMovedEvent, api.QueuedEvent, api.EffectEvent, api.StackEvent, api.FactEvent, api.DeletedEvent, api.SyncedEvent,
		api.TextDeltaEvent, api.ReasoningDeltaEvent, api.ToolProgressEvent, api.DiagnosticEvent, api.UnknownEvent:
	}
	return underWay
}

// settles reports whether a commit is an answer that nothing follows by itself.
func settles(c object.Commit) bool {
	m, ok := c.Body.(object.MessageBody)
	if !ok {
		return false
	}
	a, ok := m.Message.(message.Assistant)
	return ok && (a.StopReason == message.StopEnd || a.StopReason == message.StopLength) && len(a.Calls()) == 0
}

func endingOf(p object.Phase) ending {
	switch p.(type) {
	case object.Done:
		return answered
	case object.Aborted:
		return aborted
	case object.Failed:
		return failed
	case object.Respond, object.Tools, object.WaitingPhase, object.Retry:
	}
	return underWay
}
