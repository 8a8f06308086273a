package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

// Options are what a deployment chooses.
type Options struct {
	// Dist has NAME.zip, or NAME/bootstrap, for each function, built for this machine.
	Dist string
	// Context is the context of the app, see Config of infra. It must have jwtIssuer and jwtAudience; see [Issuer]. The stage, the
	// architecture and the endpoint have values already.
	Context map[string]string
}

// errNoTools is wrapped by errors that say what this machine lacks.
var errNoTools = errors.New("the CDK cannot run")

// A TB is the part of testing.TB that this package needs.
type TB interface {
	emulator.TB
	Cleanup(f func())
	Errorf(format string, args ...any)
}

// Start deploys a stage of its own for a test, and destroys it after the test. It skips the test where [emulator.Start] does and where there
// is no node, except in CI.
func Start(tb TB, o Options) *Stack {
	tb.Helper()
	e := emulator.Start(tb)
	s, err := Up(tb.Context(), e, o)
	if errors.Is(err, errNoTools) && os.Getenv("CI") != "true" {
		tb.Skipf("no deployment: %v", err)
	}
	if err != nil {
		tb.Fatalf("deploying the stack: %v", err)
	}
	tb.Cleanup(func() {
		if e.Emulated { // It ends with the tests, and everything in it.
			_ = os.RemoveAll(s.dir)
			return
		}
		if err := s.Down(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("destroying the stack: %v", err)
		}
	})
	return s
}

// Up deploys a stage of its own to e and returns where everything is. The caller takes it [Stack.Down] unless the emulator ends anyway.
func Up(ctx context.Context, e emulator.Endpoint, o Options) (*Stack, error) {
	t, err := newTools(ctx, e)
	if err != nil {
		return nil, err
	}
	dist, err := filepath.Abs(o.Dist)
	if err != nil {
		return nil, fmt.Errorf("finding the functions: %w", err)
	}
	settings := map[string]string{
		"stage": "dev-" + strings.ToLower(rand.Text()[:8]), "arch": runtime.GOARCH, "dist": dist, "endpointUrl": e.URL,
	}
	maps.Copy(settings, o.Context)
	s := &Stack{Stage: settings["stage"], endpoint: e, tools: t}
	if s.dir, err = os.MkdirTemp(t.cache, "deploy-*"); err != nil {
		return nil, fmt.Errorf("making a directory for the deployment: %w", err)
	}
	if err := s.up(ctx, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func (s *Stack) up(ctx context.Context, settings map[string]string) error {
	if err := s.tools.synth(ctx, s.assembly(), settings); err != nil {
		return err
	}
	if err := s.tools.bootstrap(ctx, s.dir, s.endpoint.URL); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "outputs.json")
	err := s.tools.cdk(ctx, s.dir, "deploy", "--app", s.assembly(), "--all", "--require-approval", "never", "--outputs-file", file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the outputs of the stack: %w", err)
	}
	var outputs map[string]map[string]string
	if err := json.Unmarshal(text, &outputs); err != nil {
		return fmt.Errorf("reading the outputs of the stack: %w", err)
	}
	if err := s.read(outputs["stepwell-"+s.Stage]); err != nil {
		return err
	}
	return s.redrive(ctx)
}

// Down destroys the stage with all that it keeps.
func (s *Stack) Down(ctx context.Context) error {
	if err := s.empty(ctx); err != nil {
		return err
	}
	if err := s.tools.cdk(ctx, s.dir, "destroy", "--app", s.assembly(), "--all", "--force"); err != nil {
		return err
	}
	return os.RemoveAll(s.dir)
}

// empty deletes every version of every object in the bucket, which cannot be destroyed before.
func (s *Stack) empty(ctx context.Context) error {
	client := s.endpoint.S3()
	pages := s3.NewListObjectVersionsPaginator(client, &s3.ListObjectVersionsInput{Bucket: &s.Bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("emptying the bucket %s: %w", s.Bucket, err)
		}
		var all []types.ObjectIdentifier
		for _, v := range page.Versions {
			all = append(all, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			all = append(all, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		if len(all) == 0 {
			continue
		}
		if _, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &s.Bucket, Delete: &types.Delete{Objects: all}}); err != nil {
			return fmt.Errorf("emptying the bucket %s: %w", s.Bucket, err)
		}
	}
	return nil
}

// assembly is where the app writes what the command line deploys.
func (s *Stack) assembly() string { return filepath.Join(s.dir, "cdk.out") }

// bootstrapped has an entry for each cloud with what the CDK needs in it.
//
//nolint:gochecknoglobals // tests of one binary share the emulator, and so what was made in it
var (
	bootstrapped     = map[string]bool{}
	bootstrappedLock sync.Mutex
)

// bootstrap makes what the CDK needs in a cloud, once.
func (t *tools) bootstrap(ctx context.Context, dir, url string) error {
	bootstrappedLock.Lock()
	defer bootstrappedLock.Unlock()
	if bootstrapped[url] {
		return nil
	}
	if err := t.cdk(ctx, dir, "bootstrap", "aws://"+account+"/"+t.region); err != nil {
		return err
	}
	bootstrapped[url] = true
	return nil
}
