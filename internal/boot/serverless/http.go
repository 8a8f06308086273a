package serverless

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// maxStream is the planned end of a stream, a minute before the platform's.
const maxStream = 14 * time.Minute

// A front serves HTTP for the tenants of requests. Every function serves every route: the gateway selects, and the roles see to the rest.
type front struct {
	app *app
	// service is what the requests of a tenant reach.
	service func(tenant string, h *tenantHost) api.Service

	mu       sync.Mutex
	handlers map[*tenantHost]http.Handler
}

func (a *app) front(service func(tenant string, h *tenantHost) api.Service) *front {
	return &front{app: a, service: service, handlers: map[*tenantHost]http.Handler{}}
}

// ServeHTTP implements [http.Handler]. The request's context has verified claims.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	claims, ok := lambdahttp.ClaimsOf(r.Context())
	if !ok {
		lambdahttp.WriteProblem(w, r, "unauthenticated", "the request has no verified identity")
		return
	}
	h, err := f.handler(r.Context(), claims.Tenant)
	if err != nil {
		f.app.log.LogAttrs(r.Context(), slog.LevelError, "opening the store", slog.String("tenant", claims.Tenant), slog.Any("error", err))
		lambdahttp.WriteProblem(w, r, "store-unavailable", "the store cannot be opened; try again")
		return
	}
	h.ServeHTTP(w, r)
}

func (f *front) handler(ctx context.Context, tenant string) (http.Handler, error) {
	host, err := f.app.hosts.tenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.handlers[host]; h != nil {
		return h, nil
	}
	if len(f.handlers) >= maxHosts {
		clear(f.handlers)
	}
	h := httpapi.New(f.service(tenant, host), &httpapi.Options{
		Principal: principal, Logger: f.app.log, MaxStream: maxStream, Now: f.app.now,
	})
	f.handlers[host] = h
	return h, nil
}

// principal attributes a request to the user of its token.
func principal(r *http.Request) (object.Actor, error) {
	claims, ok := lambdahttp.ClaimsOf(r.Context())
	if !ok {
		return object.Actor{}, api.ErrUnauthorized
	}
	return object.Actor{UserID: claims.User, ClientID: claims.Client}, nil
}

// plain is the service of a function that takes no steps.
func plain(_ string, h *tenantHost) api.Service { return still{h} }

// A still service takes no steps: its function offers models no tools. The gateway sends it none.
type still struct{ api.Service }

// Step implements [api.Stepper].
func (still) Step(context.Context, api.HeadOptions) (api.StepOutcome, error) {
	return nil, fmt.Errorf("%w: steps are taken by another function", api.ErrForbidden)
}

// A waking service has a head stepped after every call that may have given it something to do. What a participant repeats wakes again: the first
// time may have been lost.
type waking struct {
	api.Service

	tenant string
	waker  *wake.Waker
}

func (a *app) waking(tenant string, h *tenantHost) api.Service {
	return waking{Service: still{h}, tenant: tenant, waker: a.waker}
}

func (w waking) wake(ctx context.Context, session api.SessionID, head string, err error) {
	if err == nil {
		w.waker.Step(ctx, wake.Message{Tenant: w.tenant, Session: session, Head: head})
	}
}

// Send implements [api.Messages].
func (w waking) Send(ctx context.Context, opts api.SendOptions) (api.SendReceipt, error) {
	out, err := w.Service.Send(ctx, opts)
	w.wake(ctx, opts.SessionID, opts.Head, err)
	return out, err
}

// Redeliver implements [api.Messages].
func (w waking) Redeliver(ctx context.Context, opts api.RedeliverOptions) (api.RedeliverOutcome, error) {
	out, err := w.Service.Redeliver(ctx, opts)
	w.wake(ctx, opts.SessionID, opts.Head, err)
	return out, err
}

// Configure implements [api.Sessions].
func (w waking) Configure(ctx context.Context, opts api.ConfigureOptions) (api.ConfigureOutcome, error) {
	out, err := w.Service.Configure(ctx, opts)
	w.wake(ctx, opts.SessionID, opts.Head, err)
	return out, err
}

// Reply implements [api.Runs]. It names no head: whoever is woken finds it.
func (w waking) Reply(ctx context.Context, opts api.ReplyOptions) (api.ReplyOutcome, error) {
	out, err := w.Service.Reply(ctx, opts)
	w.wake(ctx, opts.SessionID, "", err)
	return out, err
}

// Abort implements [api.Runs].
func (w waking) Abort(ctx context.Context, opts api.AbortOptions) (api.AbortOutcome, error) {
	out, err := w.Service.Abort(ctx, opts)
	w.wake(ctx, opts.SessionID, opts.Head, err)
	return out, err
}

// A stepping service takes steps as the queue does: the next entry is arranged before it answers.
type stepping struct {
	api.Service

	tenant  string
	stepper *wake.Stepper
}

// Step implements [api.Stepper].
func (s stepping) Step(ctx context.Context, opts api.HeadOptions) (api.StepOutcome, error) {
	return s.stepper.Step(ctx, s.tenant, opts)
}
