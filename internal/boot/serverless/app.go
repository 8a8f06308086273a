package serverless

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/turn"
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
}

// start reads the configuration, of which a function requires some, and makes what does not ask anybody anything.
func start(ctx context.Context, required ...string) (*app, error) {
	c, err := Load(required...)
	if err != nil {
		return nil, err
	}
	clients, err := cloud.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a := &app{config: c, clients: clients, now: time.Now} //nolint:forbidigo // the process has one clock
	a.log = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	if c.KeyParameter != "" {
		if c.Turn.OpenAIKey, err = secret(ctx, ssm.NewFromConfig(clients.Config), c.KeyParameter); err != nil {
			return nil, err
		}
	}
	models, model, err := c.Turn.Catalog(a.now)
	if err != nil {
		return nil, err
	}
	tools, err := c.Turn.Offered(a.note)
	if err != nil {
		return nil, err
	}
	queue := sqs.NewFromConfig(clients.Config)
	a.waker = &wake.Waker{
		Steps: wake.SQS{Client: queue, URL: c.StepsQueue}, Alarms: wake.SQS{Client: queue, URL: c.AlarmsQueue},
		Schedules: wake.Schedules{
			Client: scheduler.NewFromConfig(clients.Config), Group: c.Schedules.Group, Target: c.Schedules.Target, Role: c.Schedules.Role,
		},
		Margin: cloud.SkewMargin, Off: c.Off, Now: a.now, Sleep: sleep, Logger: a.log,
	}
	a.hosts = &hosts{
		clients: clients, config: c, models: models, model: model, tools: tools, waker: a.waker, now: a.now, log: a.log,
		known: map[string]*tenantHost{},
	}
	return a, nil
}

// secret reads a parameter of type SecureString.
func secret(ctx context.Context, client *ssm.Client, name string) (string, error) {
	out, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	if err != nil {
		return "", fmt.Errorf("%s names the parameter %s: %w", EnvKeyParameter, name, err)
	}
	value, err := turn.ParseToken(aws.ToString(out.Parameter.Value))
	if err != nil {
		return "", fmt.Errorf("the parameter %s %w", name, err)
	}
	return value, nil
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
