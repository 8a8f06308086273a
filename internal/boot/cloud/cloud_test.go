package cloud_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud/standard"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func TestParseLocation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]cloud.Location{
		"dynamodb://Stepwell_1?bucket=some-bodies":              {Table: "Stepwell_1", Bucket: "some-bodies", Tenant: "default"},
		"dynamodb://t.t?bucket=b.b&tenant=acme":                 {Table: "t.t", Bucket: "b.b", Tenant: "acme"},
		"dynamodb://ttt?bucket=bbb&tenant=a%26b%2Fc+d%3F%C3%A9": {Table: "ttt", Bucket: "bbb", Tenant: "a&b/c d?é"},
	} {
		got, err := cloud.ParseLocation(text)
		if err != nil || got != want {
			t.Errorf("ParseLocation(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := cloud.ParseLocation(got.String()); err != nil || again != want {
			t.Errorf("ParseLocation(%q) = %+v, %v; want %+v", got.String(), again, err, want)
		}
	}
	for text, want := range map[string]string{
		"dynamodb://":                                                  "names no table",
		"dynamodb://ttt":                                               "names no bucket",
		"dynamodb://tt?bucket=bbb":                                     "3 to 255",
		"dynamodb://ttt?bucket=Upper":                                  "small letters",
		"dynamodb://ttt?bucket=bbb&region=x":                           `"region"`,
		"dynamodb://ttt?bucket=bbb&bucket=ccc":                         "2 times",
		"dynamodb://ttt/path?bucket=bbb":                               "want dynamodb://TABLE",
		"dynamodb://a:b@ttt?bucket=bbb":                                "want dynamodb://TABLE",
		"dynamodb://ttt?bucket=%zz":                                    "malformed",
		"dynamodb://ttt?bucket=bbb&tenant=" + strings.Repeat("x", 129): "at most 128",
		"/var/lib/stepwell.db":                                         "want dynamodb://TABLE",
	} {
		if _, err := cloud.ParseLocation(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseLocation(%q): %v; want it to say %q", text, err, want)
		}
	}
}

// begin makes the standard configuration name the cloud of this test binary, and returns that and a location nobody else has.
func begin(t *testing.T) (emulator.Endpoint, cloud.Location) {
	t.Helper()
	e := emulator.Start(t)
	cfg := e.Config()
	c, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", e.URL)
	t.Setenv("AWS_REGION", cfg.Region)
	t.Setenv("AWS_ACCESS_KEY_ID", c.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", c.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", c.SessionToken)
	name := emulator.Name(t)
	return e, cloud.Location{Table: name, Bucket: name, Tenant: cloud.DefaultTenant}
}

func check(t *testing.T, at cloud.Location) error {
	t.Helper()
	c, err := standard.Connect(t.Context(), "")
	if err != nil {
		return err
	}
	return c.Check(t.Context(), at)
}

func initialise(t *testing.T, at cloud.Location, endpoint string) (cloud.Made, error) {
	t.Helper()
	c, err := standard.Connect(t.Context(), endpoint)
	if err != nil {
		return cloud.Made{}, err
	}
	return c.Init(t.Context(), at)
}

func open(t *testing.T, at cloud.Location) (*dynstore.Store, error) {
	t.Helper()
	c, err := standard.Connect(t.Context(), "")
	if err != nil {
		return nil, err
	}
	return c.Open(at, time.Now, cloud.Poll)
}

// Init makes what is missing and says so; a store then opens. What is there is found, and made whole.
func TestInit(t *testing.T) {
	_, at := begin(t)
	if err := check(t, at); !errors.Is(err, cloud.ErrMissing) || !strings.Contains(err.Error(), "stepwell aws init --table "+at.Table) {
		t.Errorf("Check before Init: %v", err)
	}
	made, err := initialise(t, at, "")
	if err != nil || !made.TableCreated || !made.BucketCreated || made.Store != at.String() {
		t.Fatalf("Init = %+v, %v", made, err)
	}
	if err := check(t, at); err != nil {
		t.Errorf("Check after Init: %v", err)
	}
	st, err := open(t, at)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := st.CreateSession(t.Context(), store.CreateOptions{ID: "one"}); err != nil {
		t.Errorf("CreateSession = %#v, %v", out, err)
	}
	again, err := initialise(t, at, "")
	if err != nil || again.TableCreated || again.BucketCreated {
		t.Errorf("Init again = %+v, %v", again, err)
	}
	if list, err := st.ListSessions(t.Context(), store.ListOptions{}); err != nil || len(list) != 1 {
		t.Errorf("after Init again there are %d sessions, %v; want 1", len(list), err)
	}
	// Half of it: the table is there, the bucket is not.
	half := cloud.Location{Table: at.Table, Bucket: emulator.Name(t)}
	if err := check(t, half); !errors.Is(err, cloud.ErrMissing) || !strings.Contains(err.Error(), "bucket "+half.Bucket) {
		t.Errorf("Check without the bucket: %v", err)
	}
	if made, err := initialise(t, half, ""); err != nil || made.TableCreated || !made.BucketCreated {
		t.Errorf("Init of the bucket alone = %+v, %v", made, err)
	}
}

// Tenants of one table do not see each other.
func TestOpen_tenants(t *testing.T) {
	_, at := begin(t)
	if _, err := initialise(t, at, ""); err != nil {
		t.Fatal(err)
	}
	for i, tenant := range []string{"acme", "other"} {
		at.Tenant = tenant
		st, err := open(t, at)
		if err != nil {
			t.Fatal(err)
		}
		if list, err := st.ListSessions(t.Context(), store.ListOptions{}); err != nil || len(list) != 0 {
			t.Errorf("tenant %d begins with %d sessions, %v", i, len(list), err)
		}
		out, err := st.CreateSession(t.Context(), store.CreateOptions{ID: "same"})
		if _, ok := out.(store.SessionCreated); !ok || err != nil {
			t.Errorf("CreateSession = %#v, %v", out, err)
		}
	}
}

// A table that was made for something else is left alone, and so is the bucket.
func TestInit_refusesOtherKeys(t *testing.T) {
	e, at := begin(t)
	_, err := e.DynamoDB().CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &at.Table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeN}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Check": check(t, at),
		"Init":  func() error { _, err := initialise(t, at, ""); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "id (HASH, N)") || !strings.Contains(err.Error(), "use another table") {
			t.Errorf("%s: %v", name, err)
		}
	}
	at.Table = emulator.Name(t)
	if made, err := initialise(t, at, ""); err != nil || !made.BucketCreated {
		t.Errorf("Init = %+v, %v; want the bucket to be missing until now", made, err)
	}
}

// The endpoint that is given is asked, whatever the environment names.
func TestInit_endpoint(t *testing.T) {
	e, at := begin(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	made, err := initialise(t, at, e.URL)
	if err != nil || made.Endpoint != e.URL || !made.TableCreated || !made.BucketCreated {
		t.Errorf("Init = %+v, %v", made, err)
	}
}

// What the configuration of AWS lacks is said at once, with the variable to set.
func TestOpen_saysWhatIsMissing(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	at := cloud.Location{Table: "ttt", Bucket: "bbb"}
	if _, err := open(t, at); !errors.Is(err, cloud.ErrAccess) || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
	t.Setenv("AWS_REGION", "eu-central-1")
	if _, err := open(t, at); !errors.Is(err, cloud.ErrAccess) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: %v", err)
	}
}
