// Package schedule makes one-time schedules of Amazon EventBridge Scheduler.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"github.com/stepwell-dev/stepwell/internal/wake"
)

// Schedules makes one-time schedules, which remove themselves.
type Schedules struct {
	Client interface {
		CreateSchedule(context.Context, *scheduler.CreateScheduleInput, ...func(*scheduler.Options)) (*scheduler.CreateScheduleOutput, error)
		UpdateSchedule(context.Context, *scheduler.UpdateScheduleInput, ...func(*scheduler.Options)) (*scheduler.UpdateScheduleOutput, error)
	}
	Group  string // of schedules
	Target string // ARN of the alarm function
	Role   string // ARN of the role that may invoke it
}

var _ wake.Scheduler = Schedules{}

// Open returns the schedules of a group. It asks nothing of anybody.
func Open(cfg aws.Config, group, target, role string) wake.Scheduler {
	return Schedules{Client: scheduler.NewFromConfig(cfg), Group: group, Target: target, Role: role}
}

// The alarm is told again within this time if it fails.
const (
	scheduleAge     = 3600 // seconds
	scheduleRetries = 10
)

// At implements [wake.Scheduler].
func (s Schedules) At(ctx context.Context, name string, at time.Time, body []byte) error {
	in := scheduler.CreateScheduleInput{
		Name: &name, GroupName: &s.Group,
		ScheduleExpression:    aws.String("at(" + at.Add(time.Second-1).UTC().Format("2006-01-02T15:04:05") + ")"),
		FlexibleTimeWindow:    &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: &s.Target, RoleArn: &s.Role, Input: aws.String(string(body)),
			RetryPolicy: &types.RetryPolicy{MaximumEventAgeInSeconds: aws.Int32(scheduleAge), MaximumRetryAttempts: aws.Int32(scheduleRetries)},
		},
	}
	_, err := s.Client.CreateSchedule(ctx, &in)
	var exists *types.ConflictException
	if errors.As(err, &exists) {
		_, err = s.Client.UpdateSchedule(ctx, &scheduler.UpdateScheduleInput{
			Name: in.Name, GroupName: in.GroupName, ScheduleExpression: in.ScheduleExpression, FlexibleTimeWindow: in.FlexibleTimeWindow,
			ActionAfterCompletion: in.ActionAfterCompletion, Target: in.Target,
		})
	}
	if err != nil {
		return fmt.Errorf("scheduling %s: %w", name, err)
	}
	return nil
}
