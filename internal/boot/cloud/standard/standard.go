// Package standard reads the configuration of AWS as every AWS tool does: region, credentials, profile and endpoints come from where those look.
// It is for what is started by hand. Functions know where they are, and link none of it.
package standard

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
)

// Connect returns the clients that the configuration describes. An endpoint overrules the ones that it names, unless it is empty. It asks nothing
// of DynamoDB or S3. See [cloud.ErrAccess].
func Connect(ctx context.Context, endpoint string) (cloud.Clients, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return cloud.Clients{}, fmt.Errorf("%w: %w", cloud.ErrAccess, err)
	}
	return cloud.New(ctx, cfg, endpoint)
}
