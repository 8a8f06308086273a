package main

import (
	cw "github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// newDashboard shows a stage on one page: whether clients are served, whether steps run, and what waits.
func (c *Compute) newDashboard() {
	each := func(of func(awslambda.IFunction, *cw.MetricOptions) cw.Metric, statistic string) []cw.IMetric {
		var out []cw.IMetric
		all := c.functions.all()
		for _, name := range functionNames {
			options := overAMinute(statistic)
			options.Label = jsii.String(name)
			out = append(out, of(all[name], options))
		}
		return out
	}
	waiting := func(queue awssqs.IQueue, label string) cw.IMetric {
		options := overAMinute("Maximum")
		options.Label = &label
		return queue.MetricApproximateNumberOfMessagesVisible(options)
	}
	row := func(widgets ...cw.IWidget) *[]cw.IWidget { return &widgets }
	board := cw.NewDashboard(c.Stack, jsii.String("Dashboard"), nil)
	for _, widgets := range []*[]cw.IWidget{
		row(
			graph("Requests", c.api.api.MetricCount(overAMinute("Sum")), c.api.api.MetricClientError(overAMinute("Sum")), c.api.api.MetricServerError(overAMinute("Sum"))),
			graph("Latency, 99 of 100", c.api.api.MetricLatency(overAMinute("p99"))),
		),
		row(
			graph("Invocations", each(awslambda.IFunction.MetricInvocations, "Sum")...),
			graph("Errors", each(awslambda.IFunction.MetricErrors, "Sum")...),
			graph("Duration, 99 of 100", each(awslambda.IFunction.MetricDuration, "p99")...),
		),
		row(
			graph("Messages waiting", waiting(c.queues.steps, "steps"), waiting(c.queues.alarms, "alarms")),
			graph("Dead letters", waiting(c.queues.deadSteps, "steps"), waiting(c.queues.deadAlarms, "alarms"), waiting(c.queues.deadRecords, "stream")),
			graph("Age of the stream", c.functions.alarm.Metric(jsii.String("IteratorAge"), overAMinute("Maximum"))),
		),
	} {
		board.AddWidgets(*widgets...)
	}
}

func graph(title string, metrics ...cw.IMetric) cw.IWidget {
	return cw.NewGraphWidget(&cw.GraphWidgetProps{Title: &title, Left: &metrics, Width: jsii.Number(8)})
}
