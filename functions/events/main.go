// Command events is the function that feeds watchers.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
)

func main() { serverless.Start(context.Background(), serverless.Events, serverless.Links{}) }
