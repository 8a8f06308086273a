package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

// inCloud makes commands of this test find the cloud, and returns the name for a table and a bucket that are not there yet.
func inCloud(t *testing.T) string {
	t.Helper()
	e := emulator.Start(t)
	cfg := e.Config()
	c, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": e.URL, "AWS_REGION": cfg.Region, "AWS_ACCESS_KEY_ID": c.AccessKeyID, "AWS_SECRET_ACCESS_KEY": c.SecretAccessKey,
		"AWS_SESSION_TOKEN": c.SessionToken, boot.EnvLeaseTTL: "2s", boot.EnvAddr: "127.0.0.1:0",
	} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir()) // the notes of the tool lie beside
	return emulator.Name(t)
}

// ran is what a command that has ended said.
type ran struct {
	code     int
	out, err string
}

func execute(t *testing.T, store string, args ...string) ran {
	t.Helper()
	p := start(t, store, args...)
	var lines []string
	for line := range p.lines {
		lines = append(lines, line)
	}
	_ = p.cmd.Wait() // the code tells
	return ran{p.cmd.ProcessState.ExitCode(), strings.Join(lines, "\n"), p.said.String()}
}

func (r ran) mustSay(t *testing.T, code int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if r.code != code || t.Failed() {
		t.Fatalf("exit code %d, want %d:\n%s\n%s", r.code, code, r.out, r.err)
	}
}

// eventually repeats a command until it says text.
func eventually(t *testing.T, store, text string, args ...string) ran {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		r := execute(t, store, args...)
		if strings.Contains(r.out, text) {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v still does not say %q:\n%s\n%s", args, text, r.out, r.err)
		}
	}
}

func TestAWSInit(t *testing.T) {
	name := inCloud(t)
	execute(t, "", "aws", "init").mustSay(t, exitUsage, "--table", "--bucket", boot.EnvStore)
	execute(t, "", "aws", "init", "--table", name).mustSay(t, exitUsage, "--bucket")
	execute(t, "", "aws", "init", "--table", "no table", "--bucket", name).mustSay(t, exitUsage, "--table")
	execute(t, "", "aws", "init", "--table", name, "--bucket", "Upper").mustSay(t, exitUsage, "small letters")
	execute(t, "", "aws", "init", "--table", name, "--bucket", name, "--endpoint", "nowhere").mustSay(t, exitUsage, "--endpoint")

	store := cloud.Location{Table: name, Bucket: name}.String()
	execute(t, store, "sessions").mustSay(t, exitNotFound, "table "+name+" is missing", "stepwell aws init --table "+name)
	execute(t, store, "doctor").mustSay(t, 2, "stepwell aws init --table "+name)
	execute(t, "", "aws", "init", "--table", name, "--bucket", name).mustSay(t, exitOK, "created", boot.EnvStore+"='"+store+"'")
	var made cloud.Made
	again := execute(t, store, "aws", "init", "--json")
	again.mustSay(t, exitOK)
	if err := api.Unmarshal([]byte(again.out), &made); err != nil || made.TableCreated || made.BucketCreated || made.Store != store {
		t.Errorf("init again says %s, %v", again.out, err)
	}
	execute(t, store, "doctor").mustSay(t, exitOK, "the table has the right keys", "0 checked")
}

// A server on DynamoDB is killed in the middle of a tool. The next one takes over once the lease is out; what may have happened is not done
// again, and nothing is lost.
func TestServe_cloudOutlivesAKill(t *testing.T) {
	name := inCloud(t)
	store := cloud.Location{Table: name, Bucket: name, Tenant: "acme"}.String()
	execute(t, store, "aws", "init").mustSay(t, exitOK, "created")
	server, addr := serveOn(t, store, "127.0.0.1:0")
	execute(t, store, "send", "--wait", "tools").mustSay(t, exitOK)
	execute(t, store, "--server", "http://"+addr, "send", "slow-tool 3600").mustSay(t, exitOK, "queued")
	eventually(t, store, "1 of 3600", "watch", "--all", "--no-follow")
	execute(t, store, "send", "and then this").mustSay(t, exitOK, "Whoever runs that store answers it")
	if err := server.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.cmd.Wait()
	execute(t, store, "pending").mustSay(t, exitOK, "and then this")

	serveOn(t, store, "127.0.0.1:0")
	eventually(t, store, "You said: and then this", "log").mustSay(t, exitOK, "nterrupted")
	eventually(t, store, " done", "heads")
	events := execute(t, store, "watch", "--all", "--no-follow", "--json")
	for _, once := range []string{
		`"kind":"effect"[^\n]*"state":"intent"[^\n]*"tool":"slow"`, `"kind":"commit"[^\n]*"role":"toolResult"[^\n]*"toolName":"slow"`,
	} {
		if n := len(regexp.MustCompile(once).FindAllString(events.out, -1)); n != 1 {
			t.Errorf("%d events match %s, want 1", n, once)
		}
	}
	execute(t, store, "fsck", "--all").mustSay(t, exitOK, "default: clean")
	execute(t, store, "doctor").mustSay(t, exitOK, "1 checked, every invariant holds")
	execute(t, strings.Replace(store, "acme", "other", 1), "sessions").mustSay(t, exitOK, "There are no sessions yet")
	// What the tool note wrote is all that lies on this machine: no announcement, no file.
	beside, err := filepath.Glob(filepath.Join("*", "*"))
	if err != nil || len(beside) != 1 {
		t.Fatalf("on this machine there are %v, %v", beside, err)
	}
	if notes, err := os.ReadFile(beside[0]); err != nil || strings.Count(string(notes), "\n") != 1 {
		t.Errorf("the tool note wrote %q, %v; want one line", notes, err)
	}
}
