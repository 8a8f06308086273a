// Command alarm is the function that turns deadlines, stream records and sweeps into steps.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
)

func main() { serverless.Start(context.Background(), serverless.Alarm) }
