// Command submit is the function that takes what participants write.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
	"github.com/stepwell-dev/stepwell/internal/wake/queue"
)

func main() {
	serverless.Start(context.Background(), serverless.Submit, serverless.Links{Queue: queue.Open})
}
