package sdk

import (
	"context"
	"errors"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
)

// Close gives every head that this host drives back, waits until that is done, and closes its session handles. Runs go on when a host
// attaches again.
func (s *Stepwell) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.stop(kernel.ErrReleased)
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, session := range s.sessions {
		errs = append(errs, session.Close())
	}
	clear(s.sessions)
	return errors.Join(errs...)
}

// ready reports a host that was closed.
func (s *Stepwell) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return api.ErrClosed
	}
	return nil
}

// driving admits work under a lease, which [Stepwell.Close] waits for. The context it returns ends with [kernel.ErrReleased] when ctx ends
// or the host closes: the head is given back, and neither ends the run. A ctx that ends with [kernel.ErrTimeUp] passes that on. done says that the
// work has ended.
func (s *Stepwell) driving(ctx context.Context) (out context.Context, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, api.ErrClosed
	}
	s.running.Add(1)
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stops := []func() bool{
		context.AfterFunc(ctx, func() {
			if errors.Is(context.Cause(ctx), kernel.ErrTimeUp) {
				cancel(kernel.ErrTimeUp)
			}
			cancel(kernel.ErrReleased)
		}),
		context.AfterFunc(s.life, func() { cancel(kernel.ErrReleased) }),
	}
	return out, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
		s.running.Done()
	}, nil
}

// bounded returns ctx, ended early when the host closes.
func (s *Stepwell) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(kernel.ErrReleased) })
	return out, func() { stop(); cancel(nil) }
}

// ended says why an operation failed: its caller gave up, the host closed, or err. ctx is the caller's.
func (s *Stepwell) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.life.Err() != nil:
		return api.ErrClosed
	}
	return fault(err)
}
