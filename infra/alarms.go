package main

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	cw "github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// newAlarms makes the alarms of CloudWatch: each says that sessions may be waiting for somebody.
func (c *Compute) newAlarms() {
	var topic awssns.ITopic
	if c.config.AlarmTopicARN != "" {
		topic = awssns.Topic_FromTopicArn(c.Stack, jsii.String("AlarmTopic"), &c.config.AlarmTopicARN)
	}
	alarm := func(id, description string, metric cw.IMetric, above, periods float64) {
		a := cw.NewAlarm(c.Stack, &id, &cw.AlarmProps{
			AlarmDescription: &description, Metric: metric, Threshold: &above, EvaluationPeriods: &periods,
			ComparisonOperator: cw.ComparisonOperator_GREATER_THAN_THRESHOLD, TreatMissingData: cw.TreatMissingData_NOT_BREACHING,
		})
		if topic != nil {
			a.AddAlarmAction(awscloudwatchactions.NewSnsAction(topic))
		}
	}
	dead := c.queues.dead()
	for _, name := range slices.Sorted(maps.Keys(dead)) {
		alarm(name+"DeadLetters", "Messages were given up: see them, and redrive them once the reason is gone",
			dead[name].MetricApproximateNumberOfMessagesVisible(overAMinute("Maximum")), 0, 1)
	}
	alarm("StreamAge", "The table's stream is read late: wake-ups come by the sweep only",
		c.functions.alarm.Metric(jsii.String("IteratorAge"), overAMinute("Maximum")), 60_000, 3)
	all := c.functions.all()
	for _, name := range functionNames {
		alarm(title(name)+"Throttles", "Function "+name+" was refused: the concurrency of the account, or its own, is used up",
			all[name].MetricThrottles(overAMinute("Sum")), 0, 3)
	}
	alarm("StepErrors", "Steps fail: their runs are tried again and again",
		c.functions.step.MetricErrors(overAMinute("Sum")), 5, 5)
}

func overAMinute(statistic string) *cw.MetricOptions {
	return &cw.MetricOptions{Statistic: &statistic, Period: awscdk.Duration_Minutes(jsii.Number(1))}
}
