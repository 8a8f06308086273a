package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// newOutputs says where everything is, to people and to tests.
func (c *Compute) newOutputs() {
	out := func(name string, value *string) {
		awscdk.NewCfnOutput(c.Stack, &name, &awscdk.CfnOutputProps{Value: value})
	}
	out("ApiUrl", c.api.api.ApiEndpoint())
	out("EventsUrl", c.api.events.Url())
	if c.api.domain != nil {
		out("DomainUrl", jsii.String("https://"+c.config.Domain))
		out("DomainTarget", c.api.domain.RegionalDomainName())
	}
	out("TableName", c.data.Table.TableName())
	out("BucketName", c.data.Bucket.BucketName())
	out("StepsQueueUrl", c.queues.steps.QueueUrl())
	out("AlarmsQueueUrl", c.queues.alarms.QueueUrl())
	for name, queue := range c.queues.dead() {
		out("Dead"+name+"QueueUrl", queue.QueueUrl())
	}
	out("EventBusName", c.bus.EventBusName())
	out("ScheduleGroupName", c.schedules.group.ScheduleGroupName())
	out("ScheduleRoleArn", c.schedules.role.RoleArn())
	for name, fn := range c.functions.all() {
		out(title(name)+"FunctionName", fn.FunctionName())
	}
}
