package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// Hooks judge and amend tool calls, in order. They run once, for calls that are about to start and for results that are about to be
// recorded; recovery runs none of them again. A call that a hook refused leaves no trace outside its result, so a batch that is taken again
// asks about it again.
type Hooks struct {
	// BeforeTool hooks see a call whose arguments fit its schema. The first that does not return [Continue] or [Modify] ends the
	// chain. They fail closed: an error, a panic, a missing decision or one that comes too late keeps the tool from running, answers the
	// call with an error and fails the run.
	BeforeTool []func(ctx context.Context, call tool.Call) (Decision, error)
	// AfterTool hooks return the result that is recorded instead of the one they get. When one fails, the recorded result is an error
	// without the original output. Call and tool name are not theirs to change.
	AfterTool []func(ctx context.Context, call tool.Call, result message.ToolResult) (message.ToolResult, error)
}

// A Decision is what a BeforeTool hook says about a call: [Continue], [Modify] or [Reject].
//
//sumtype:decl
type Decision interface{ decision() }

func (Continue) decision() {}
func (Modify) decision()   {}
func (Reject) decision()   {}

type (
	// Continue lets the call be.
	Continue struct{}
	// Modify replaces the arguments by another object, which is checked against the tool's schema again.
	Modify struct{ Arguments jsontext.Value }
	// Reject answers the call with an error that gives the reason. The run goes on.
	Reject struct{ Reason string }
)

// before runs the BeforeTool hooks. It returns the arguments they leave, or why the call is rejected. An error fails the run.
func (t *Turn) before(ctx context.Context, call tool.Call) (args jsontext.Value, rejected string, err error) {
	for _, hook := range t.opts.Hooks.BeforeTool {
		ctx, cancel := context.WithTimeout(ctx, t.opts.HookTimeout)
		decision, err := patient(ctx, 0, func() (Decision, error) { return hook(ctx, call) })
		late := ctx.Err()
		cancel()
		switch {
		case err != nil:
			return nil, "", fmt.Errorf("before_tool for %q: %w", call.Name, err)
		case late != nil:
			return nil, "", fmt.Errorf("before_tool for %q decided too late: %w", call.Name, late)
		}
		switch d := decision.(type) {
		case Continue:
		case Modify:
			if d.Arguments.Kind() != '{' {
				return nil, "", fmt.Errorf("before_tool for %q: the new arguments are not an object", call.Name)
			}
			if err := object.CheckJSON(d.Arguments); err != nil {
				return nil, "", fmt.Errorf("before_tool for %q: the new arguments: %w", call.Name, err)
			}
			call.Arguments = d.Arguments.Clone()
		case Reject:
			if d.Reason == "" {
				d.Reason = "no reason was given"
			}
			return nil, d.Reason, nil
		case nil:
			return nil, "", fmt.Errorf("before_tool for %q: no decision was made", call.Name)
		}
	}
	return call.Arguments, "", nil
}

// after runs the AfterTool hooks on a result. It is not ended by an abort, so that what a tool has done is recorded.
func (t *Turn) after(ctx context.Context, call tool.Call, result message.ToolResult) (message.ToolResult, error) {
	for _, hook := range t.opts.Hooks.AfterTool {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.opts.HookTimeout)
		patched, err := patient(ctx, 0, func() (message.ToolResult, error) { return hook(ctx, call, result) })
		cancel()
		if errors.Is(err, errLeft) {
			err = errors.New("it took too long")
		}
		if err != nil {
			return message.ToolResult{}, err
		}
		result = patched
	}
	return result, nil
}
