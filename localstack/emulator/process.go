package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startTimeout is far above the second that it takes, for machines that do much else.
	startTimeout = 60 * time.Second
	// startAttempts is how many ports are tried: another process may take a free one first.
	startAttempts = 3
	pollInterval  = 20 * time.Millisecond
)

// guard runs its arguments and ends, with every process it started and its directory, when they end or when its standard
// input does. The other end of that is held by the test binary alone, so that the emulator ends with it even when it is
// killed.
const guard = `( "$@" </dev/null; rm -rf "$TMPDIR"; kill -KILL 0 ) & read -r _; rm -rf "$TMPDIR"; kill -KILL 0`

// launch installs and starts the emulator and returns where it answers.
func launch() (Endpoint, error) {
	python, err := install()
	if err != nil {
		return Endpoint{}, err
	}
	for range startAttempts {
		var url string
		if url, err = run(python); err == nil {
			return emulated(url), nil
		}
	}
	return Endpoint{}, err
}

// install returns the Python that has the emulator.
func install() (string, error) {
	script, err := find(filepath.Join("localstack", "setup.sh"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", script) //nolint:noctx // it serves every test, not the one that happens to be first
	var reason strings.Builder
	cmd.Stderr = &reason
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", errNotInstalled, strings.TrimSpace(reason.String()+" ("+err.Error()+")"))
	}
	return filepath.Join(strings.TrimSpace(string(out)), "bin", "python"), nil
}

// find returns the path of a file of the repository, which is above the directory of the package under test.
func find(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", name, err)
	}
	for {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("finding %s: it is in no directory above this package", name)
		}
		dir = parent
	}
}

// run starts the emulator on a free port and waits until it answers.
func run(python string) (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "ministack-*")
	if err != nil {
		return "", fmt.Errorf("making the emulator's directory: %w", err)
	}
	// It is read through the open file, since the directory goes before it.
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", fmt.Errorf("making the emulator's log: %w", err)
	}
	script, err := find(filepath.Join("localstack", "start.py"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", guard, "sh", python, script) //nolint:noctx // it outlives every test
	cmd.Env = append(os.Environ(),
		"GATEWAY_PORT="+strconv.Itoa(port), "BIND_HOST=127.0.0.1", "MINISTACK_HOST=127.0.0.1", "LOG_LEVEL=WARNING",
		"TMPDIR="+dir, "STATE_DIR="+filepath.Join(dir, "state"), "S3_DATA_DIR="+filepath.Join(dir, "s3"))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pipe stays open until this process ends.
	if _, err := cmd.StdinPipe(); err != nil {
		return "", fmt.Errorf("starting the emulator: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("starting the emulator: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	url := "http://127.0.0.1:" + strconv.Itoa(port)
	if err := ready(url, ended); err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		text, _ := io.ReadAll(io.NewSectionReader(log, 0, 64<<10))
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("the emulator on port %d: %w\n%s", port, err, text)
	}
	return url, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("finding a free port: listening on %v", l.Addr())
	}
	return addr.Port, nil
}

// ready waits until a list of tables is answered.
func ready(url string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout) //nolint:forbidigo // it serves every test
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := listTables(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case exit := <-ended:
			return fmt.Errorf("it ended: %w", errors.Join(exit, err))
		case <-ctx.Done():
			return fmt.Errorf("it did not answer in %v: %w", startTimeout, err)
		case <-tick.C:
		}
	}
}

func listTables(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("listing the tables: %s", resp.Status)
	}
	return nil
}
