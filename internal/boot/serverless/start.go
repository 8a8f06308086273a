package serverless

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

// Start serves invocations with the handler that open makes of links. When it cannot be opened it says why and ends the process: the platform shows the
// message beside every invocation.
func Start[H any](ctx context.Context, open func(context.Context, Links) (H, error), l Links) {
	h, err := open(ctx, l)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the function cannot start:\n%v\n", err)
		os.Exit(1)
	}
	lambda.StartWithOptions(h, lambda.WithContext(ctx))
}
