package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

const waitParameters = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "seconds": {"type": "number", "minimum": 0, "maximum": 34560000, "description": "How long to wait. Give this or until."},
    "until": {"type": "string", "description": "When to go on, as RFC 3339, for example 2026-01-31T09:00:00Z. Give this or seconds."}
  }
}`

// maxWait is the longest wait: 400 days, a year and a notice period. Longer ones are refused and never shortened.
const maxWait message.Millis = 400 * 24 * 60 * 60 * 1000

type waitInput struct {
	Seconds *float64 `json:"seconds,omitzero"`
	Until   *string  `json:"until,omitzero"`
}

// Wait returns the tool "wait", which sleeps by parking: no process needs to live until the time has come.
func Wait() tool.Tool {
	return tool.Tool{
		Name:        "wait",
		Description: "Wait for a number of seconds or until a time, at most 400 days. Costs nothing while it waits.",
		Parameters:  jsontext.Value(waitParameters),
		Replay:      tool.ReplaySafe, // the deadline may move by the length of a crash, and nothing else happens
		Execute:     waitExecute,
		Wake:        waitWake,
	}
}

func waitExecute(_ context.Context, call tool.Call) (tool.Outcome, error) {
	in, err := tool.Decode[waitInput](call.Arguments)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	until, err := in.deadline(call.Now)
	if err != nil {
		return tool.Errorf("arguments%v", err), nil
	}
	if until <= call.Now {
		return tool.Text(fmt.Sprintf("There was nothing to wait for: %s has passed, it is %s.", stamp(until), stamp(call.Now))), nil
	}
	return tool.Wait{Until: until}, nil
}

func (in waitInput) deadline(now message.Millis) (message.Millis, error) {
	switch {
	case in.Seconds != nil && in.Until != nil, in.Seconds == nil && in.Until == nil:
		return 0, errors.New(": give exactly one of seconds and until")
	case in.Seconds != nil:
		after, err := millis(*in.Seconds)
		if err != nil {
			return 0, fmt.Errorf(".seconds: %w", err)
		}
		return now + after, nil
	}
	at, err := time.Parse(time.RFC3339Nano, *in.Until)
	if err != nil {
		return 0, fmt.Errorf(".until: %q is not an RFC 3339 time such as 2026-01-31T09:00:00Z", *in.Until)
	}
	until := message.MillisOf(at.Add(time.Millisecond - 1)) // rounded up, so that it never goes on too early
	if until-now > maxWait {
		return 0, fmt.Errorf(".until: %s is more than 400 days ahead", stamp(until))
	}
	return until, nil
}

func waitWake(_ context.Context, w tool.Wake) (tool.Outcome, error) {
	switch {
	case w.Aborted:
		return tool.Errorf("The wait was cut short because the run was aborted."), nil
	case w.Expired:
		return tool.Text("Waited until " + stamp(w.Until) + "."), nil
	}
	return tool.Text(fmt.Sprintf("Woken at %s, before %s.", stamp(w.Now), stamp(w.Until))), nil
}

// millis returns seconds in milliseconds, rounded up.
func millis(seconds float64) (message.Millis, error) {
	switch {
	case math.IsNaN(seconds) || seconds < 0:
		return 0, errors.New("is negative")
	case seconds*1000 > float64(maxWait):
		return 0, fmt.Errorf("%v is more than 400 days", seconds)
	}
	return message.Millis(math.Ceil(seconds * 1000)), nil
}

func stamp(m message.Millis) string { return m.Time().Format(time.RFC3339Nano) }
