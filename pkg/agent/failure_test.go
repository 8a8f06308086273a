package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestResolve(t *testing.T) {
	a := scripted.Play().As(llm.ModelInfo{Model: llm.Model{Provider: "a", ID: "1"}}, llm.ModelInfo{Model: llm.Model{Provider: "a", ID: "2"}})
	b := scripted.Play().As(llm.ModelInfo{Model: llm.Model{Provider: "b", ID: "3"}})
	models := llm.NewCatalog(a, b)
	for name, c := range map[string]struct {
		opts     agent.Options
		in, want object.Config
	}{
		"nothing: the first model":    {agent.Options{Models: models}, object.Config{}, object.Config{Model: &object.Model{Provider: "a", ID: "1"}}},
		"nothing: the default model":  {agent.Options{Models: models, DefaultModel: llm.Model{ID: "3"}}, object.Config{}, object.Config{Model: &object.Model{Provider: "b", ID: "3"}}},
		"a known model stays":         {agent.Options{Models: models, DefaultModel: llm.Model{ID: "3"}}, object.Config{Model: &object.Model{ID: "2"}}, object.Config{Model: &object.Model{Provider: "a", ID: "2"}}},
		"an unknown model falls back": {agent.Options{Models: models}, object.Config{Model: &object.Model{Provider: "x", ID: "9"}}, object.Config{Model: &object.Model{Provider: "a", ID: "1"}}},
		"no models":                   {agent.Options{}, object.Config{Agent: "x"}, object.Config{Agent: "x"}},
		"thinking":                    {agent.Options{DefaultThinking: "high"}, object.Config{}, object.Config{ThinkingLevel: "high"}},
		"thinking stays":              {agent.Options{DefaultThinking: "high"}, object.Config{ThinkingLevel: "low"}, object.Config{ThinkingLevel: "low"}},
	} {
		turn := agent.New(c.opts)
		got := turn.Resolve(c.in)
		if !got.Equal(c.want) || !turn.Resolve(got).Equal(got) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestNoModelIsAVisibleFailure(t *testing.T) {
	for name, c := range map[string]struct {
		opts agent.Options
		want string
	}{
		"none":    {agent.Options{}, "no model is chosen"},
		"unknown": {agent.Options{Models: llm.NewCatalog(scripted.Play()), DefaultModel: llm.Model{ID: "gone"}}, "not known to this host"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scripted.Play())
			w.use(c.opts)
			if name == "unknown" {
				body := object.ConfigBody{Model: &object.Model{Provider: "p", ID: "lost"}}
				if _, err := w.Submit(t.Context(), kernel.SubmitOptions{Head: "main", Lane: "steer", Body: body}); err != nil {
					t.Fatal(err)
				}
			}
			w.send("steer", "hi")
			w.steps()
			failed := w.wantPhase("failed").Phase.(object.Failed)
			if !strings.Contains(failed.Error, c.want) || failed.Class != object.FailedProvider {
				t.Errorf("failed with %+v", failed)
			}
		})
	}
}

func TestAFullContextSaysSo(t *testing.T) {
	w := newWorld(t, scripted.Play(scripted.Err(llm.Failure{Kind: llm.FailureContextOverflow})))
	w.send("steer", "hi")
	w.steps()
	if failed := w.wantPhase("failed").Phase.(object.Failed); !strings.Contains(failed.Error, "no longer fits") {
		t.Errorf("failed with %+v", failed)
	}
}

// A panicking provider streams and panics.
type panicking struct{}

func (panicking) Name() string { return "p" }

func (panicking) Models() []llm.ModelInfo { return []llm.ModelInfo{{Model: llm.Model{ID: "m"}}} }

func (panicking) Stream(_ context.Context, _ llm.Request, emit func(llm.Delta) error) message.Assistant {
	_ = emit(llm.TextDelta{Text: "well"})
	panic("connection timeout")
}

func TestAProvidersPanicFailsTheRun(t *testing.T) {
	w := newWorld(t, scripted.Play())
	w.use(agent.Options{Models: llm.NewCatalog(panicking{})})
	w.send("steer", "hi")
	w.steps()
	failed := w.wantPhase("failed").Phase.(object.Failed)
	if failed.Error != "the provider panicked: connection timeout" || failed.Class != object.FailedProvider {
		t.Errorf("failed with %+v", failed)
	}
	if a := w.lastAnswer(); len(a.Content) != 1 || a.Content[0] != (message.Text{Text: "well"}) || a.Provider != "p" {
		t.Errorf("answer %+v", a)
	}
}

// A severed provider calls what happens at its cancellation an error of the network.
type severed struct{ streaming chan struct{} }

func (severed) Name() string { return "p" }

func (severed) Models() []llm.ModelInfo { return []llm.ModelInfo{{Model: llm.Model{ID: "m"}}} }

func (p severed) Stream(ctx context.Context, _ llm.Request, _ func(llm.Delta) error) message.Assistant {
	close(p.streaming)
	<-ctx.Done()
	partial := message.Assistant{Content: []message.Part{message.Text{Text: "so far"}}}
	return llm.ErrorMessage(partial, llm.Failure{Kind: llm.FailureNetwork}, "connection closed")
}

func TestAnErrorAfterAnAbortIsTheAbort(t *testing.T) {
	w := newWorld(t, scripted.Play())
	p := severed{make(chan struct{})}
	w.use(agent.Options{Models: llm.NewCatalog(p)})
	w.send("steer", "hi")
	w.until("respond")
	done := w.background(t.Context())
	<-p.streaming
	w.abort()
	<-done
	w.steps()
	w.wantPhase("aborted")
	if a := w.lastAnswer(); a.StopReason != message.StopAborted || a.ErrorMessage != "" || a.Content[0] != (message.Text{Text: "so far"}) {
		t.Errorf("answer %+v", a)
	}
}
