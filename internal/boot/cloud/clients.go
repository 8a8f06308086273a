package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// ErrAccess reports that the configuration of AWS lacks what every request needs. Nothing was asked of DynamoDB or S3.
var ErrAccess = errors.New("AWS is not configured")

// Clients are the clients of one configuration.
type Clients struct {
	Config   aws.Config
	DynamoDB *dynamodb.Client
	region   string
	endpoint string
	s3       *s3.Client
}

// New returns the clients of a configuration. An endpoint overrules the ones that it names. New makes sure of region and credentials, so that
// what is missing is said at once and not after many attempts.
func New(ctx context.Context, cfg aws.Config, endpoint string) (Clients, error) {
	if cfg.Region == "" {
		return Clients{}, fmt.Errorf("%w: there is no region: set AWS_REGION, or AWS_PROFILE to a profile with one", ErrAccess)
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return Clients{}, fmt.Errorf("%w: there are no credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "+
			"which an emulator takes with any value: %w", ErrAccess, err)
	}
	c := Clients{Config: cfg, region: cfg.Region}
	c.DynamoDB = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
		c.endpoint = aws.ToString(o.BaseEndpoint)
	})
	c.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
		// What is not AWS has no subdomain for each bucket.
		o.UsePathStyle = o.BaseEndpoint != nil
	})
	return c, nil
}
