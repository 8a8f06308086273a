package s3objects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// The bounds of trying again. The waits double from the first to the longest, each drawn evenly from none to that.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 5 * time.Second
	maxAttempts = 12
)

// errAgain is wrapped by what this package finds worth another attempt.
var errAgain = errors.New("worth another attempt")

// once keeps the SDK from trying again by itself, so that all attempts are counted in one place.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// try calls attempt until it succeeds or fails for good.
func (s *Store) try(ctx context.Context, attempt func() error) error {
	for n := 1; ; n++ {
		err := attempt()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err)
		case code(err) == "NoSuchBucket":
			return fmt.Errorf("%w: %s: %w", ErrNoBucket, s.bucket, err)
		case !transient(err):
			return err
		case n == maxAttempts:
			return fmt.Errorf("%w after %d attempts: %w", ErrBusy, n, err)
		}
		ceiling := min(firstWait<<(n-1), longestWait)
		if err := s.sleep(ctx, time.Duration(s.random()*float64(ceiling))); err != nil {
			return err
		}
	}
}

// transient reports whether the same request may succeed later.
func transient(err error) bool {
	if errors.Is(err, errAgain) || transientCode(code(err)) {
		return true
	}
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// transientCode knows the codes of S3 that ask for another attempt, also where they come for one key of many.
func transientCode(code string) bool {
	switch code {
	case "ConditionalRequestConflict", "OperationAborted", "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout":
		return true
	}
	return false
}

// code is the code of S3's error, "" when S3 did not answer.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// sleep waits in real time.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
