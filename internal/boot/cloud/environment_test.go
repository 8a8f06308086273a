package cloud_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
)

// clean gives a test the environment that a function has and nothing else of AWS.
func clean(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS",
		"AWS_ENDPOINT_URL_SSM",
		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE",
		"AWS_SDK_UA_APP_ID", "AWS_ACCOUNT_ID",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
}

// A function's clients do what those of the standard configuration do.
func TestFromEnvironment(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"a function":               {},
		"another name of a region": {"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-1"},
		"an emulator":              {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"},
		"a service elsewhere":      {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8000"},
		"endpoints that are ignored": {
			"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:1", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
		},
		"validated endpoints":      {"AWS_USE_FIPS_ENDPOINT": "true"},
		"endpoints of both kinds":  {"AWS_USE_DUALSTACK_ENDPOINT": "TRUE"},
		"neither, and that is set": {"AWS_USE_FIPS_ENDPOINT": "false", "AWS_USE_DUALSTACK_ENDPOINT": "false"},
		"both":                     {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
		"China":                    {"AWS_REGION": "cn-north-1"},
		"China, of both kinds":     {"AWS_REGION": "cn-north-1", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
		"a government's region":    {"AWS_REGION": "us-gov-west-1"},
		"one that is validated":    {"AWS_REGION": "us-gov-west-1", "AWS_USE_FIPS_ENDPOINT": "true"},
		"parameters elsewhere":     {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_SSM": "http://127.0.0.1:8000"},
		"patience":                 {"AWS_MAX_ATTEMPTS": "7", "AWS_RETRY_MODE": "adaptive"},
		"a name":                   {"AWS_SDK_UA_APP_ID": "stepwell-step"},
		"an account":               {"AWS_ACCOUNT_ID": "123456789012"},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			for name, value := range env {
				t.Setenv(name, value)
			}
			want, err := config.LoadDefaultConfig(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c, err := cloud.FromEnvironment(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			a, errA := c.Config.Credentials.Retrieve(t.Context())
			b, errB := want.Credentials.Retrieve(t.Context())
			a.Source, b.Source = "", ""
			if a != b || errA != nil || errB != nil {
				t.Errorf("the credentials are %+v, %v; want %+v, %v", a, errA, b, errB)
			}
			got, std := seen(t, c.Config), seen(t, want)
			if got != std {
				t.Errorf("the clients have\n%+v, want\n%+v", got, std)
			}
		})
	}
}

// A sight is what tells clients apart.
type sight struct {
	region, app, dynamo, queue, agent string
	attempts                          int
	mode                              aws.RetryMode
	account                           aws.AccountIDEndpointMode
	calculate                         aws.RequestChecksumCalculation
	validate                          aws.ResponseChecksumValidation
	logs                              bool
}

// seen returns what a configuration makes of clients: the options of two, and the requests that they send.
func seen(t *testing.T, cfg aws.Config) sight {
	t.Helper()
	s := sight{
		region: cfg.Region, app: cfg.AppID, account: cfg.AccountIDEndpointMode, calculate: cfg.RequestChecksumCalculation,
		validate: cfg.ResponseChecksumValidation, logs: cfg.Logger != nil, attempts: cfg.RetryMaxAttempts, mode: cfg.RetryMode,
	}
	var asked *http.Request
	cfg.HTTPClient = sender(func(r *http.Request) (*http.Response, error) {
		asked = r
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusBadRequest)
		return w.Result(), nil
	})
	_, _ = dynamodb.NewFromConfig(cfg).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("table")})
	if asked != nil {
		s.dynamo, s.agent = asked.URL.String(), asked.Header.Get("User-Agent")
	}
	asked = nil
	_, _ = sqs.NewFromConfig(cfg).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String("https://queue"), MessageBody: aws.String("x")})
	if asked != nil {
		s.queue = asked.URL.String()
	}
	return s
}

type sender func(*http.Request) (*http.Response, error)

// Do implements [aws.HTTPClient].
func (s sender) Do(r *http.Request) (*http.Response, error) { return s(r) }

// What the environment lacks, or has wrong, is said at once.
func TestFromEnvironment_refuses(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_USE_FIPS_ENDPOINT": "yes", "AWS_USE_DUALSTACK_ENDPOINT": "1", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "no",
		"AWS_MAX_ATTEMPTS": "many", "AWS_RETRY_MODE": "often",
	} {
		t.Run(name, func(t *testing.T) {
			clean(t)
			t.Setenv(name, value)
			if _, err := cloud.FromEnvironment(t.Context()); !errors.Is(err, cloud.ErrAccess) || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want it to name %s", err, name)
			}
		})
	}
}
