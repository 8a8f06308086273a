package serverless

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// An app is what the functions are made of.
type app struct {
	config  Config
	clients cloud.Clients
	hosts   *hosts
	waker   *wake.Waker
	log     *slog.Logger
	now     func() time.Time

	publisher *eventbus.Publisher // nil: nobody is told
}

// start reads the configuration, of which a function requires some, and makes what does not ask anybody anything.
func start(ctx context.Context, l Links, required ...string) (*app, error) {
	c, err := Load(required...)
	if err != nil {
		return nil, err
	}
	clients, err := cloud.FromEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	a := &app{config: c, clients: clients, now: time.Now} //nolint:forbidigo // the process has one clock
	a.log = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	if c.KeyParameter != "" {
		if c.Turn.OpenAIKey, err = l.secret(ctx, clients.Config, c.KeyParameter); err != nil {
			return nil, err
		}
	}
	models, model, err := c.Turn.Catalog(a.now)
	if err != nil {
		return nil, err
	}
	a.waker = l.waker(c, clients.Config)
	a.waker.Now, a.waker.Sleep, a.waker.Logger = a.now, sleep, a.log
	a.hosts = &hosts{
		clients: clients, config: c, models: models, model: model, waker: a.waker, now: a.now, log: a.log,
		known: map[string]*tenantHost{},
	}
	return a, nil
}

// offer has tools offered to models. Only the function that takes steps needs them: their schemas are compiled here.
func (a *app) offer() (err error) {
	a.hosts.tools, err = a.config.Turn.Offered(a.note)
	return err
}

// note keeps what the tool note is told where it can be found: a function has no disk that lasts.
func (a *app) note(ctx context.Context, text string) error {
	a.log.LogAttrs(ctx, slog.LevelInfo, "note", slog.String("text", text))
	return nil
}

// due returns the sessions that are marked.
func (a *app) due(ctx context.Context, now object.Millis) ([]wake.Message, error) {
	sessions, err := dynstore.Due(ctx, a.clients.DynamoDB, a.config.Store.Table, now, maxSweep)
	if err != nil {
		return nil, err
	}
	messages := make([]wake.Message, len(sessions))
	for i, s := range sessions {
		messages[i] = wake.Message{Tenant: s.Tenant, Session: apiID(s.Session)}
	}
	return messages, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
