package serverless

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/turn"
	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/internal/wake"
)

// Links are the clients that a function has besides those of the store. Its main names them, so that it links only what it uses: each of the vendor's
// packages builds tables before main, at every start. What is nil is not there.
type Links struct {
	Queue     func(cfg aws.Config, url string) wake.Sender
	Schedules func(cfg aws.Config, group, target, role string) wake.Scheduler
	Parameter func(ctx context.Context, cfg aws.Config, name string) (string, error)
	Bus       func(cfg aws.Config, name string, log *slog.Logger) eventbus.Sink
}

// errNotLinked reports a client that a function would need and does not have.
var errNotLinked = errors.New("this function does not link it")

// unlinked is in the place of what is not there.
type unlinked struct{}

var (
	_ wake.Sender    = unlinked{}
	_ wake.Scheduler = unlinked{}
)

// Send implements [wake.Sender].
func (unlinked) Send(context.Context, []byte, time.Duration) error { return errNotLinked }

// At implements [wake.Scheduler].
func (unlinked) At(context.Context, string, time.Time, []byte) error { return errNotLinked }

// waker returns what wakes heads, as far as there are clients for it.
func (l Links) waker(c Config, cfg aws.Config) *wake.Waker {
	w := &wake.Waker{Steps: unlinked{}, Alarms: unlinked{}, Schedules: unlinked{}, Margin: cloud.SkewMargin, Off: c.Off}
	if l.Queue != nil {
		w.Steps, w.Alarms = l.Queue(cfg, c.StepsQueue), l.Queue(cfg, c.AlarmsQueue)
	}
	if l.Schedules != nil {
		w.Schedules = l.Schedules(cfg, c.Schedules.Group, c.Schedules.Target, c.Schedules.Role)
	}
	return w
}

// secret reads the parameter that has the key of the model's server.
func (l Links) secret(ctx context.Context, cfg aws.Config, name string) (string, error) {
	if l.Parameter == nil {
		return "", fmt.Errorf("%s names the parameter %s: %w", EnvKeyParameter, name, errNotLinked)
	}
	value, err := l.Parameter(ctx, cfg, name)
	if err != nil {
		return "", fmt.Errorf("%s names the parameter %s: %w", EnvKeyParameter, name, err)
	}
	if value, err = turn.ParseToken(value); err != nil {
		return "", fmt.Errorf("the parameter %s %w", name, err)
	}
	return value, nil
}
