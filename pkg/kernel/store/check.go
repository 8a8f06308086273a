package store

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// ErrUnknownSession reports an id that names no session, or no longer does.
var ErrUnknownSession = errors.New("unknown session")

// ErrClosed reports a call on a closed handle or store.
var ErrClosed = errors.New("store is closed")

// ErrInvalid reports arguments that no store accepts. Nothing was written.
var ErrInvalid = errors.New("invalid store call")

// ErrCursorExpired reports a cursor below the floor.
var ErrCursorExpired = errors.New("cursor expired")

// A CursorExpiredError says where the floor is: take a snapshot and read on from its sequence number. It is
// [ErrCursorExpired].
type CursorExpiredError struct{ After, Floor Seq }

func (e *CursorExpiredError) Error() string {
	return fmt.Sprintf("cursor %d expired: the floor is %d; take a snapshot and continue from its sequence number", e.After, e.Floor)
}

// Is reports whether target is [ErrCursorExpired].
func (e *CursorExpiredError) Is(target error) bool { return target == ErrCursorExpired }

// CheckSessionID reports why id cannot name a session: it must have 1 to 128 characters of letters, digits, "_" and "-".
func CheckSessionID(id SessionID) error {
	if id == "" || len(id) > 128 {
		return fmt.Errorf("%w: session id must have 1 to 128 characters, got %d", ErrInvalid, len(id))
	}
	for _, r := range string(id) {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return fmt.Errorf("%w: session id %q contains %q; use letters, digits, _ and -", ErrInvalid, id, r)
		}
	}
	return nil
}

// CheckUpdate reports why updates and opts are not a well-formed compare-and-swap. Every store calls it first.
func CheckUpdate(updates []Update, opts UpdateOptions) error {
	if len(updates) == 0 {
		return fmt.Errorf("%w: no ref updates given", ErrInvalid)
	}
	if opts.Reason == "" {
		return fmt.Errorf("%w: reason is empty", ErrInvalid)
	}
	if opts.Lease == nil && (opts.Renew != 0 || opts.Release) {
		return fmt.Errorf("%w: renew or release without a lease", ErrInvalid)
	}
	if opts.Renew != 0 && opts.Renew.Milliseconds() < 1 {
		return fmt.Errorf("%w: renew must be at least one millisecond, got %v", ErrInvalid, opts.Renew)
	}
	if !utf8.ValidString(opts.Reason) {
		return fmt.Errorf("%w: reason is not valid UTF-8", ErrInvalid)
	}
	seen := make(map[ref.Name]bool, len(updates))
	for i, u := range updates {
		if err := u.Name.Check(); err != nil {
			return fmt.Errorf("%w: updates[%d]: %w", ErrInvalid, i, err)
		}
		if seen[u.Name] {
			return fmt.Errorf("%w: updates[%d]: ref %q is named twice", ErrInvalid, i, u.Name)
		}
		seen[u.Name] = true
	}
	if err := CheckObjects(opts.Objects); err != nil {
		return err
	}
	return checkBodies(opts.Events)
}

// CheckCreate reports why opts do not make a session. Every store calls it first.
func CheckCreate(opts CreateOptions) error {
	if err := CheckSessionID(opts.ID); err != nil {
		return err
	}
	if len(opts.Owner) > MaxOwner || !utf8.ValidString(opts.Owner) {
		return fmt.Errorf("%w: owner: want at most %d bytes of UTF-8, got %d bytes", ErrInvalid, MaxOwner, len(opts.Owner))
	}
	if len(opts.Refs) == 0 {
		return CheckObjects(opts.Objects)
	}
	for i, u := range opts.Refs {
		if !u.From.IsZero() {
			return fmt.Errorf("%w: refs[%d]: a first ref has a zero from, got %s", ErrInvalid, i, u.From)
		}
	}
	return CheckUpdate(opts.Refs, UpdateOptions{Reason: opts.Reason, Objects: opts.Objects})
}

// CheckObjects refuses what [object.Encode] did not make, so that a mistake shows where it is made. Every store calls it first.
func CheckObjects(objs []object.Encoded) error {
	for i, o := range objs {
		if o.Object == nil || object.Hash(o.Body) != o.OID {
			return fmt.Errorf("%w: objects[%d]: the body is not that of %s; use object.Encode", ErrInvalid, i, o.OID)
		}
	}
	return nil
}

// CheckEvents reports why bodies cannot be appended. Every store calls it first.
func CheckEvents(bodies []EventBody) error {
	if len(bodies) == 0 {
		return fmt.Errorf("%w: no events given", ErrInvalid)
	}
	return checkBodies(bodies)
}

func checkBodies(bodies []EventBody) error {
	for i, b := range bodies {
		if _, ok := b.(RefEvent); ok {
			return fmt.Errorf("%w: events[%d]: only a ref update makes ref events", ErrInvalid, i)
		}
		if err := checkEvent(b); err != nil {
			return fmt.Errorf("%w: events[%d]: %w", ErrInvalid, i, err)
		}
	}
	return nil
}

func checkEvent(b EventBody) error {
	switch b := b.(type) {
	case RefEvent:
		if b.Reason == "" {
			return errors.New("reason is empty")
		}
		return b.Name.Check()
	case DeltaEvent:
		if b.RunID == "" || b.Attempt < 1 || b.Index < 0 {
			return errors.New("a delta needs runId, attempt from 1 and index from 0")
		}
		if b.Part != TextPart && b.Part != ThinkingPart {
			return fmt.Errorf("part %q is not text or thinking", b.Part)
		}
		return checkTexts(b.RunID, b.Delta)
	case ProgressEvent:
		if b.RunID == "" {
			return errors.New("runId is empty")
		}
		if len(b.Progress.Details) > 0 {
			if err := object.CheckJSON(b.Progress.Details); err != nil {
				return fmt.Errorf("progress.details: %w", err)
			}
		}
		return checkTexts(b.RunID, b.CallID, b.Progress.Text, b.Progress.Title)
	case NoticeEvent:
		switch b.Level {
		case Info, Warn, Error:
			return checkTexts(b.Owner, b.Message)
		}
		return fmt.Errorf("level %q is not info, warn or error", b.Level)
	case nil:
	}
	return errNoEvent
}

var errNoEvent = errors.New("event is missing")

// checkTexts refuses what no JSON text can hold, so that a store learns it before it writes a part of a batch.
func checkTexts(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("text %.40q is not valid UTF-8", s)
		}
	}
	return nil
}

// CheckLease reports why a lease call is not well-formed. Every store calls it first.
func CheckLease(name ref.Name, ttl Duration) error {
	if err := name.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if ttl.Milliseconds() < 1 {
		return fmt.Errorf("%w: ttl must be at least one millisecond, got %v", ErrInvalid, ttl)
	}
	return nil
}
