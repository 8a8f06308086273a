package builtin

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// Clock returns the tool "clock", which tells the step's time in UTC. Its replay policy is safe.
func Clock() tool.Tool {
	return tool.Tool{
		Name:        "clock",
		Description: "Tell the current date and time in UTC.",
		Parameters:  jsontext.Value(`{"type":"object","additionalProperties":false,"properties":{}}`),
		Replay:      tool.ReplaySafe,
		Execute: func(_ context.Context, call tool.Call) (tool.Outcome, error) {
			return tool.Text(stamp(call.Now)), nil
		},
	}
}

// Note returns the tool "note", which hands a text to sink. Sink must be safe for concurrent use; its error becomes the
// call's. A note that may have been written is not written again: the replay policy is never.
func Note(sink func(ctx context.Context, text string) error) tool.Tool {
	return tool.Tool{
		Name:        "note",
		Description: "Write a note down.",
		Parameters: jsontext.Value(`{"type":"object","additionalProperties":false,"required":["text"],
			"properties":{"text":{"type":"string","minLength":1,"description":"What to write down."}}}`),
		Replay: tool.ReplayNever,
		Execute: func(ctx context.Context, call tool.Call) (tool.Outcome, error) {
			in, err := tool.Decode[struct {
				Text string `json:"text"`
			}](call.Arguments)
			if err != nil {
				return tool.Errorf("%v", err), nil
			}
			if err := sink(ctx, in.Text); err != nil {
				return nil, fmt.Errorf("writing the note: %w", err)
			}
			return tool.Text("Noted."), nil
		},
	}
}

// Slow returns the tool "slow", which works for a number of seconds and says so after each. Sleep waits for a duration or
// until its context ends, whose error it then returns; nil means a timer. The replay policy is never, so that a process
// killed in the middle shows what an interrupted call looks like.
func Slow(sleep func(ctx context.Context, d time.Duration) error) tool.Tool {
	if sleep == nil {
		sleep = sleepTimer
	}
	return tool.Tool{
		Name:        "slow",
		Description: "Work for a number of seconds, with progress.",
		Parameters: jsontext.Value(`{"type":"object","additionalProperties":false,"required":["seconds"],
			"properties":{"seconds":{"type":"integer","minimum":1,"maximum":3600,"description":"How long to work."}}}`),
		Replay: tool.ReplayNever,
		Execute: func(ctx context.Context, call tool.Call) (tool.Outcome, error) {
			in, err := tool.Decode[struct {
				Seconds int `json:"seconds"`
			}](call.Arguments)
			if err != nil {
				return tool.Errorf("%v", err), nil
			}
			for done := 1; done <= in.Seconds; done++ {
				if err := sleep(ctx, time.Second); err != nil {
					return nil, fmt.Errorf("stopped after %d of %d seconds: %w", done-1, in.Seconds, err)
				}
				call.Progress(tool.Progress{
					Text:    fmt.Sprintf("%d of %d seconds", done, in.Seconds),
					Details: jsontext.Value(fmt.Sprintf(`{"done":%d,"of":%d}`, done, in.Seconds)),
				})
			}
			return tool.Text(fmt.Sprintf("Worked for %d seconds.", in.Seconds)), nil
		},
	}
}

func sleepTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
