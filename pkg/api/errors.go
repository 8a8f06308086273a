package api

import (
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// What every operation may fail with. Each has the HTTP status of its comment.
var (
	// ErrSessionNotFound reports an id that names no session, or no longer does. 404.
	ErrSessionNotFound = errors.New("session not found")
	// ErrHeadNotFound reports the name of a head that the session does not list. 404.
	ErrHeadNotFound = errors.New("head not found")
	// ErrObjectNotFound reports an object id that names nothing in the session. 404.
	ErrObjectNotFound = errors.New("object not found")
	// ErrRunNotFound reports a run id that the session does not know. 404.
	ErrRunNotFound = errors.New("run not found")
	// ErrKeyReused reports a submission key that was used before with other content. Nothing was written. 422.
	ErrKeyReused = errors.New("the key was used before with other content; mint a new key for new content")
	// ErrPreconditionFailed reports a head that is not where the caller expected it. Nothing was written. 412.
	ErrPreconditionFailed = errors.New("precondition failed")
	// ErrCursorExpired reports a cursor below the event floor; the error is a [*CursorExpiredError]. 410.
	ErrCursorExpired = errors.New("cursor expired")
	// ErrInvalid reports options that break a rule; the error is a [*ValidationError]. Nothing was written. 422.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized reports a caller who is not known. 401.
	ErrUnauthorized = errors.New("not authorized: a valid token is needed")
	// ErrForbidden reports a caller who is known and may not do this. 403.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable reports that the store or the server cannot answer now; try again. 503.
	ErrUnavailable = errors.New("unavailable")
	// ErrDeadline reports that a bounded wait ran out before there was an outcome; ask again. 504.
	ErrDeadline = errors.New("no outcome within the time allowed")
	// ErrClosed reports a call on a service that was closed.
	ErrClosed = errors.New("service is closed")
)

// A ValidationError names the option that breaks a rule. It is [ErrInvalid].
type ValidationError struct {
	// Field is the JSON pointer of the option, for example "/content/0/text".
	Field string
	// Detail says what is wrong and what to do.
	Detail string
}

func (e *ValidationError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Detail) }

// Is reports whether target is [ErrInvalid].
func (e *ValidationError) Is(target error) bool { return target == ErrInvalid }

// Invalid returns a [*ValidationError] with a formatted detail.
func Invalid(field, format string, args ...any) error {
	return &ValidationError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// A CursorExpiredError says where the floor is: take a snapshot and watch from its sequence number. It is
// [ErrCursorExpired].
type CursorExpiredError struct {
	// Floor is the oldest valid cursor.
	Floor int64
}

func (e *CursorExpiredError) Error() string {
	return fmt.Sprintf("cursor expired: the floor is %d; take a snapshot and watch from its sequence number", e.Floor)
}

// Is reports whether target is [ErrCursorExpired].
func (e *CursorExpiredError) Is(target error) bool { return target == ErrCursorExpired }

// A PreconditionError says where the head really is. It is [ErrPreconditionFailed].
type PreconditionError struct {
	Head string
	Tip  object.OID // zero: unborn
}

func (e *PreconditionError) Error() string {
	tip := e.Tip.String()
	if tip == "" {
		tip = "unborn"
	}
	return fmt.Sprintf("precondition failed: head %q is %s", e.Head, tip)
}

// Is reports whether target is [ErrPreconditionFailed].
func (e *PreconditionError) Is(target error) bool { return target == ErrPreconditionFailed }
