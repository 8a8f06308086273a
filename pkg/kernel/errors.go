package kernel

import "errors"

// Errors that end a turn's call before its time; read them with [context.Cause].
var (
	// ErrAborted: a participant asked to stop the call in flight.
	ErrAborted = errors.New("abort requested")
	// ErrFenced: the lease is someone else's.
	ErrFenced = errors.New("lease lost")
	// ErrSuperseded: the head was moved, the run replaced, or the session deleted under the run.
	ErrSuperseded = errors.New("run superseded")
)

// Errors of misuse and of the impossible.
var (
	// ErrInvalid reports arguments that break a rule; nothing was written.
	ErrInvalid = errors.New("invalid argument")
	// ErrContention reports that a compare-and-swap lost its race [MaxAttempts] times, which no real workload reaches.
	ErrContention = errors.New("too much contention")
)

// MaxAttempts bounds every retry loop of a participant's compare-and-swap.
const MaxAttempts = 1000
