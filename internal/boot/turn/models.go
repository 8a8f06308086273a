package turn

import (
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/openai"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
)

// offeredModel is what an OpenAI-compatible server is asked for when its key is there and no model is named.
const offeredModel = "gpt-4.1-mini"

// Catalog returns the models and the one that answers by default. It contacts nobody.
func (c Config) Catalog(now func() time.Time) (*llm.Catalog, llm.Model, error) {
	providers := []llm.Provider{scripted.New(scripted.Options{Pace: c.Pace, Now: now})}
	var wanted []llm.ModelInfo
	for _, m := range c.Models {
		switch m.Provider {
		case scripted.ProviderName:
		case openai.ProviderName:
			wanted = append(wanted, llm.ModelInfo{Model: llm.Model{ID: m.ID}, Name: m.ID})
		default:
			return nil, llm.Model{}, fmt.Errorf("%s names the provider %q; want %s or %s", EnvModel, m.Provider,
				scripted.ProviderName, openai.ProviderName)
		}
	}
	configured := c.OpenAIKey != "" || c.OpenAIBaseURL != ""
	if len(wanted) > 0 && !configured {
		return nil, llm.Model{}, fmt.Errorf("%s names a model of %s: set %s, or %s for a server that needs no key",
			EnvModel, openai.ProviderName, EnvOpenAIKey, EnvOpenAIBaseURL)
	}
	if configured {
		if len(wanted) == 0 {
			wanted = []llm.ModelInfo{{Model: llm.Model{ID: offeredModel}, Name: offeredModel}}
		}
		client, err := openai.New(openai.Options{BaseURL: c.OpenAIBaseURL, APIKey: c.OpenAIKey, Models: wanted, Now: now})
		if err != nil {
			return nil, llm.Model{}, fmt.Errorf("%s, %s: %w", EnvOpenAIKey, EnvOpenAIBaseURL, err)
		}
		providers = append(providers, client)
	}
	catalog := llm.NewCatalog(providers...)
	fallback := llm.Model{Provider: scripted.ProviderName, ID: scripted.ModelID}
	if len(c.Models) > 0 {
		fallback = c.Models[0]
	}
	if _, _, ok := catalog.Lookup(fallback); !ok {
		return nil, llm.Model{}, fmt.Errorf("%s names %s/%s, which nobody serves; the scripted model is %s/%s", EnvModel,
			fallback.Provider, fallback.ID, scripted.ProviderName, scripted.ModelID)
	}
	return catalog, fallback, nil
}
