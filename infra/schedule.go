package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"
)

// The schedules: a group for those that step makes, and the role in which the scheduler invokes alarm.
type schedules struct {
	group awsscheduler.ScheduleGroup
	role  awsiam.Role
}

func (c *Compute) newSchedules() schedules {
	return schedules{
		group: awsscheduler.NewScheduleGroup(c.Stack, jsii.String("Schedules"), nil),
		role: awsiam.NewRole(c.Stack, jsii.String("ScheduleRole"), &awsiam.RoleProps{
			AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), &awsiam.ServicePrincipalOpts{
				// So that nobody else's scheduler borrows the role.
				Conditions: &map[string]any{"StringEquals": map[string]any{"aws:SourceAccount": c.Account()}},
			}),
		}),
	}
}

// each is the ARN of every schedule of the group. Their names are hashes that are made as sessions are.
func (s schedules) each() *string {
	return jsii.String("arn:" + *s.group.Stack().Partition() + ":scheduler:" + *s.group.Stack().Region() + ":" + *s.group.Stack().Account() +
		":schedule/" + *s.group.ScheduleGroupName() + "/*")
}

// newSweep looks every minute for sessions whose wake-up was lost. One that fails is made good by the next.
func (c *Compute) newSweep() {
	policy := awsiam.NewPolicy(c.Stack, jsii.String("ScheduleRights"), &awsiam.PolicyProps{
		Roles:      &[]awsiam.IRole{c.schedules.role},
		Statements: &[]awsiam.PolicyStatement{allow(c.functions.alarm.FunctionArn(), "lambda:InvokeFunction")},
	})
	sweep := awsscheduler.NewCfnSchedule(c.Stack, jsii.String("Sweep"), &awsscheduler.CfnScheduleProps{
		Description: jsii.String("Looks for sessions whose wake-up was lost"),
		// The group's schedules are step's; a group can be emptied without this one.
		ScheduleExpression: jsii.String("rate(1 minute)"),
		FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: jsii.String("OFF")},
		Target: &awsscheduler.CfnSchedule_TargetProperty{
			Arn: c.functions.alarm.FunctionArn(), RoleArn: c.schedules.role.RoleArn(), Input: jsii.String(`{"sweep":true}`),
			RetryPolicy: &awsscheduler.CfnSchedule_RetryPolicyProperty{MaximumRetryAttempts: jsii.Number(1), MaximumEventAgeInSeconds: jsii.Number(60)},
		},
	})
	sweep.Node().AddDependency(policy)
}
