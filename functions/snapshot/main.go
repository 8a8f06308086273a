// Command snapshot is the function that answers what is read.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
)

func main() { serverless.Start(context.Background(), serverless.Snapshot, serverless.Links{}) }
