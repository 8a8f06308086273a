package dynstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The bounds of trying again. The waits double from the first to the longest, each drawn evenly from none to that.
const (
	firstWait    = 25 * time.Millisecond
	throttleWait = 500 * time.Millisecond
	longestWait  = 800 * time.Millisecond
	maxAttempts  = 100
	maxWaited    = 25 * time.Second
)

// ErrBusy reports that other writers, or DynamoDB itself, left no room for a call for a long time. The call was tried many times, and
// whether it happened is not known.
var ErrBusy = errors.New("store is busy")

// once keeps the SDK from trying again by itself: what a failure means is decided here.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// A pacer spaces the attempts of one call.
type pacer struct {
	store   *Store
	attempt int
	waited  time.Duration
}

func (s *Store) pacer() *pacer { return &pacer{store: s} }

// wait sleeps before another attempt, with full jitter, or returns an error when there were enough.
func (p *pacer) wait(ctx context.Context, first time.Duration, cause error) error {
	p.attempt++
	if p.attempt >= maxAttempts || p.waited >= maxWaited {
		return fmt.Errorf("%w after %d attempts: %w", ErrBusy, p.attempt, cause)
	}
	ceiling := min(first<<min(p.attempt-1, 10), max(longestWait, first))
	d := time.Duration(p.store.random() * float64(ceiling))
	p.waited += d
	return p.store.sleep(ctx, d)
}

// after waits as a failure asks for.
func (p *pacer) after(ctx context.Context, f failure, cause error) error {
	if f == throttled {
		return p.wait(ctx, throttleWait, cause)
	}
	return p.wait(ctx, firstWait, cause)
}

// call makes a request that may be made again whatever became of it, until it is answered.
func call[In, Out any](ctx context.Context, s *Store, f func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In) (*Out, error) {
	for p := s.pacer(); ; {
		out, err := f(ctx, in, once)
		if err == nil {
			return out, nil
		}
		switch why := classify(ctx, err); why {
		case fatal, refused:
			return nil, err
		case contended, throttled, unknown:
			if err := p.after(ctx, why, err); err != nil {
				return nil, err
			}
		}
	}
}
