package emulator_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

// The variable makes the test binary play a test binary that prints where its emulator is and then waits to be killed.
const victim = "STEPWELL_EMULATOR_VICTIM"

func TestStart_Answers(t *testing.T) {
	t.Parallel()
	e := emulator.Start(t)
	table := emulator.Name(t)
	db := e.DynamoDB()
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &table,
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("p"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("p"), AttributeType: types.ScalarAttributeTypeS}},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = db.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &table})
	})
	bucket := emulator.Name(t)
	if bucket == table {
		t.Errorf("two names are both %q", bucket)
	}
	if _, err := e.S3().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = e.S3().DeleteBucket(context.WithoutCancel(t.Context()), &s3.DeleteBucketInput{Bucket: &bucket})
	})
}

func TestStart_OncePerProcess(t *testing.T) {
	t.Parallel()
	if one, two := emulator.Start(t), emulator.Start(t); one.URL != two.URL {
		t.Errorf("two tests have %s and %s", one.URL, two.URL)
	}
}

type seen struct {
	next http.RoundTripper
	urls []string
}

func (s *seen) RoundTrip(req *http.Request) (*http.Response, error) {
	s.urls = append(s.urls, req.URL.String())
	return s.next.RoundTrip(req)
}

func TestConfig_WithTransport(t *testing.T) {
	t.Parallel()
	e := emulator.Start(t)
	through := &seen{next: http.DefaultTransport}
	if _, err := e.DynamoDB(emulator.WithTransport(through)).ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
		t.Fatal(err)
	}
	if len(through.urls) != 1 || !strings.HasPrefix(through.urls[0], e.URL) {
		t.Errorf("requests that went through the transport: %q, want one to %s", through.urls, e.URL)
	}
}

// A test binary that is killed takes its emulator with it.
func TestStart_EndsWithTheProcess(t *testing.T) {
	if os.Getenv(victim) != "" {
		fmt.Printf("emulator at %s\n", emulator.Start(t).URL)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if e := emulator.Start(t); !e.Emulated {
		t.Skip("nothing is started where AWS_ENDPOINT_URL is set")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStart_EndsWithTheProcess$")
	temp := t.TempDir()
	cmd.Env = append(os.Environ(), victim+"=1", "TMPDIR="+temp)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var url string
	for lines := bufio.NewScanner(stdout); url == "" && lines.Scan(); {
		url, _ = strings.CutPrefix(lines.Text(), "emulator at ")
		if !strings.HasPrefix(url, "http") {
			url = ""
		}
	}
	if err := answers(t.Context(), url); err != nil {
		t.Fatalf("before the kill: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for answers(ctx, url) == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%s still answers", url)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "ministack-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind are %q, %v", left, err)
	}
}

func answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/_localstack/health", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
