package serverless

import (
	"context"
	"encoding/json" //nolint:depguard // the types of the events are made for it
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
)

const (
	// reserve is what is kept of an invocation for what follows a call that is cut: the provider's or tool's grace to stop, and the publish.
	reserve = 8 * time.Second
	// leastStep is what must be left of an invocation for another step.
	leastStep = 30 * time.Second
)

// A handler answers an invocation: payloads are JSON both ways.
type handler func(ctx context.Context, payload []byte) ([]byte, error)

var _ lambda.Handler = handler(nil)

// Invoke implements [lambda.Handler].
func (h handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return h(ctx, payload) }

// answer encodes what an invocation returns.
func answer(out any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// overHTTP answers requests of the gateway, whose authorizer has verified their tokens. The limit is how long one may take.
func (a *app) overHTTP(h http.Handler, limit time.Duration) handler {
	serve := lambdahttp.Serve(lambdahttp.Authorized(a.config.TenantClaim, h), &lambdahttp.Options{Logger: a.log, Timeout: limit, Now: a.now})
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		var req lambdahttp.Request
		if err := json.Unmarshal(payload, &req); err != nil {
			return nil, fmt.Errorf("%w: %w", errPayload, err)
		}
		return answer(serve(ctx, req))
	}
}

// Submit is the function of everything that participants write. It wakes the head it wrote to.
func Submit(ctx context.Context, l Links) (lambda.Handler, error) {
	a, err := start(ctx, l, EnvStepsQueue)
	if err != nil {
		return nil, err
	}
	return a.overHTTP(a.front(a.waking), 0), nil
}

// Snapshot is the function of everything that is read.
func Snapshot(ctx context.Context, l Links) (lambda.Handler, error) {
	a, err := start(ctx, l)
	if err != nil {
		return nil, err
	}
	return a.overHTTP(a.front(plain), 0), nil
}

// Events is the function of the feed: pages and long polls over the gateway, server-sent events over its own URL, where it verifies tokens itself.
// It returns what [lambda.Start] takes, since a stream is no payload.
func Events(ctx context.Context, l Links) (any, error) {
	a, err := start(ctx, l, EnvIssuer, EnvAudience)
	if err != nil {
		return nil, err
	}
	v, err := lambdahttp.NewVerifier(lambdahttp.VerifierOptions{
		Issuer: a.config.Issuer, Audiences: a.config.Audiences, TenantClaim: a.config.TenantClaim, Logger: a.log, Now: a.now,
	})
	if err != nil {
		return nil, err
	}
	h := a.front(plain)
	return lambdahttp.Either(lambdahttp.Authorized(a.config.TenantClaim, h), lambdahttp.Verified(v, h), &lambdahttp.Options{Logger: a.log, Now: a.now}), nil
}

// Collect is the function of what removes: sessions, events, objects. Its role alone may delete bodies.
func Collect(ctx context.Context, l Links) (lambda.Handler, error) { return Snapshot(ctx, l) }

// Step is the function that advances runs, one durable step an invocation unless configured otherwise.
func Step(ctx context.Context, l Links) (lambda.Handler, error) {
	a, err := start(ctx, l, EnvStepsQueue, EnvAlarmsQueue, EnvScheduleGroup, EnvScheduleRole, EnvScheduleTarget)
	if err != nil {
		return nil, err
	}
	if err := a.offer(); err != nil {
		return nil, err
	}
	stepper := &wake.Stepper{Hosts: a.hosts, Waker: a.waker, Steps: a.config.Steps, Least: leastStep}
	serve := a.overHTTP(a.front(func(tenant string, h *tenantHost) api.Service {
		return stepping{Service: h, tenant: tenant, stepper: stepper}
	}), -1) // a step goes on when the gateway hangs up
	return handler(func(ctx context.Context, payload []byte) ([]byte, error) {
		ctx, cancel := timed(ctx)
		defer cancel()
		var t trigger
		if err := json.Unmarshal(payload, &t); err != nil {
			return nil, fmt.Errorf("%w: %w", errPayload, err)
		}
		step := func(ctx context.Context, m wake.Message) error { return taken(stepper.Handle(ctx, m)) }
		switch t.source() {
		case "http":
			return serve(ctx, payload)
		case fromSQS:
			return answer(a.messages(ctx, payload, step))
		case "message":
			m, err := wake.ParseMessage(payload)
			if err != nil {
				return nil, err
			}
			return answer(struct{}{}, step(ctx, m))
		}
		return nil, errPayload
	}), nil
}

// timed ends the time of steps ahead of the invocation's, so that a call that is cut is published.
func timed(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(context.WithoutCancel(ctx), end.Add(-reserve), kernel.ErrTimeUp)
}

// taken is the error of a message that should be delivered again: not that of a session that is gone, nor of a step that was given back and
// whose next entry is arranged.
func taken(err error) error {
	if errors.Is(err, api.ErrSessionNotFound) || errors.Is(err, api.ErrHeadNotFound) || errors.Is(err, kernel.ErrTimeUp) {
		return nil
	}
	return err
}

// Alarm is the function that is told of what may want something: delayed messages, stream records, schedules, sweeps. What the stream's records tell
// others goes on to the bus, if there is one.
func Alarm(ctx context.Context, l Links) (lambda.Handler, error) {
	a, err := start(ctx, l, EnvStepsQueue, EnvAlarmsQueue)
	if err != nil {
		return nil, err
	}
	if err := a.publishing(l); err != nil {
		return nil, err
	}
	alarm := &wake.Alarm{Hosts: a.hosts, Waker: a.waker, Due: a.due}
	return handler(func(ctx context.Context, payload []byte) ([]byte, error) {
		var t trigger
		if err := json.Unmarshal(payload, &t); err != nil {
			return nil, fmt.Errorf("%w: %w", errPayload, err)
		}
		switch t.source() {
		case fromSQS:
			return answer(a.messages(ctx, payload, alarm.Look))
		case fromStream:
			look := alarm.Look
			if a.config.Off[wake.Stream] {
				look = nil
			}
			return answer(a.stream(ctx, payload, look))
		case "sweep":
			return answer(struct{}{}, alarm.Sweep(ctx))
		case "message":
			m, err := wake.ParseMessage(payload)
			if err != nil {
				return nil, err
			}
			return answer(struct{}{}, alarm.Look(ctx, m))
		}
		return nil, errPayload
	}), nil
}
