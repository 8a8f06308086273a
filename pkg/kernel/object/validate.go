package object

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

var (
	errNoBody  = errors.New("body is missing")
	errNoPhase = errors.New("phase is missing")
	errBadTime = errors.New("at is negative")
)

func validate(o Object) error {
	switch o := o.(type) {
	case Commit:
		if i := slices.IndexFunc(o.Imports, OID.IsZero); i >= 0 {
			return fmt.Errorf("imports[%d] is missing", i)
		}
		return first(validateBody(o.Body), validateAt(o.At))
	case Change:
		return first(validateBody(o.Body), validateAt(o.At))
	case Run:
		return o.validate()
	case Stack:
		if o.Parent == "" {
			return errors.New("parent is empty")
		}
		return nil
	case Blob:
		if len(o.Value) == 0 {
			return errors.New("value is missing")
		}
		return nil
	case Intent:
		return o.validate()
	case Waiting:
		if o.Selection != nil {
			if err := o.Selection.Validate(); err != nil {
				return err
			}
		}
		if o.Until < 0 {
			return errors.New("until is negative")
		}
		return first(validateIntent(o.Intent), validateAt(o.At))
	case Expired:
		return first(validateIntent(o.Intent), validateWaiting(o.Waiting), validateAt(o.At))
	case Signal:
		if len(o.Signal) == 0 {
			return errors.New("signal is missing")
		}
		return first(validateIntent(o.Intent), validateWaiting(o.Waiting), validateAt(o.At))
	case Result:
		return first(validateIntent(o.Intent), message.Validate(o.Result), validateAt(o.At))
	}
	panic("unreachable")
}

func (r Run) validate() error {
	switch {
	case r.ID == "":
		return errors.New("id is empty")
	case r.Head == "":
		return errors.New("head is empty")
	case r.Attempts < 0:
		return errors.New("attempts is negative")
	case r.StartedAt < 0:
		return errors.New("startedAt is negative")
	}
	switch p := r.Phase.(type) {
	case Respond, Tools, WaitingPhase, Done, Aborted:
		return nil
	case Retry:
		if p.At < 0 || p.Retries < 0 {
			return errors.New("phase.at or phase.retries is negative")
		}
		return nil
	case Failed:
		if !p.Class.Valid() {
			return fmt.Errorf("phase.class %q is not known", p.Class)
		}
		return nil
	case nil:
	}
	return errNoPhase
}

func (i Intent) validate() error {
	switch {
	case i.RunID == "":
		return errors.New("runId is empty")
	case i.Tool == "":
		return errors.New("tool is empty")
	case len(i.Args) == 0:
		return errors.New("args is missing")
	case !i.Replay.Valid():
		return fmt.Errorf("replay %q is not safe or never", i.Replay)
	}
	return validateAt(i.At)
}

func validateBody(b Body) error {
	switch b := b.(type) {
	case MessageBody:
		if err := message.Validate(b.Message); err != nil {
			return fmt.Errorf("body.message: %w", err)
		}
	case CheckpointBody:
		if b.TokensBefore < 0 {
			return errors.New("body.tokensBefore is negative")
		}
		for i, m := range b.RetainedTail {
			if err := message.Validate(m); err != nil {
				return fmt.Errorf("body.retainedTail[%d]: %w", i, err)
			}
		}
		if b.Material != nil && (b.Material.Type != "provider" || len(b.Material.Data) == 0) {
			return errors.New(`body.material needs type "provider" and data`)
		}
	case ConfigBody:
		if b.Model != nil && b.Model.ID == "" {
			return errors.New("body.model.id is empty")
		}
	case NoteBody:
		if b.Type == "" {
			return errors.New("body.type is empty")
		}
		if len(b.Data) == 0 {
			return errors.New("body.data is missing")
		}
	case SummaryBody:
	case nil:
		return errNoBody
	}
	return nil
}

func validateAt(at Millis) error {
	if at < 0 {
		return errBadTime
	}
	return nil
}

func validateIntent(o OID) error {
	if o.IsZero() {
		return errors.New("intent is missing")
	}
	return nil
}

func validateWaiting(o OID) error {
	if o.IsZero() {
		return errors.New("waiting is missing")
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
