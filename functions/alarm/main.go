// Command alarm is the function that turns deadlines, stream records and sweeps into steps, and tells others what happened.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
	"github.com/stepwell-dev/stepwell/internal/eventbus/bridge"
	"github.com/stepwell-dev/stepwell/internal/wake/queue"
)

func main() {
	serverless.Start(context.Background(), serverless.Alarm, serverless.Links{Queue: queue.Open, Bus: bridge.Open})
}
