package boot_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/setting"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestLoad_flagsOverruleTheEnvironmentAndThatTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := boot.Load(map[string]string{boot.EnvStore: "flag.db", boot.EnvAddr: ""},
		environment(boot.EnvStore, "env.db", boot.EnvSync, "normal", boot.EnvToken, "s3cret"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Store != "flag.db" || c.Addr != boot.DefaultAddr || c.Token != "s3cret" {
		t.Errorf("Load = %+v", c)
	}
	origins := map[string]boot.Setting{}
	for _, s := range c.Settings {
		origins[s.Name] = s
		if strings.Contains(s.Value, "s3cret") {
			t.Errorf("setting %s shows its secret", s.Name)
		}
	}
	for name, want := range map[string]setting.Origin{
		boot.EnvStore: setting.FromFlag, boot.EnvSync: setting.FromEnv, boot.EnvToken: setting.FromEnv, boot.EnvAddr: setting.FromDefault,
	} {
		if got := origins[name].Origin; got != want {
			t.Errorf("origin of %s = %q, want %q", name, got, want)
		}
	}
	if !c.Named(boot.EnvStore) || c.Named(boot.EnvAddr) {
		t.Error("Named does not tell what was given from what was not")
	}
}

func TestLoad_namesEveryMalformedVariable(t *testing.T) {
	t.Parallel()
	_, err := boot.Load(map[string]string{boot.EnvAddr: "nowhere"}, environment(
		boot.EnvSync, "ful", boot.EnvModel, "gpt", boot.EnvLogLevel, "loud", boot.EnvLogFormat, "xml", boot.EnvPace, "-1s",
		boot.EnvToken, "two words", boot.EnvOpenAIKey, "line\nbreak"))
	if err == nil {
		t.Fatal("Load took it all")
	}
	for _, want := range []string{
		"the flag for STEPWELL_ADDR", "STEPWELL_SYNC", "STEPWELL_MODEL", "STEPWELL_LOG_LEVEL", "STEPWELL_LOG_FORMAT", "STEPWELL_PACE",
		"STEPWELL_TOKEN", "OPENAI_API_KEY", "full", "provider/model", "debug",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not mention %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "two words") {
		t.Error("the error shows a secret")
	}
}

func TestLoad_storeInTheCloud(t *testing.T) {
	t.Parallel()
	c, err := boot.Load(nil, environment(boot.EnvStore, "dynamodb://table?bucket=bodies", boot.EnvLeaseTTL, "2s"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (cloud.Location{Table: "table", Bucket: "bodies", Tenant: "default"}); c.Cloud == nil || *c.Cloud != want || c.LeaseTTL != 2*time.Second {
		t.Errorf("Load = %+v, %v; want %+v and 2s", c.Cloud, c.LeaseTTL, want)
	}
	for _, test := range []struct{ name, value, want string }{
		{boot.EnvStore, "dynamodb://table", "names no bucket"},
		{boot.EnvStore, "postgres://somewhere", `the scheme "postgres"`},
		{boot.EnvLeaseTTL, "10ms", "from 1s to 10m"},
		{boot.EnvLeaseTTL, "soon", "from 1s to 10m"},
	} {
		if _, err := boot.Load(nil, environment(test.name, test.value)); err == nil || !strings.Contains(err.Error(), test.name) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Load with %s=%s: %v; want it to say %q", test.name, test.value, err, test.want)
		}
	}
	if c, err := boot.Load(nil, environment(boot.EnvStore, "some dir/file.db")); err != nil || c.Cloud != nil || c.Store != "some dir/file.db" {
		t.Errorf("Load of a file = %+v, %v", c, err)
	}
}

func TestCheckExposed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr, token string
		ok          bool
	}{
		{"127.0.0.1:0", "", true},
		{"localhost:80", "", true},
		{"[::1]:80", "", true},
		{":80", "", false},
		{"0.0.0.0:80", "", false},
		{"example.com:80", "", false},
		{"0.0.0.0:80", "token", true},
	} {
		err := boot.Config{Addr: tt.addr, Token: tt.token}.CheckExposed()
		if (err == nil) != tt.ok {
			t.Errorf("CheckExposed(%s, token %q) = %v", tt.addr, tt.token, err)
		}
		if err != nil && !strings.Contains(err.Error(), boot.EnvToken) {
			t.Errorf("the error does not say what to set: %v", err)
		}
	}
}

