package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/internal/eventbus/bridge"
)

// A cloud is EventBridge as a test wants it.
type cloud struct {
	requests []int
	ids      []string // of what was taken
	entries  []types.PutEventsRequestEntry
	fail     map[string]string // error code by id
	down     error
}

func (b *cloud) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	if b.down != nil {
		return nil, b.down
	}
	b.requests = append(b.requests, len(in.Entries))
	out := &eventbridge.PutEventsOutput{}
	for _, entry := range in.Entries {
		var e eventbus.Event
		if err := json.Unmarshal([]byte(*entry.Detail), &e); err != nil {
			return nil, err
		}
		if code := b.fail[e.ID]; code != "" {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, types.PutEventsResultEntry{ErrorCode: &code, ErrorMessage: aws.String("no")})
			continue
		}
		b.ids, b.entries = append(b.ids, e.ID), append(b.entries, entry)
		out.Entries = append(out.Entries, types.PutEventsResultEntry{EventId: aws.String("x")})
	}
	return out, nil
}

func many(n int) []eventbus.Event {
	out := make([]eventbus.Event, n)
	for i := range out {
		out[i] = eventbus.Event{ID: fmt.Sprint(i), Source: eventbus.Source, Type: eventbus.RunFinished, Time: "2026-01-02T03:04:05.678Z", Subject: "sessions/s"}
	}
	return out
}

// Events go out in their order, ten at a time; what was not taken ends it, and what will never be is passed over.
func TestBus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cloud    cloud
		done     int
		fails    bool
		requests []int
	}{
		"all":              {cloud{}, 23, false, []int{10, 10, 3}},
		"one is throttled": {cloud{fail: map[string]string{"14": "ThrottlingException"}}, 14, true, []int{10, 10}},
		"one is refused":   {cloud{fail: map[string]string{"14": "MalformedDetail"}}, 23, false, []int{10, 10, 3}},
		"down":             {cloud{down: errors.New("no route")}, 0, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bridge.Bus{Client: &tc.cloud, Name: "bus", Logger: slog.New(slog.DiscardHandler)}
			done, err := b.Put(t.Context(), many(23))
			if done != tc.done || (err != nil) != tc.fails || !slices.Equal(tc.cloud.requests, tc.requests) {
				t.Errorf("done %d, %v, in requests of %v; want %d, %v", done, err, tc.cloud.requests, tc.done, tc.requests)
			}
			for _, e := range tc.cloud.entries {
				if *e.Source != "stepwell" || *e.EventBusName != "bus" || *e.DetailType != "dev.stepwell.run.finished" || e.Time.UnixMilli() != 1767323045678 {
					t.Errorf("entry %+v", e)
				}
			}
		})
	}
}

// A request has no more bytes than the bus takes.
func TestBus_large(t *testing.T) {
	t.Parallel()
	all := many(10)
	for i := range all {
		all[i].Data.Error = strings.Repeat("x", 50<<10)
	}
	c := &cloud{}
	done, err := bridge.Bus{Client: c, Name: "bus", Logger: slog.New(slog.DiscardHandler)}.Put(t.Context(), all)
	if done != 10 || err != nil || !slices.Equal(c.requests, []int{3, 3, 3, 1}) {
		t.Errorf("done %d, %v, in requests of %v", done, err, c.requests)
	}
}
