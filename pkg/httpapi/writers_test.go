package httpapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// An echo answers every message with its own text, so that an answer shows what it answers.
type echo struct{}

func (echo) Name() string { return "echo" }

func (echo) Models() []llm.ModelInfo {
	return []llm.ModelInfo{{Model: llm.Model{Provider: "echo", ID: "echo"}, API: "echo"}}
}

func (echo) Stream(_ context.Context, req llm.Request, _ func(llm.Delta) error) message.Assistant {
	text := "nothing was said"
	if user, ok := req.Messages[len(req.Messages)-1].(message.User); ok {
		text = "re: " + message.PlainText(user.Content)
	}
	return message.Assistant{
		Content: []message.Part{message.Text{Text: text}},
		API:     "echo", Provider: "echo", Model: "echo", StopReason: message.StopEnd,
	}
}

// Fifty clients with connections of their own write into one head while it is driven: nobody sees an error, the messages are one chain, and each has
// its own answer behind it before the next one lands.
func TestEndToEnd_FiftyWritersAreAnsweredInOrder(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Store{
		"memstore": func(*testing.T) store.Store { return memstore.New(nil) },
		"sqlitestore": func(t *testing.T) store.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			st := open(t)
			defer st.Close()
			host, err := sdk.New(sdk.Options{Store: st, Models: llm.NewCatalog(echo{}), DefaultModel: echo{}.Models()[0].Model})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			handler := httpapi.New(host, nil)
			server := httptest.NewServer(handler)
			defer server.Close()
			defer handler.Close()
			if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
				t.Fatal(err)
			}
			connect := func() *client.Client {
				c, err := client.New(server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := connect()
			if _, err := c.CreateSession(ctx, api.CreateSessionOptions{SessionID: "s"}); err != nil {
				t.Fatal(err)
			}
			var writers sync.WaitGroup
			start := make(chan struct{})
			for i := range 50 {
				own := connect()
				writers.Go(func() {
					<-start
					_, err := own.Send(ctx, api.SendOptions{SessionID: "s", Content: api.Text(fmt.Sprint("m", i)), Key: fmt.Sprint("k", i)})
					if err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			writers.Wait()
			if out, err := c.WaitRun(ctx, api.HeadOptions{SessionID: "s"}); err != nil || out != (api.Idle{}) {
				t.Fatalf("%#v %v", out, err)
			}
			checkAnswers(ctx, t, c, 50)
		})
	}
}

// checkAnswers sees that the branch is n times a message and its own answer, in the order of the lane's chain.
func checkAnswers(ctx context.Context, t *testing.T, c api.Service, n int) {
	t.Helper()
	snapshot, err := c.Snapshot(ctx, api.HeadOptions{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]bool)
	for _, item := range snapshot.Transcript {
		turn, ok := item.(api.Turn)
		if !ok || len(turn.Parts) != 2 {
			t.Fatalf("%+v is no message with its answer", item)
		}
		user, said := turn.Parts[0].(api.UserPart)
		answer, answered := turn.Parts[1].(api.AssistantPart)
		if !said || !answered || answer.Text != "re: "+message.PlainText(user.Content) {
			t.Errorf("%+v is answered by %+v", turn.Parts[0], turn.Parts[1])
		}
		keys[user.Key] = true
	}
	if len(snapshot.Transcript) != n || len(keys) != n || len(snapshot.Pending) != 0 {
		t.Errorf("%d turns of %d messages, %d pending, want %d, %d and none", len(snapshot.Transcript), len(keys), len(snapshot.Pending), n, n)
	}
	report, err := c.Fsck(ctx, api.SessionOptions{SessionID: "s"})
	if err != nil || len(report.Problems) != 0 {
		t.Errorf("fsck: %+v %v", report, err)
	}
}
