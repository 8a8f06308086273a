package lambdahttp

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// A stream is the response writer of [Stream]. It hands every write to the reader and returns when all of it was read.
type stream struct {
	answer
	opts   Options
	id     string
	pw     *io.PipeWriter
	body   *body
	cancel context.CancelFunc
	ended  chan struct{} // closed when the handler has returned

	once  sync.Once
	ready chan struct{} // closed when resp is set
	resp  *events.LambdaFunctionURLStreamingResponse

	mu       sync.Mutex
	deadline time.Time // of writes; zero: none
}

// Write sends p. The first one sends the status and header before it.
func (s *stream) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	s.commit(p)
	switch {
	case s.method == http.MethodHead:
		return len(p), nil
	case !s.hasBody():
		return 0, http.ErrBodyNotAllowed
	case len(p) == 0:
		return 0, nil
	}
	return s.send(p)
}

// send hands p to the reader by the deadline. A reader that takes longer will not see a whole answer, so the stream ends then.
func (s *stream) send(p []byte) (int, error) {
	s.mu.Lock()
	deadline := s.deadline
	s.mu.Unlock()
	var late atomic.Bool
	if !deadline.IsZero() {
		left := deadline.Sub(s.opts.Now())
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		t := time.AfterFunc(left, func() {
			late.Store(true)
			_ = s.pw.CloseWithError(errUnread) // always nil
		})
		defer t.Stop()
	}
	n, err := s.pw.Write(p)
	if err != nil && late.Load() {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// Flush sends the status and header, if a write has not done so. Writes need no flush.
func (s *stream) Flush() {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	s.commit(nil)
}

// SetWriteDeadline bounds later writes, and none that is under way; zero lifts the bound.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

// SetReadDeadline has nothing to bound: the request is here in full.
func (s *stream) SetReadDeadline(time.Time) error { return nil }

// commit lets Lambda start to send.
func (s *stream) commit(first []byte) {
	s.begin(func() {
		if s.hasBody() {
			s.sniff(first)
		}
		s.resp = &events.LambdaFunctionURLStreamingResponse{StatusCode: s.status, Body: s.body}
		s.resp.Headers, s.resp.Cookies = s.fields()
	})
}

// begin sets the response with the first f that it is given.
func (s *stream) begin(f func()) {
	s.once.Do(func() {
		f()
		close(s.ready)
	})
}

func (s *stream) committed() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}
