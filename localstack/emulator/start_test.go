package emulator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

// A verdict is a TB that keeps what was said of a test instead of ending it.
type verdict struct {
	said string
}

func (*verdict) Helper()                  {}
func (*verdict) Context() context.Context { return context.Background() }
func (*verdict) Name() string             { return "TestVerdict/With_Ümlaut" }

func (v *verdict) Skipf(format string, args ...any) {
	v.said = "skip: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.said = "fatal: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// start calls Start as a test would and returns the endpoint, or what was said.
func start() (e emulator.Endpoint, said string) {
	v := &verdict{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e = emulator.Start(v)
	}()
	<-done
	return e, v.said
}

func TestStart_TurnedOff(t *testing.T) {
	t.Setenv("STEPWELL_CLOUD_TESTS", "off")
	t.Setenv("CI", "true")
	if _, said := start(); !strings.HasPrefix(said, "skip: ") {
		t.Errorf("got %q, want a skip", said)
	}
}

func TestStart_External(t *testing.T) {
	t.Setenv("STEPWELL_CLOUD_TESTS", "")
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9/")
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_REGION", "eu-central-1")
	e, said := start()
	if said != "" || e.URL != "http://127.0.0.1:9" || e.Emulated {
		t.Fatalf("got %+v, %q", e, said)
	}
	if cfg := e.Config(); cfg.Region != "eu-central-1" {
		t.Errorf("region %q, want that of the environment", cfg.Region)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	name := emulator.Name(&verdict{})
	if prefix := "testverdictwithmlaut-"; !strings.HasPrefix(name, prefix) || len(name) > 63 {
		t.Errorf("got %q, want %s and what makes it unique in at most 63 characters", name, prefix)
	}
}

// Without Python the cloud tests say so; in CI they fail instead of passing unseen.
func TestStart_WithoutPython(t *testing.T) {
	if os.Getenv(victim) != "" {
		_, said := start()
		fmt.Printf("said %s\n", strings.ReplaceAll(said, "\n", " "))
		return
	}
	for _, test := range []struct{ ci, want string }{{"true", "said fatal: "}, {"", "said skip: "}} {
		// A repository of its own, since the one of these tests may have the emulator.
		root := t.TempDir()
		script, err := os.ReadFile("../setup.sh")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, "localstack", "setup.sh"), string(script))
		write(t, filepath.Join(root, "localstack", "requirements.txt"), "ministack==0.0.0\n")
		tools := t.TempDir()
		for _, tool := range []string{"sh", "dirname", "sed", "cksum", "cut"} {
			link(t, tools, tool)
		}
		out := again(t, "^TestStart_WithoutPython$", root, "PATH="+tools, "CI="+test.ci, "AWS_ENDPOINT_URL=", "STEPWELL_CLOUD_TESTS=", victim+"=1")
		if !strings.Contains(out, test.want) || !strings.Contains(out, "python3 is not installed") {
			t.Errorf("CI=%q: got %s, want %q with the reason", test.ci, out, test.want)
		}
	}
}
