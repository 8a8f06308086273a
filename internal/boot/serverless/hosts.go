package serverless

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/turn"
	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// maxHosts is how many tenants a warm process keeps: more take turns.
const maxHosts = 64

// pollStep is how soon a call in flight learns of an abort: within a second.
const pollStep = 500 * time.Millisecond

// A tenantHost is the service for one tenant.
type tenantHost struct {
	*sdk.Stepwell

	store *dynstore.Store
}

var _ wake.Host = (*tenantHost)(nil)

// Mark implements [wake.Host].
func (h *tenantHost) Mark(ctx context.Context, session api.SessionID, head string) (wake.Mark, error) {
	m, err := h.store.Mark(ctx, store.SessionID(session), head)
	return wake.Mark(m), gone(err)
}

// Settle implements [wake.Host].
func (h *tenantHost) Settle(ctx context.Context, session api.SessionID, seq int64, at object.Millis) (bool, error) {
	ok, err := h.store.Settle(ctx, store.SessionID(session), store.Seq(seq), at)
	return ok, gone(err)
}

// hosts makes the host of a tenant when it is first asked for. It is safe for concurrent use.
type hosts struct {
	clients cloud.Clients
	config  Config
	models  *llm.Catalog
	model   llm.Model
	tools   *tool.Set // nil where no step is taken
	waker   *wake.Waker
	now     func() time.Time
	log     *slog.Logger

	mu    sync.Mutex
	known map[string]*tenantHost
}

var _ wake.Hosts = (*hosts)(nil)

// Host implements [wake.Hosts].
func (h *hosts) Host(ctx context.Context, tenant string) (wake.Host, error) {
	return h.tenant(ctx, tenant)
}

func (h *hosts) tenant(_ context.Context, tenant string) (*tenantHost, error) {
	if tenant == "" {
		tenant = cloud.DefaultTenant
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.known[tenant]; t != nil {
		return t, nil
	}
	at := h.config.Store
	at.Tenant = tenant
	st, err := h.clients.Open(at, h.now, pollStep)
	if err != nil {
		return nil, fmt.Errorf("the store of tenant %q: %w", tenant, err)
	}
	host, err := sdk.New(sdk.Options{
		Store: st, Models: h.models, DefaultModel: h.model, Tools: h.tools, System: turn.System, LeaseTTL: h.config.LeaseTTL,
		Flush: cloud.Flush, Poll: cloud.Poll, Now: h.now, Logger: h.log,
		BeforeCall: func(ctx context.Context, session api.SessionID, head string, until object.Millis) {
			if h.waker != nil {
				h.waker.Watch(ctx, wake.Message{Tenant: tenant, Session: session, Head: head}, until)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if len(h.known) >= maxHosts {
		clear(h.known) // what is in use stays alive until it ends; caches begin anew
	}
	t := &tenantHost{host, st}
	h.known[tenant] = t
	return t, nil
}

// gone tells of a session that is not there as the service does.
func gone(err error) error {
	if errors.Is(err, store.ErrUnknownSession) {
		return api.ErrSessionNotFound
	}
	return err
}
