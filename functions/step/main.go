// Command step is the function that advances runs.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
)

func main() { serverless.Start(context.Background(), serverless.Step) }
