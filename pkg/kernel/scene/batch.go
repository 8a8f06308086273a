package scene

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A stoppedError ends a batch that may publish nothing; outcome says why.
type stoppedError struct{ outcome kernel.ToolsOutcome }

func (stoppedError) Error() string { return "the batch stopped" }

// Tools implements [kernel.Turn]: it walks every call through its effect ref, one after the other.
func (s *Script) Tools(ctx context.Context, in kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	var results []message.ToolResult
	var parked []string
	for _, call := range in.Assistant.Calls() {
		result, waits, err := s.answer(ctx, in, call)
		var stopped stoppedError
		switch {
		case errors.As(err, &stopped):
			return stopped.outcome, nil
		case err != nil:
			return kernel.BatchFailed{Results: results, Error: err.Error(), Cause: err}, nil //nolint:nilerr // the outcome carries it
		case waits:
			parked = append(parked, call.ID)
		default:
			results = append(results, result)
		}
	}
	if len(parked) > 0 {
		return kernel.Parked{Calls: parked}, nil
	}
	return kernel.Settled{Results: results}, nil
}

// answer recovers or executes one call.
func (s *Script) answer(ctx context.Context, in kernel.ToolsInput, call message.ToolCall) (message.ToolResult, bool, error) {
	tool, known := s.Toolbox[call.Name]
	switch {
	case in.Assistant.StopReason == message.StopLength:
		return failed(call, "the message was cut at its limit", in.Now), false, nil
	case !known:
		return failed(call, fmt.Sprintf("there is no tool %q", call.Name), in.Now), false, nil
	}
	replay := tool.Replay
	if replay == "" {
		replay = object.ReplayNever
	}
	opened, err := in.Session.OpenEffects(context.WithoutCancel(ctx), in.Lease, in.Run.ID, []kernel.Opening{{Call: call, Replay: replay}})
	if err != nil {
		return message.ToolResult{}, false, err
	}
	switch o := opened.(type) {
	case kernel.Fenced:
		return message.ToolResult{}, false, stoppedError{kernel.BatchFenced{}}
	case kernel.Opened:
		if state := o.Calls[0]; !state.Fresh {
			return s.recover(ctx, in, tool, call, state.EffectState)
		}
		return s.record(ctx, in, o.Calls[0].EffectState, s.run(ctx, tool, call))
	}
	panic("unreachable")
}

func (s *Script) run(ctx context.Context, tool Tool, call message.ToolCall) Answer {
	s.mu.Lock()
	if s.runs == nil {
		s.runs = make(map[string]int)
	}
	s.runs[call.ID]++
	s.mu.Unlock()
	if tool.Run == nil {
		return Answer{Text: call.ID + " ok"}
	}
	return tool.Run(ctx, call)
}

// recover goes on from an effect that was there: the table of states and replay policies.
func (s *Script) recover(ctx context.Context, in kernel.ToolsInput, tool Tool, call message.ToolCall, seen kernel.EffectState) (message.ToolResult, bool, error) {
	aborted := ctx.Err() != nil && errors.Is(context.Cause(ctx), kernel.ErrAborted)
	switch e := seen.Effect.(type) {
	case object.Intent:
		if e.Replay == object.ReplaySafe && !aborted {
			return s.record(ctx, in, seen, s.run(ctx, tool, call))
		}
		return s.record(ctx, in, seen, Answer{Text: "interrupted: the outcome is unknown", IsError: true})
	case object.Waiting:
		switch {
		case aborted:
			return s.record(ctx, in, seen, tool.wake(ctx, call, Wake{Aborted: true}))
		case !seen.Due(in.Now):
			return message.ToolResult{}, true, nil
		}
		claimed, err := in.Session.ExpireEffect(context.WithoutCancel(ctx), in.Lease, seen, in.Now)
		if err != nil {
			return message.ToolResult{}, false, err
		}
		next, err := moved(claimed)
		if err != nil {
			return message.ToolResult{}, false, err
		}
		return s.record(ctx, in, next, tool.wake(ctx, call, Wake{Expired: true}))
	case object.Expired:
		return s.record(ctx, in, seen, tool.wake(ctx, call, Wake{Expired: true}))
	case object.Signal:
		return s.record(ctx, in, seen, tool.wake(ctx, call, Wake{Signal: e.Signal, Aborted: aborted}))
	case object.Result:
		return e.Result, false, nil
	}
	panic("unreachable")
}

func (t Tool) wake(ctx context.Context, call message.ToolCall, w Wake) Answer {
	switch {
	case t.Wake != nil:
		return t.Wake(ctx, call, w)
	case w.Aborted:
		return Answer{Text: "aborted while waiting", IsError: true}
	case w.Expired:
		return Answer{Text: "timed out", IsError: true}
	}
	var text string
	if err := json.Unmarshal(w.Signal, &text); err != nil {
		text = string(w.Signal)
	}
	return Answer{Text: text}
}

// record settles or parks a call from the state that was seen.
func (s *Script) record(ctx context.Context, in kernel.ToolsInput, seen kernel.EffectState, a Answer) (message.ToolResult, bool, error) {
	ctx = context.WithoutCancel(ctx) // what happened is recorded, also when the call was cut short
	if a.Park {
		outcome, err := in.Session.ParkEffect(ctx, in.Lease, seen, a.Selection, a.Until)
		if err == nil {
			_, err = moved(outcome)
		}
		return message.ToolResult{}, true, err
	}
	result := message.ToolResult{
		ToolCallID: seen.Intent.CallID, ToolName: seen.Intent.Tool, IsError: a.IsError, Timestamp: in.Now,
		Content: []message.Content{message.Text{Text: a.Text}},
	}
	outcome, err := in.Session.SettleEffect(ctx, in.Lease, seen, result)
	if err == nil {
		_, err = moved(outcome)
	}
	return result, false, err
}

// moved returns an effect's new state, or why the batch ends here.
func moved(o kernel.EffectOutcome) (kernel.EffectState, error) {
	switch o := o.(type) {
	case kernel.Moved:
		return o.State, nil
	case kernel.Conflict:
		return kernel.EffectState{}, stoppedError{kernel.BatchConflict{}}
	case kernel.Fenced:
		return kernel.EffectState{}, stoppedError{kernel.BatchFenced{}}
	}
	panic("unreachable")
}

func failed(call message.ToolCall, text string, at object.Millis) message.ToolResult {
	return message.ToolResult{
		ToolCallID: call.ID, ToolName: call.Name, IsError: true, Timestamp: at, Content: []message.Content{message.Text{Text: text}},
	}
}
