// Command step is the function that advances runs.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
	"github.com/stepwell-dev/stepwell/internal/boot/serverless/parameter"
	"github.com/stepwell-dev/stepwell/internal/wake/queue"
	"github.com/stepwell-dev/stepwell/internal/wake/schedule"
)

func main() {
	serverless.Start(context.Background(), serverless.Step, serverless.Links{
		Queue: queue.Open, Schedules: schedule.Open, Parameter: parameter.Read,
	})
}
