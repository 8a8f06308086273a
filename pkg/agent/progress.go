package agent

import (
	"context"
	"sync"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// maxProgress bounds the text and the details of one progress event, in bytes.
const maxProgress = 16 << 10

// A progress streams what a running tool says and keeps the last of it for the result of a tool that fails. What is said after the
// call has ended is dropped.
type progress struct {
	in     kernel.TurnInput
	callID string

	mu    sync.Mutex
	ended bool
	last  string
}

// silence is a progress that nobody hears.
func silence() *progress { return &progress{ended: true} }

func (p *progress) say(ctx context.Context, said tool.Progress) {
	text := cut(message.CleanText(said.Text), maxProgress)
	details := said.Details.Clone()
	if len(details) > maxProgress || (len(details) > 0 && object.CheckJSON(details) != nil) {
		details = nil // for show only: the words still count
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.last = text
	// An error means that the call's time is over, which its context tells the tool.
	_ = p.in.Emit(ctx, store.ProgressEvent{RunID: p.in.Run.ID, CallID: p.callID, Progress: store.Progress{
		Text: text, Title: cut(message.CleanText(said.Title), maxTitle), Details: details,
	}})
}

// close ends the stream and returns the last words.
func (p *progress) close() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	return p.last
}
