package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// receives is how often a message is tried before it is a dead letter. A step that is busy or fails is tried again by other paths too.
const receives = 5

// The queues. Their dead letters are kept as long as SQS can, for people to look at.
type queues struct {
	steps, alarms                      awssqs.Queue
	deadSteps, deadAlarms, deadRecords awssqs.Queue
}

func (q queues) dead() map[string]awssqs.Queue {
	return map[string]awssqs.Queue{"Steps": q.deadSteps, "Alarms": q.deadAlarms, "Stream": q.deadRecords}
}

func (c *Compute) newQueues() queues {
	var q queues
	q.deadSteps = c.newQueue("DeadSteps", awscdk.Duration_Seconds(jsii.Number(30)), nil)
	q.deadAlarms = c.newQueue("DeadAlarms", awscdk.Duration_Seconds(jsii.Number(30)), nil)
	q.deadRecords = c.newQueue("DeadStreamRecords", awscdk.Duration_Seconds(jsii.Number(30)), nil)
	// A message comes back a minute after its step was stopped. More would only delay the next try: the lease keeps two steps apart.
	q.steps = c.newQueue("Steps", awscdk.Duration_Seconds(jsii.Number(float64(c.config.StepSeconds+60))), q.deadSteps)
	q.alarms = c.newQueue("Alarms", awscdk.Duration_Minutes(jsii.Number(3)), q.deadAlarms)
	return q
}

func (c *Compute) newQueue(name string, visibility awscdk.Duration, dead awssqs.Queue) awssqs.Queue {
	props := &awssqs.QueueProps{
		EnforceSSL: jsii.Bool(true), Encryption: awssqs.QueueEncryption_SQS_MANAGED, VisibilityTimeout: visibility,
	}
	if dead == nil {
		props.RetentionPeriod = awscdk.Duration_Days(jsii.Number(14))
	} else {
		props.DeadLetterQueue = &awssqs.DeadLetterQueue{Queue: dead, MaxReceiveCount: jsii.Number(receives)}
	}
	return awssqs.NewQueue(c.Stack, &name, props)
}

type eventBus = awsevents.EventBus

// newBus makes the bus on which others learn of what happened in sessions.
func (c *Compute) newBus() eventBus {
	return awsevents.NewEventBus(c.Stack, jsii.String("Bus"), &awsevents.EventBusProps{
		Description: jsii.String("What happens in the sessions of Stepwell " + c.config.Stage),
	})
}
