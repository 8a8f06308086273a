package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

const (
	// account is the one that emulators play.
	account = "000000000000"
	// toolTimeout is far above what any of the tools takes, for machines that do much else.
	toolTimeout = 10 * time.Minute
	lockRetry   = 100 * time.Millisecond
)

// tools are the app of the CDK and its command line.
type tools struct {
	region string
	cache  string   // where they and what they make is
	app    string   // the app, built
	cli    string   // the command line's script
	env    []string // of both
}

// newTools installs the tools. Several test binaries may come here at once: one of them does the work.
func newTools(ctx context.Context, e emulator.Endpoint) (*tools, error) {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, fmt.Errorf("%w: %s is not installed (Debian: nodejs and npm)", errNoTools, name)
		}
	}
	root, err := root()
	if err != nil {
		return nil, err
	}
	cfg := e.Config()
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of the endpoint: %w", err)
	}
	t := &tools{region: cfg.Region, cache: filepath.Join(root, ".cache", "infra")}
	t.app = filepath.Join(t.cache, "app")
	t.env = append(os.Environ(),
		"AWS_ENDPOINT_URL="+e.URL, "AWS_REGION="+cfg.Region, "AWS_DEFAULT_REGION="+cfg.Region, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID="+credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+credentials.SecretAccessKey, "AWS_SESSION_TOKEN="+credentials.SessionToken,
		"CDK_HOME="+filepath.Join(t.cache, "home"), "CDK_DISABLE_CLI_TELEMETRY=true", "CDK_DISABLE_VERSION_CHECK=true",
		"JSII_RUNTIME_PACKAGE_CACHE_ROOT="+filepath.Join(t.cache, "jsii"),
		// It runs on this one too; what it says of its age is nothing that a test could change.
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20", "NODE_NO_WARNINGS=1",
	)
	if err := os.MkdirAll(t.cache, 0o755); err != nil {
		return nil, fmt.Errorf("making a cache: %w", err)
	}
	lock := flock.New(filepath.Join(t.cache, "lock"))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return nil, fmt.Errorf("waiting for the tools: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := t.install(ctx, filepath.Join(root, "localstack")); err != nil {
		return nil, err
	}
	return t, t.build(ctx, filepath.Join(root, "infra"))
}

// install installs the command line as the lock file of from has it, unless it is there.
func (t *tools) install(ctx context.Context, from string) error {
	pinned, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("reading which command line is pinned: %w", err)
	}
	sum := sha256.Sum256(pinned)
	dir := filepath.Join(t.cache, "cli-"+hex.EncodeToString(sum[:6]))
	t.cli = filepath.Join(dir, "node_modules", "aws-cdk", "bin", "cdk")
	if _, err := os.Stat(t.cli); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("installing the command line: %w", err)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("installing the command line: %w", err)
		}
	}
	return t.run(ctx, dir, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
}

// build builds the app. The build cache makes that short unless it changed.
func (t *tools) build(ctx context.Context, dir string) error {
	return t.run(ctx, dir, []string{"GOFLAGS=-buildvcs=false", "GOWORK=off"}, "go", "build", "-o", t.app, ".")
}

// synth has the app write its assembly to dir.
func (t *tools) synth(ctx context.Context, dir string, settings map[string]string) error {
	text, err := json.Marshal(settings, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("writing the context: %w", err)
	}
	return t.run(ctx, filepath.Dir(dir), []string{"CDK_OUTDIR=" + dir, "CDK_CONTEXT_JSON=" + string(text)}, t.app)
}

// cdk runs the command line in dir.
func (t *tools) cdk(ctx context.Context, dir string, args ...string) error {
	return t.run(ctx, dir, nil, "node", append(append([]string{t.cli}, args...), "--no-color", "--no-notices")...)
}

// run runs a command. What it said is part of the error.
func (t *tools) run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, slices.Concat(t.env, env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}