func TestOpen_saysWhatIsWrongWithTheModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{[]string{boot.EnvModel, "acme/x"}, "acme"},
		{[]string{boot.EnvModel, "openai/x"}, boot.EnvOpenAIKey},
		{[]string{boot.EnvModel, "scripted/other"}, "scripted/demo"},
		{[]string{boot.EnvModel, "openai/x", boot.EnvOpenAIBaseURL, "ftp://x"}, boot.EnvOpenAIBaseURL},
		{[]string{boot.EnvFetchAllow, "http://bad host"}, boot.EnvFetchAllow},
	} {
		path := filepath.Join(t.TempDir(), "s.db")
		c, err := boot.Load(map[string]string{boot.EnvStore: path}, environment(tt.env...))
		if err != nil {
			t.Fatal(err)
		}
		_, err = boot.Open(t.Context(), c, time.Now, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open with %v = %v, want an error that names %s", tt.env, err, tt.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("Open with %v made a store", tt.env)
		}
	}
}

func TestOpen_offersTheOpenAIModelWhenItIsConfigured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{nil, "scripted/demo"},
		{[]string{boot.EnvOpenAIKey, "k"}, "scripted/demo"},
		{[]string{boot.EnvModel, "openai/some", boot.EnvOpenAIKey, "k"}, "openai/some"},
		{[]string{boot.EnvModel, "openai/local", boot.EnvOpenAIBaseURL, "http://127.0.0.1:1/v1"}, "openai/local"},
	} {
		c, err := boot.Load(map[string]string{boot.EnvStore: filepath.Join(t.TempDir(), "s.db")}, environment(tt.env...))
		if err != nil {
			t.Fatal(err)
		}
		h, err := boot.Open(t.Context(), c, time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if h.Model() != tt.want {
			t.Errorf("with %v the model is %s, want %s", tt.env, h.Model(), tt.want)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The usual variables of OpenAI-compatible servers are all that it takes to talk to one.
func TestHost_answersThroughAnOpenAIServer(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"1","choices":[{"index":0,"delta":{"content":"Good day."}}]}`+"\n\n"+
			`data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := boot.Load(map[string]string{boot.EnvStore: filepath.Join(t.TempDir(), "s.db")}, environment(
		boot.EnvModel, "openai/some", boot.EnvOpenAIKey, "k", boot.EnvOpenAIBaseURL, server.URL+"/v1"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := boot.Open(ctx, c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := h.CreateSession(ctx, api.CreateSessionOptions{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text("hello")}); err != nil {
		t.Fatal(err)
	}
	if err := h.Attach(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := h.WaitRun(ctx, api.HeadOptions{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	info, err := h.GetSession(ctx, api.SessionOptions{SessionID: "s"})
	if err != nil || info.Preview != "Good day." {
		t.Errorf("the session's newest text is %q, %v", info.Preview, err)
	}
	if got, want := <-asked, "/v1/chat/completions Bearer k"; got != want {
		t.Errorf("the server was asked %q, want %q", got, want)
	}
}

func TestHost_answers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := boot.Load(map[string]string{boot.EnvStore: filepath.Join(t.TempDir(), "s.db"), boot.EnvPace: "0s"}, environment())
	if err != nil {
		t.Fatal(err)
	}
	h, err := boot.Open(ctx, c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := h.CreateSession(ctx, api.CreateSessionOptions{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text("tools")}); err != nil {
		t.Fatal(err)
	}
	if err := h.Attach(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	out, err := h.WaitRun(ctx, api.HeadOptions{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := out.(api.Idle); !ok {
		t.Fatalf("WaitRun = %#v", out)
	}
	notes, err := os.ReadFile(boot.NotesPath(c.Store))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(notes), "\n"); got != 1 {
		t.Errorf("the tool note ran %d times:\n%s", got, notes)
	}
	if ok, err := h.IntegrityCheck(ctx); !ok || err != nil {
		t.Errorf("IntegrityCheck = %t, %v", ok, err)
	}
	stats, ok, err := h.Stats(ctx)
	if err != nil || !ok || stats.Sessions != 1 {
		t.Errorf("Stats = %+v, %t, %v", stats, ok, err)
	}
}
