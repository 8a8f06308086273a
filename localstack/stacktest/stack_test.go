package stacktest_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/stepwell-dev/stepwell/localstack/deploy"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// patience is how long anything may take before a test gives up. Nothing is asserted about time.
const patience = 90 * time.Second

const audience = "stepwell-tests"

var functions = []string{"submit", "step", "snapshot", "events", "alarm", "collect"}

// builtIn is where built has built, if it has.
var builtIn string

// built has the functions for this machine, each in a directory of its own.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stepwell-functions-*")
	if err != nil {
		return "", err
	}
	builtIn = dir
	for _, name := range functions {
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=",
			"-o", filepath.Join(dir, name, "bootstrap"), "github.com/stepwell-dev/stepwell/functions/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

var issuer = sync.OnceValues(deploy.NewIssuer)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(builtIn)
	os.Exit(code)
}

// A stack is a deployment as a test sees it.
type stack struct {
	*deploy.Stack
	*testing.T

	cloud  emulator.Endpoint
	issuer *deploy.Issuer
}

// up deploys a stack with a context beside what every test has.
func up(t *testing.T, settings map[string]string) *stack {
	t.Helper()
	if testing.Short() {
		t.Skip("a stack takes seconds to deploy")
	}
	cloud := emulator.Start(t) // it skips where there is none
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	i, err := issuer()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"jwtIssuer": i.URL, "jwtAudience": audience, "model": "scripted/demo", "pace": "2ms", "leaseTtl": "3s", "logLevel": "error",
	}
	maps.Copy(all, settings)
	return &stack{deploy.Start(t, deploy.Options{Dist: dir, Context: all}), t, cloud, i}
}

// token returns a token of a user of a tenant.
func (s *stack) token(tenant, user string) string {
	s.Helper()
	now := time.Now().Add(-time.Second) // who verifies it has another clock
	token, err := s.issuer.Token(map[string]any{
		"aud": audience, "sub": user, "tenant": tenant, "client_id": "phone", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if err != nil {
		s.Fatal(err)
	}
	return token
}

// as returns the API as a user of a tenant sees it.
func (s *stack) as(tenant, user string) *client.Client {
	s.Helper()
	c, err := client.New(s.APIURL, &client.Options{Token: s.token(tenant, user)})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// create makes a session.
func (s *stack) create(c *client.Client) api.SessionID {
	s.Helper()
	out, err := c.CreateSession(s.Context(), api.CreateSessionOptions{})
	created, ok := out.(api.SessionCreated)
	if err != nil || !ok {
		s.Fatalf("creating a session: %#v, %v", out, err)
	}
	return created.Session.SessionID
}

func (s *stack) send(c *client.Client, id api.SessionID, text, key string) api.SendReceipt {
	s.Helper()
	out, err := c.Send(s.Context(), api.SendOptions{SessionID: id, Content: api.Text(text), Key: key})
	if err != nil {
		s.Fatalf("sending %q: %v", text, err)
	}
	return out
}

// until asks for snapshots until one is as wanted.
func (s *stack) until(c *client.Client, id api.SessionID, what string, ok func(api.Snapshot) bool) api.Snapshot {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for {
		snap, err := c.Snapshot(ctx, api.HeadOptions{SessionID: id})
		if err != nil {
			s.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(snap) {
			return snap
		}
		select {
		case <-ctx.Done():
			s.Fatalf("waiting for %s: the run is %+v, pending %d, said\n%s", what, snap.Run, len(snap.Pending), strings.Join(lines(snap), "\n"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// idle waits until nothing is pending and no run is live.
func (s *stack) idle(c *client.Client, id api.SessionID) api.Snapshot {
	s.Helper()
	return s.until(c, id, "the end of everything", func(snap api.Snapshot) bool {
		return snap.Run != nil && object.Terminal(snap.Run.Phase) && len(snap.Pending) == 0
	})
}

// lines are what a snapshot says, a line for each part.
func lines(snap api.Snapshot) []string {
	var out []string
	for _, item := range snap.Transcript {
		turn, ok := item.(api.Turn)
		if !ok {
			continue
		}
		for _, part := range turn.Parts {
			switch p := part.(type) {
			case api.UserPart:
				out = append(out, "user: "+plain(p.Content))
			case api.AssistantPart:
				out = append(out, "assistant: "+p.Text)
			case api.ToolPart:
				if p.Result != nil {
					out = append(out, p.Tool+": "+plain(p.Result.Content))
				}
			case api.ThinkingPart, api.NotePart:
			}
		}
	}
	return out
}

// has reports whether a line of what a snapshot says has all words.
func has(snap api.Snapshot, words ...string) bool {
	return slices.ContainsFunc(lines(snap), func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// check holds a session to every invariant that can be read off it.
func (s *stack) check(c *client.Client, id api.SessionID) {
	s.Helper()
	report, err := c.Fsck(s.Context(), api.SessionOptions{SessionID: id})
	if err != nil {
		s.Fatal(err)
	}
	if len(report.Problems) > 0 {
		s.Errorf("the session is damaged: %+v", report.Problems)
	}
}

// invoke calls a function as the scheduler does.
func (s *stack) invoke(name, payload string) string {
	s.Helper()
	fn := s.Functions[name]
	out, err := lambda.NewFromConfig(s.cloud.Config()).Invoke(s.Context(), &lambda.InvokeInput{FunctionName: &fn, Payload: []byte(payload)})
	if err != nil {
		s.Fatalf("invoking %s: %v", name, err)
	}
	if out.FunctionError != nil {
		return "error: " + string(out.Payload)
	}
	return string(out.Payload)
}
