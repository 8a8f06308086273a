package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/logging"
)

// FromEnvironment returns the clients that the environment of a function describes: its region and credentials, which are there for as long as
// its process, AWS_ENDPOINT_URL with and without the name of a service, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, AWS_USE_FIPS_ENDPOINT,
// AWS_USE_DUALSTACK_ENDPOINT, AWS_MAX_ATTEMPTS, AWS_RETRY_MODE and AWS_SDK_UA_APP_ID. They mean what they mean to every AWS tool. It knows no
// profiles, and no other source of credentials: package standard does, and what that links costs each start of a function milliseconds.
// It asks nothing of anybody. See [ErrAccess].
func FromEnvironment(ctx context.Context) (Clients, error) {
	cfg, err := environment()
	if err != nil {
		return Clients{}, fmt.Errorf("%w: %w", ErrAccess, err)
	}
	return New(ctx, cfg, "")
}

func environment() (aws.Config, error) {
	id, secret, token := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")
	cfg := aws.Config{
		Region: firstOf("AWS_REGION", "AWS_DEFAULT_REGION"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if id == "" || secret == "" {
				return aws.Credentials{}, errors.New("the environment has none")
			}
			return aws.Credentials{
				AccessKeyID: id, SecretAccessKey: secret, SessionToken: token, AccountID: os.Getenv("AWS_ACCOUNT_ID"), Source: "environment",
			}, nil
		}),
		AppID:  os.Getenv("AWS_SDK_UA_APP_ID"),
		Logger: logging.NewStandardLogger(os.Stderr),
		// The defaults of the SDK's own configuration.
		AccountIDEndpointMode:      aws.AccountIDEndpointModePreferred,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
	source, err := readEndpoints()
	if err != nil {
		return aws.Config{}, err
	}
	cfg.ConfigSources = []any{source}
	if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" && !source.ignored {
		cfg.BaseEndpoint = &url
	}
	if text := os.Getenv("AWS_MAX_ATTEMPTS"); text != "" {
		if cfg.RetryMaxAttempts, err = strconv.Atoi(text); err != nil || cfg.RetryMaxAttempts < 0 {
			return aws.Config{}, fmt.Errorf("AWS_MAX_ATTEMPTS is %q; want a number", text)
		}
	}
	if text := os.Getenv("AWS_RETRY_MODE"); text != "" {
		if cfg.RetryMode, err = aws.ParseRetryMode(text); err != nil {
			return aws.Config{}, fmt.Errorf("AWS_RETRY_MODE is %q; want standard or adaptive", text)
		}
	}
	return cfg, nil
}

func firstOf(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// endpoints tells clients of the SDK which endpoints they ask. Clients find its methods in the sources of their configuration.
type endpoints struct {
	ignored   bool // the endpoints that the environment names
	fips      aws.FIPSEndpointState
	dualStack aws.DualStackEndpointState
}

func readEndpoints() (endpoints, error) {
	var e endpoints
	for name, to := range map[string]func(bool){
		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": func(yes bool) { e.ignored = yes },
		"AWS_USE_FIPS_ENDPOINT": func(yes bool) {
			if e.fips = aws.FIPSEndpointStateDisabled; yes {
				e.fips = aws.FIPSEndpointStateEnabled
			}
		},
		"AWS_USE_DUALSTACK_ENDPOINT": func(yes bool) {
			if e.dualStack = aws.DualStackEndpointStateDisabled; yes {
				e.dualStack = aws.DualStackEndpointStateEnabled
			}
		},
	} {
		switch text := os.Getenv(name); {
		case text == "":
		case strings.EqualFold(text, "true"), strings.EqualFold(text, "false"):
			to(strings.EqualFold(text, "true"))
		default:
			return endpoints{}, fmt.Errorf("%s is %q; want true or false", name, text)
		}
	}
	return e, nil
}

// GetServiceBaseEndpoint returns the endpoint of a service.
func (e endpoints) GetServiceBaseEndpoint(_ context.Context, service string) (url string, ok bool, err error) {
	url = named(service)
	return url, url != "", nil
}

// named returns the endpoint that the environment names for a service.
func named(service string) string {
	return os.Getenv("AWS_ENDPOINT_URL_" + strings.ReplaceAll(strings.ToUpper(service), " ", "_"))
}

// GetIgnoreConfiguredEndpoints reports whether the endpoints that the environment names are ignored.
func (e endpoints) GetIgnoreConfiguredEndpoints(context.Context) (ignored, ok bool, err error) {
	return e.ignored, e.ignored, nil
}

// GetUseFIPSEndpoint returns whether validated endpoints are asked.
func (e endpoints) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	return e.fips, e.fips != aws.FIPSEndpointStateUnset, nil
}

// GetUseDualStackEndpoint returns whether endpoints with addresses of both kinds are asked.
func (e endpoints) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	return e.dualStack, e.dualStack != aws.DualStackEndpointStateUnset, nil
}
