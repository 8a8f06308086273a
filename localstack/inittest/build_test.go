package inittest_test

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// build builds the function in a directory as make does, for an architecture or, when that is empty, for this machine.
func build(t *testing.T, dir, arch string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", binary, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if arch != "" {
		cmd.Env = append(cmd.Env, "GOOS=linux", "GOARCH="+arch)
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", dir, err, said)
	}
	return binary
}

// weigh returns the size of a file, and of the zip with it that is deployed.
func weigh(t *testing.T, name string) (size, zipped int64) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var left counter
	z := zip.NewWriter(&left)
	w, err := z.Create("bootstrap")
	if err == nil {
		size, err = io.Copy(w, f)
	}
	if err == nil {
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
