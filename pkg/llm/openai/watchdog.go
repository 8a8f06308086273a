package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var errStalled = errors.New("the server has gone silent")

// A watchdog ends a context when the server is silent for too long. Time the caller spends on what it has read does not
// count, so a slow reader is not taken for a silent server.
type watchdog struct {
	limit time.Duration
	timer *time.Timer
	stop  func()
}

func newWatchdog(ctx context.Context, limit time.Duration) (*watchdog, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{limit: limit}
	w.timer = time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w for %v", errStalled, limit)) })
	w.timer.Stop()
	w.stop = func() {
		w.timer.Stop()
		cancel(nil)
	}
	return w, ctx
}

func (w *watchdog) start() { w.timer.Reset(w.limit) }

func (w *watchdog) pause() { w.timer.Stop() }

// reader returns r, watched during each Read.
func (w *watchdog) reader(r io.Reader) io.Reader { return watched{w, r} }

type watched struct {
	w *watchdog
	r io.Reader
}

func (r watched) Read(p []byte) (int, error) {
	r.w.start()
	defer r.w.pause()
	return r.r.Read(p)
}
