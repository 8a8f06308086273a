// Command collect is the function that removes sessions, events and objects.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
)

func main() { serverless.Start(context.Background(), serverless.Collect, serverless.Links{}) }
