package emulator

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Region is where everything is unless the environment says otherwise.
const Region = "us-east-1"

// maxIdle is how many connections are kept for the next requests.
const maxIdle = 128

// An Endpoint is a cloud that answers.
type Endpoint struct {
	// URL is where it answers, without a final slash.
	URL string
	// Emulated tells the emulator that Start started from what AWS_ENDPOINT_URL named.
	Emulated bool

	base      aws.Config
	transport http.RoundTripper
}

// Transport returns what requests to e go through, for another transport to stand before. It keeps enough connections for
// many clients at once.
func (e Endpoint) Transport() http.RoundTripper { return e.transport }

// Config returns how a client of the SDK reaches e, after optFns changed it.
func (e Endpoint) Config(optFns ...func(*aws.Config)) aws.Config {
	cfg := e.base.Copy()
	for _, optFn := range optFns {
		optFn(&cfg)
	}
	return cfg
}

// WithTransport makes clients send their requests through rt.
func WithTransport(rt http.RoundTripper) func(*aws.Config) {
	return func(cfg *aws.Config) { cfg.HTTPClient = &http.Client{Transport: rt} }
}

// DynamoDB returns a client of e.
func (e Endpoint) DynamoDB(optFns ...func(*aws.Config)) *dynamodb.Client {
	return dynamodb.NewFromConfig(e.Config(optFns...))
}

// S3 returns a client of e that names buckets in paths, since a loopback address has no subdomains.
func (e Endpoint) S3(optFns ...func(*aws.Config)) *s3.Client {
	return s3.NewFromConfig(e.Config(optFns...), func(o *s3.Options) { o.UsePathStyle = true })
}

// emulated is the endpoint of an emulator that this process started.
func emulated(url string) Endpoint {
	return newEndpoint(url, aws.Config{
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		BaseEndpoint: &url,
		HTTPClient:   awshttp.NewBuildableClient(),
	}, true)
}

// newEndpoint makes all clients of an endpoint share their connections.
func newEndpoint(url string, cfg aws.Config, emulated bool) Endpoint {
	e := Endpoint{URL: url, Emulated: emulated, base: cfg, transport: http.DefaultTransport}
	if client, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		transport := client.GetTransport()
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = maxIdle, maxIdle
		e.transport = transport
	}
	WithTransport(e.transport)(&e.base)
	return e
}

// external is the endpoint that the environment names.
func external(ctx context.Context, url string) (Endpoint, error) {
	optFns := []func(*config.LoadOptions) error{config.WithDefaultRegion(Region)}
	if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
		optFns = append(optFns, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("test", "test", "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, optFns...)
	if err != nil {
		return Endpoint{}, fmt.Errorf("reading the configuration of the SDK: %w", err)
	}
	return newEndpoint(url, cfg, false), nil
}
