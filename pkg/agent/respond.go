package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Respond asks the run's model for one response. Whatever happens, the outcome carries a whole message that can be recorded: a
// response that failed or was stopped keeps its text and has no tool calls.
func (t *Turn) Respond(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
	provider, info, err := t.model(in.Run.Config)
	if err != nil {
		m := unasked(in.Run.Config)
		return t.failed(in, llm.ErrorMessage(m, llm.Failure{Kind: llm.FailureInvalidRequest}, err.Error())), nil
	}
	r := &recorder{ctx: ctx, in: in}
	req := t.request(in, info)
	m, err := patient(ctx, t.opts.AbortGrace, func() (message.Assistant, error) {
		return provider.Stream(ctx, req, r.emit), nil
	})
	head := message.Assistant{API: info.API, Provider: provider.Name(), Model: info.ID}
	switch {
	case errors.Is(err, errLeft):
		m = llm.AbortedMessage(r.leave(head))
	case err != nil:
		m = llm.ErrorMessage(r.leave(head), llm.Failure{Kind: llm.FailureUnknown}, "the provider "+err.Error())
		m = normalize(m, head)
		m.Timestamp = in.Session.Now()
		return kernel.ResponseFailed{Message: m, Error: m.ErrorMessage, Class: object.FailedProvider}, nil //nolint:nilerr // the panic is the outcome
	case ctx.Err() != nil && m.StopReason == message.StopError:
		// What fails after it was stopped failed because it was stopped.
		m = llm.AbortedMessage(m)
		m.ErrorMessage, m.Diagnostics = "", nil
	}
	m = normalize(m, head)
	if errors.Is(context.Cause(ctx), kernel.ErrTimeUp) && m.StopReason == message.StopAborted {
		return t.cutShort(in, m), nil
	}
	return t.judge(in, m), nil
}

// cutShort asks again for a response that the host had no more time for. What was said stays on the branch and is not sent to the model.
func (t *Turn) cutShort(in kernel.TurnInput, m message.Assistant) kernel.RespondOutcome {
	m.Timestamp = in.Session.Now()
	m.ErrorMessage = "The response took longer than this host has for one step."
	if retries := retries(in.Run); !t.opts.Retry.Disabled && retries <= t.opts.Retry.Max {
		return kernel.RetryLater{Message: m, At: m.Timestamp, Retries: retries, Error: m.ErrorMessage}
	}
	return kernel.ResponseFailed{Message: m, Error: m.ErrorMessage, Class: object.FailedProvider}
}

// retries counts the next try of a run's response among the consecutive ones.
func retries(run object.Run) int {
	if p, again := run.Phase.(object.Retry); again {
		return p.Retries + 1
	}
	return 1
}

// model returns who serves the run's model. The error is for people.
func (t *Turn) model(c object.Config) (llm.Provider, llm.ModelInfo, error) {
	if c.Model == nil {
		return nil, llm.ModelInfo{}, errors.New("no model is chosen, and this host has no default model")
	}
	provider, info, ok := t.opts.Models.Lookup(llm.Model{Provider: c.Model.Provider, ID: c.Model.ID})
	if !ok {
		return nil, llm.ModelInfo{}, fmt.Errorf("the model %q of provider %q is not known to this host; choose another model",
			c.Model.ID, c.Model.Provider)
	}
	info.Provider = provider.Name()
	return provider, info, nil
}

// unasked heads a message for a response that nobody was asked for.
func unasked(c object.Config) message.Assistant {
	if c.Model == nil {
		return message.Assistant{}
	}
	return message.Assistant{Provider: c.Model.Provider, Model: c.Model.ID}
}

// judge decides what a response means for the run.
func (t *Turn) judge(in kernel.TurnInput, m message.Assistant) kernel.RespondOutcome {
	m.Timestamp = in.Session.Now()
	switch m.StopReason {
	case message.StopError:
		return t.failed(in, m)
	case message.StopAborted:
		return kernel.ResponseAborted{Message: m}
	case message.StopEnd, message.StopToolUse, message.StopLength, message.StopPending, message.StopDeferred:
	}
	if len(m.Calls()) > 0 {
		return kernel.CallTools{Message: m}
	}
	return kernel.Complete{Message: m}
}

// failed decides between another try and the end of the run.
func (t *Turn) failed(in kernel.TurnInput, m message.Assistant) kernel.RespondOutcome {
	now := in.Session.Now()
	m.Timestamp = now
	v := classify(m)
	retries := retries(in.Run)
	if v.retryable && !t.opts.Retry.Disabled && retries <= t.opts.Retry.Max {
		return kernel.RetryLater{
			Message: m, At: now + t.opts.Retry.delay(retries, v.minimum), Retries: retries, Error: m.ErrorMessage,
		}
	}
	text := m.ErrorMessage
	if v.kind == llm.FailureContextOverflow {
		text = "The conversation no longer fits the model's context window: " + text
	}
	return kernel.ResponseFailed{Message: m, Error: text, Class: object.FailedProvider}
}
