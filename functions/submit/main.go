// Command submit is the function that takes what participants write.
package main

import (
	"context"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless"
)

func main() { serverless.Start(context.Background(), serverless.Submit) }
