package kernel

import (
	"context"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// DefaultFlush is how long a delta waits for others to be appended with. See [StepOptions.Flush].
const DefaultFlush = 25 * time.Millisecond

// The outbox flushes when its time has come, at flushEvents events, or at flushBytes bytes, whichever comes first.
const (
	flushEvents = 64
	flushBytes  = 16 << 10
)

// An outbox streams what a turn emits, fenced by the lease. Adjacent deltas of one (run, attempt, index, part) become one; only
// the latest progress of a call is kept, at its newest place. One append is under way at a time, so order is kept.
type outbox struct {
	session *Session
	lease   store.Lease
	cancel  context.CancelCauseFunc
	every   time.Duration

	mu      sync.Mutex
	wait    time.Duration // until the next flush: the first words come at once
	buf     []store.EventBody
	bytes   int
	timer   *time.Timer
	room    chan struct{} // closed when the buffer is taken, then replaced
	stopped bool
	lost    bool // an append failed: pieces may be missing from the stream

	appending sync.Mutex // one append at a time; taken before mu
}

func newOutbox(s *Session, lease store.Lease, every time.Duration, cancel context.CancelCauseFunc) *outbox {
	return &outbox{session: s, lease: lease, cancel: cancel, every: every, wait: min(every, DefaultFlush), room: make(chan struct{})}
}

// emit buffers an event. It blocks while the buffer is full and fails when ctx ends or the lease is lost.
func (o *outbox) emit(ctx context.Context, body store.EventBody) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx) // and body is not in the stream
		}
		o.mu.Lock()
		if o.stopped {
			o.mu.Unlock()
			return ErrFenced
		}
		if o.merge(body) {
			o.mu.Unlock()
			return nil
		}
		if len(o.buf) < flushEvents && o.bytes < flushBytes {
			o.add(body)
			full := len(o.buf) == flushEvents || o.bytes >= flushBytes
			if o.timer == nil {
				o.timer = time.AfterFunc(o.wait, func() { o.flush(context.WithoutCancel(ctx)) })
			} else if full {
				o.timer.Reset(0)
			}
			o.mu.Unlock()
			return nil
		}
		room := o.room
		if o.timer != nil {
			o.timer.Reset(0) // full: nothing is gained by waiting
		}
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (o *outbox) add(body store.EventBody) {
	o.buf = append(o.buf, body)
	o.bytes += size(body)
}

// merge folds body into what is buffered, if it can.
func (o *outbox) merge(body store.EventBody) bool {
	switch b := body.(type) {
	case store.DeltaEvent:
		if len(o.buf) == 0 || o.bytes+len(b.Delta) > flushBytes {
			return false
		}
		last, ok := o.buf[len(o.buf)-1].(store.DeltaEvent)
		if !ok || last.RunID != b.RunID || last.Attempt != b.Attempt || last.Index != b.Index || last.Part != b.Part {
			return false
		}
		last.Delta += b.Delta
		o.buf[len(o.buf)-1] = last
		o.bytes += len(b.Delta)
		return true
	case store.ProgressEvent:
		for i, e := range o.buf {
			if p, ok := e.(store.ProgressEvent); ok && p.RunID == b.RunID && p.CallID == b.CallID {
				o.bytes -= size(p)
				o.buf = append(o.buf[:i], o.buf[i+1:]...)
				o.add(b)
				return true
			}
		}
	case store.RefEvent, store.NoticeEvent:
	}
	return false
}

func size(body store.EventBody) int {
	switch b := body.(type) {
	case store.DeltaEvent:
		return len(b.Delta)
	case store.ProgressEvent:
		return len(b.Progress.Text) + len(b.Progress.Title) + len(b.Progress.Details)
	case store.NoticeEvent:
		return len(b.Message)
	case store.RefEvent:
	}
	return 0
}

// flush appends what is buffered. A lost lease ends the call. Any other failure costs the live view these pieces and nothing else.
func (o *outbox) flush(ctx context.Context) {
	o.appending.Lock()
	defer o.appending.Unlock()
	o.mu.Lock()
	batch := o.buf
	o.buf, o.bytes, o.wait = nil, 0, o.every
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	close(o.room)
	o.room = make(chan struct{})
	stopped := o.stopped
	o.mu.Unlock()
	if len(batch) == 0 || stopped {
		return
	}
	outcome, err := o.session.AppendEvents(ctx, batch, &o.lease)
	if err != nil {
		o.mu.Lock()
		o.lost = true
		o.mu.Unlock()
		return
	}
	if _, fenced := outcome.(store.Fenced); fenced {
		o.mu.Lock()
		o.stopped = true
		o.mu.Unlock()
		o.cancel(ErrFenced)
	}
}

// close appends the rest and refuses more. It reports whether pieces may be missing from the stream.
func (o *outbox) close(ctx context.Context) (lost bool) {
	o.flush(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	return o.lost
}
