package cloudtest_test

import (
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	function = "./testdata/function"
	// maxBinary is the most that a binary in the cloud may have, in bytes.
	maxBinary = 20 << 20
)

// A function in the cloud links no other store and no SDK of a model's provider, and is small enough to start fast.
func TestBinary(t *testing.T) {
	deps := strings.Fields(gotool(t, "list", "-deps", function))
	linked := map[string]bool{}
	for _, dep := range deps {
		linked[dep] = true
		for _, not := range []string{
			"modernc.org", "github.com/mattn/go-sqlite3", "github.com/ncruces", // SQLite and its drivers
			"github.com/stepwell-dev/stepwell/pkg/sqlitestore", "github.com/stepwell-dev/stepwell/pkg/memstore",
			"github.com/openai", "github.com/sashabaranov", "github.com/anthropics", "google.golang.org/genai",
			"github.com/aws/aws-sdk-go-v2/service/bedrockruntime", "github.com/tmc/langchaingo",
		} {
			if dep == not || strings.HasPrefix(dep, not+"/") {
				t.Errorf("the function links %s", dep)
			}
		}
	}
	if linked["database/sql"] { // its driver package alone is a few interfaces
		t.Error("the function links database/sql")
	}
	for _, part := range []string{"dynstore", "s3objects", "agent", "sdk", "httpapi"} {
		if !linked["github.com/stepwell-dev/stepwell/pkg/"+part] {
			t.Errorf("the function does not link %s", part)
		}
	}
	binary := filepath.Join(t.TempDir(), "bootstrap")
	gotool(t, "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, function)
	size, zipped := weigh(t, binary)
	t.Logf("the function links %d packages and has %.2f MB, %.2f MB compressed", len(deps), float64(size)/1e6, float64(zipped)/1e6)
	if size > maxBinary {
		t.Errorf("the function has %d bytes, want at most %d", size, maxBinary)
	}
}

// gotool runs the go command as for a function on Arm.
func gotool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out)
}

// weigh returns the size of a file, and what is left of it after gzip.
func weigh(t *testing.T, name string) (size, zipped int64) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var left counter
	z := gzip.NewWriter(&left)
	if size, err = io.Copy(z, f); err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return size, int64(left)
}

// A counter counts what is written to it.
type counter int64

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
