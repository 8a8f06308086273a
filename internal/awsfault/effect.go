package awsfault

import "time"

// An Effect is what happens to a request instead of just being answered.
//
//sumtype:decl
type Effect interface{ isEffect() }

type (
	// Cancel cancels a transaction. Codes are the reasons by position, "" and what is missing is "None".
	Cancel struct{ Codes []string }
	// Conflict makes another transaction hold an item: a transaction is cancelled with TransactionConflict for its first
	// item, a single write fails with TransactionConflictException.
	Conflict struct{}
	// InProgress answers a transaction with TransactionInProgressException: one with this token still runs.
	InProgress struct{}
	// Throttle refuses a request to DynamoDB for exceeding the throughput.
	Throttle struct{}
	// LoseRequest breaks the connection before the request is sent.
	LoseRequest struct{}
	// LoseResponse breaks the connection after the request was carried out.
	LoseResponse struct{}
	// Late breaks the connection before the request is sent, and carries it out all the same when After more requests have
	// come: a network may deliver what its sender gave up long ago. With After 0 it is LoseResponse.
	Late struct{ After int }
	// Slow waits before the request is sent and after it was carried out.
	Slow struct{ Before, After time.Duration }
	// Stale answers a read that did not ask for consistency with an earlier answer to the same read, or, where there was
	// none, as if nothing had been written yet.
	Stale struct{}
	// Unprocessed carries out the first half of a batch and hands back the rest. It changes the request, which only an
	// endpoint that checks no signatures accepts.
	Unprocessed struct{}
	// S3Conflict answers a put to S3 with 409 ConditionalRequestConflict.
	S3Conflict struct{}
	// S3Busy answers a request to S3 with 503 SlowDown.
	S3Busy struct{}
	// Gate calls Before before the request is sent and After when it was carried out, where they are set. Both can wait,
	// to let others act at that moment.
	Gate struct{ Before, After func() }
)

func (Cancel) isEffect()       {}
func (Conflict) isEffect()     {}
func (InProgress) isEffect()   {}
func (Throttle) isEffect()     {}
func (LoseRequest) isEffect()  {}
func (LoseResponse) isEffect() {}
func (Late) isEffect()         {}
func (Slow) isEffect()         {}
func (Stale) isEffect()        {}
func (Unprocessed) isEffect()  {}
func (S3Conflict) isEffect()   {}
func (S3Busy) isEffect()       {}
func (Gate) isEffect()         {}

// applies reports whether a service could do this to r.
func applies(e Effect, r Request) bool {
	switch e := e.(type) {
	case Cancel:
		return r.transaction() && len(e.Codes) > 0
	case Conflict:
		return r.transaction() || r.Op == "PutItem" || r.Op == "UpdateItem" || r.Op == "DeleteItem"
	case InProgress:
		return r.Op == "TransactWriteItems"
	case Throttle:
		return r.Service == DynamoDB
	case Stale:
		return r.eventual()
	case Unprocessed:
		return r.batchSize() > 1
	case S3Conflict:
		return r.Op == "PutObject"
	case S3Busy:
		return r.Service == S3
	case LoseRequest, LoseResponse, Late, Slow, Gate:
	}
	return true
}

// name is how Counts calls an effect.
func name(e Effect) string {
	switch e.(type) {
	case Cancel:
		return "cancel"
	case Conflict:
		return "conflict"
	case InProgress:
		return "inProgress"
	case Throttle:
		return "throttle"
	case LoseRequest:
		return "loseRequest"
	case LoseResponse:
		return "loseResponse"
	case Late:
		return "late"
	case Slow:
		return "slow"
	case Stale:
		return "stale"
	case Unprocessed:
		return "unprocessed"
	case S3Conflict:
		return "s3Conflict"
	case S3Busy:
		return "s3Busy"
	case Gate:
		return "gate"
	}
	return ""
}
