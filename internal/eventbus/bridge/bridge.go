// Package bridge publishes events on a bus of Amazon EventBridge.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/eventbus"
)

// What the bus takes in one request.
const (
	maxEntries = 10
	maxBytes   = 200 << 10
)

// A Bus is a bus of Amazon EventBridge.
type Bus struct {
	Client interface {
		PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
	}
	Name   string
	Logger *slog.Logger
}

var _ eventbus.Sink = Bus{}

// Open returns the bus of a name. It asks nothing of anybody.
func Open(cfg aws.Config, name string, log *slog.Logger) eventbus.Sink {
	return Bus{Client: eventbridge.NewFromConfig(cfg), Name: name, Logger: log}
}

var errEntry = errors.New("the bus did not take an event")

// Put implements [eventbus.Sink]. What the bus says it will never take is logged and counts as done.
func (b Bus) Put(ctx context.Context, events []eventbus.Event) (done int, err error) {
	for done < len(events) {
		in, err := b.request(events[done:])
		if err != nil {
			return done, err
		}
		out, err := b.Client.PutEvents(ctx, in)
		if err != nil {
			return done, fmt.Errorf("publishing to the bus %s: %w", b.Name, err)
		}
		for i := range in.Entries {
			if err := b.taken(ctx, out, i, events[done]); err != nil {
				return done, err
			}
			done++
		}
	}
	return done, nil
}

// request has as many of the first events as go into one.
func (b Bus) request(events []eventbus.Event) (*eventbridge.PutEventsInput, error) {
	in := &eventbridge.PutEventsInput{}
	size := 0
	for _, e := range events {
		detail, err := json.Marshal(e, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encoding event %s: %w", e.ID, err)
		}
		if size += len(detail) + len(e.Type) + len(e.Source) + 64; len(in.Entries) == maxEntries || len(in.Entries) > 0 && size > maxBytes {
			break
		}
		in.Entries = append(in.Entries, types.PutEventsRequestEntry{
			EventBusName: &b.Name, Source: aws.String(e.Source), DetailType: aws.String(string(e.Type)), Detail: aws.String(string(detail)), Time: aws.Time(e.At()),
		})
	}
	return in, nil
}

// taken returns why the bus did not take an entry, nil when it did or never will.
func (b Bus) taken(ctx context.Context, out *eventbridge.PutEventsOutput, i int, e eventbus.Event) error {
	if i >= len(out.Entries) {
		if out.FailedEntryCount == 0 {
			return nil
		}
		return fmt.Errorf("%w: %d of a request failed, and it does not say which", errEntry, out.FailedEntryCount)
	}
	switch code := aws.ToString(out.Entries[i].ErrorCode); code {
	case "":
		return nil
	case "InvalidArgument", "MalformedDetail":
		b.Logger.LogAttrs(ctx, slog.LevelError, "the bus refused an event for good", slog.String("id", e.ID), slog.String("type", string(e.Type)),
			slog.String("code", code), slog.String("error", aws.ToString(out.Entries[i].ErrorMessage)))
		return nil
	default:
		return fmt.Errorf("%w: %s: %s: %s", errEntry, e.ID, code, aws.ToString(out.Entries[i].ErrorMessage))
	}
}
