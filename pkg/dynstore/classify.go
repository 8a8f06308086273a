package dynstore

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// A failure is what an error of DynamoDB means for the call that got it.
type failure int

const (
	fatal     failure = iota // trying again would not help
	refused                  // a condition did not hold; nothing was written
	contended                // another transaction was in the way; nothing was written
	throttled                // nothing was written, and there is too much to do
	unknown                  // it may have been written, or be written yet
)

// classify returns what err means. Reasons of a cancelled transaction stand by position; a bug outweighs a throttle, a throttle a
// condition (which is worth judging only when the whole was judged), and a condition contention.
func classify(ctx context.Context, err error) failure {
	if ctx.Err() != nil {
		return fatal
	}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return classifyReasons(cancelled.CancellationReasons)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		var local *smithy.InvalidParamsError
		if errors.As(err, &local) {
			return fatal
		}
		return unknown // it was sent, or may have been, and no answer came
	}
	switch api.ErrorCode() {
	case "ConditionalCheckFailedException":
		return refused
	case "TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException":
		return contended
	case "ProvisionedThroughputExceededException", "ThrottlingException", "ThrottlingError", "RequestLimitExceeded", "LimitExceededException",
		"TooManyRequestsException", "SlowDown":
		return throttled
	case "InternalServerError", "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException", "RequestTimeout", "RequestTimeoutException":
		return unknown
	}
	if api.ErrorFault() == smithy.FaultServer {
		return unknown
	}
	return fatal
}

func classifyReasons(reasons []types.CancellationReason) failure {
	var conditions, conflicts, throttles bool
	for _, r := range reasons {
		if r.Code == nil {
			continue
		}
		switch *r.Code {
		case "None", "":
		case "ConditionalCheckFailed":
			conditions = true
		case "TransactionConflict":
			conflicts = true
		case "ProvisionedThroughputExceeded", "ThrottlingError", "RequestLimitExceeded":
			throttles = true
		default:
			return fatal // ValidationError, ItemCollectionSizeLimitExceeded: a bug
		}
	}
	switch {
	case throttles:
		return throttled
	case conditions:
		return refused
	case conflicts:
		return contended
	}
	return unknown // cancelled for no reason given
}

// oldItem returns the item that failed the condition at a position of a cancelled transaction, nil when it did not fail or is absent.
func oldItem(err error, position int) (it item, failed bool) {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || position >= len(cancelled.CancellationReasons) {
		return nil, false
	}
	r := cancelled.CancellationReasons[position]
	if r.Code == nil || *r.Code != "ConditionalCheckFailed" {
		return nil, false
	}
	return r.Item, true
}

// oldOf returns the item that failed the condition of a single write.
func oldOf(err error) item {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item
	}
	return nil
}
