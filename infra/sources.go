package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// newSources connects the queues and the stream with their functions.
func (c *Compute) newSources() {
	c.fromQueue("StepsSource", c.queues.steps, c.functions.step, 1)
	c.fromQueue("AlarmsSource", c.queues.alarms, c.functions.alarm, 10)
	// A record that fails stops its shard, so it is given up after a while. It is only a hint: the sweep finds what it would have woken.
	awslambda.NewEventSourceMapping(c.Stack, jsii.String("StreamSource"), &awslambda.EventSourceMappingProps{
		Target: c.functions.alarm, EventSourceArn: c.data.Table.TableStreamArn(), StartingPosition: awslambda.StartingPosition_TRIM_HORIZON,
		BatchSize: jsii.Number(100), MaxBatchingWindow: awscdk.Duration_Seconds(jsii.Number(1)),
		BisectBatchOnError: jsii.Bool(true), ReportBatchItemFailures: jsii.Bool(true),
		RetryAttempts: jsii.Number(5), MaxRecordAge: awscdk.Duration_Minutes(jsii.Number(5)),
		OnFailure: awslambdaeventsources.NewSqsDlq(c.queues.deadRecords),
	})
}

// fromQueue is bounded by the queue's own count of receives.
func (c *Compute) fromQueue(id string, queue awssqs.IQueue, target awslambda.IFunction, batch float64) {
	awslambda.NewEventSourceMapping(c.Stack, &id, &awslambda.EventSourceMappingProps{
		Target: target, EventSourceArn: queue.QueueArn(), BatchSize: &batch, ReportBatchItemFailures: jsii.Bool(true),
	})
}
