package openai_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/openai"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	models := []llm.ModelInfo{{Model: llm.Model{ID: "m"}}}
	for want, opts := range map[string]openai.Options{
		`base URL "localhost:1"`:       {BaseURL: "localhost:1", Models: models},
		`base URL "ftp://x"`:           {BaseURL: "ftp://x", Models: models},
		`must have no query`:           {BaseURL: "http://x/v1?a=b", Models: models},
		"the API key has a space":      {APIKey: "sk x", Models: models},
		"stall timeout -1s":            {StallTimeout: -time.Second, Models: models},
		"models is empty":              {},
		"models[1].id is empty":        {Models: append(models, llm.ModelInfo{})},
		`the API key has a space or a`: {APIKey: "sk\n", Models: models},
	} {
		if _, err := openai.New(opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	c, err := openai.New(openai.Options{Name: "local", Models: []llm.ModelInfo{
		{Model: llm.Model{Provider: "x", ID: "a"}, ContextWindow: 10}, {Model: llm.Model{ID: "b"}, Name: "B"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.ModelInfo{
		{Model: llm.Model{Provider: "local", ID: "a"}, API: openai.API, Name: "a", ContextWindow: 10},
		{Model: llm.Model{Provider: "local", ID: "b"}, API: openai.API, Name: "B"},
	}
	if diff := cmp.Diff(want, c.Models()); diff != "" || c.Name() != "local" {
		t.Errorf("Models (-want +got):\n%s", diff)
	}
}

// OpenAI's own server and its copies want the output limit under different names; a key is sent only when there is one.
func TestServerDifferences(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"": `"max_completion_tokens":7`, "http://localhost:8080/v1": `"max_tokens":7`} {
		var body strings.Builder
		var header http.Header
		var address string
		c, err := openai.New(openai.Options{
			BaseURL: base, Models: []llm.ModelInfo{{Model: llm.Model{ID: "m"}}},
			HTTPClient: &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
				header, address = r.Header, r.URL.String()
				if err := r.Write(&body); err != nil {
					return nil, err
				}
				return streaming(strings.NewReader("data: [DONE]\n\n"))(r)
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		req := hello()
		req.MaxOutput, req.ThinkingLevel = 7, "unlisted"
		c.Stream(t.Context(), req, nil)
		if !strings.Contains(body.String(), want) || strings.Contains(body.String(), "reasoning_effort") {
			t.Errorf("%q: body %s", base, body.String())
		}
		if _, has := header["Authorization"]; has {
			t.Errorf("%q: a key is sent though there is none", base)
		}
		if wantURL := map[bool]string{true: openai.DefaultBaseURL, false: base}[base == ""] + "/chat/completions"; address != wantURL {
			t.Errorf("%q: address %s", base, address)
		}
	}
}
