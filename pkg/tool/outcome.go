package tool

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// An Outcome is how an execution ends: [Done] or [Wait].
//
//sumtype:decl
type Outcome interface{ outcome() }

func (Done) outcome() {}
func (Wait) outcome() {}

// Done settles a call with its result.
type Done struct {
	Content []message.Content
	Details jsontext.Value // for clients, never sent to a model
	Title   string         // a short heading a client may show, empty for none
	IsError bool
	Usage   *message.Usage // what the tool itself spent on models, nil for nothing
}

// Wait parks a call until a reply arrives, the deadline passes or the run is aborted.
type Wait struct {
	// Selection is the question a client draws. Nil when no participant is being asked.
	Selection *message.Selection
	// Until is the deadline, 0 for none.
	Until message.Millis
}

// Validate reports the first rule that w breaks.
func (w Wait) Validate() error {
	if w.Until < 0 {
		return errors.New("wait.until is negative; use 0 for no deadline")
	}
	if w.Selection == nil {
		return nil
	}
	if err := w.Selection.Validate(); err != nil {
		return fmt.Errorf("wait.%w", err)
	}
	return nil
}

// Text returns the result whose content is s. Bytes of s that are not UTF-8 are replaced by U+FFFD.
func Text(s string) Done {
	return Done{Content: []message.Content{message.Text{Text: message.CleanText(s)}}}
}

// Errorf returns the error result whose content is the formatted text.
func Errorf(format string, args ...any) Done {
	d := Text(fmt.Sprintf(format, args...))
	d.IsError = true
	return d
}
