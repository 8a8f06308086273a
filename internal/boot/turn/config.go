// Package turn makes the models and tools that a configuration names.
package turn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/setting"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
)

// The variables that configure a turn. Those of OpenAI-compatible servers have their usual names.
const (
	EnvModel         = "STEPWELL_MODEL"
	EnvFetchAllow    = "STEPWELL_FETCH_ALLOW"
	EnvPace          = "STEPWELL_PACE"
	EnvOpenAIKey     = "OPENAI_API_KEY"
	EnvOpenAIBaseURL = "OPENAI_BASE_URL"
)

// A Config says which models and tools there are.
type Config struct {
	// Models are the models named by the configuration, the default one first. Empty: the scripted demonstration.
	Models []llm.Model
	// FetchAllow are the hosts that the tool fetch may ask. Empty: the tool is not offered.
	FetchAllow []string
	// Pace is the pause before each word of the scripted demonstration.
	Pace time.Duration
	// OpenAIKey and OpenAIBaseURL describe an OpenAI-compatible server. The provider is offered when one of them is set.
	OpenAIKey, OpenAIBaseURL string
}

// Read reads a configuration. The reader remembers what is malformed.
func Read(r *setting.Reader) Config {
	return Config{
		Models:        setting.Read(r, EnvModel, scripted.ProviderName+"/"+scripted.ModelID, parseModels),
		FetchAllow:    setting.Read(r, EnvFetchAllow, "", parseHosts),
		Pace:          setting.Read(r, EnvPace, "25ms", parsePace),
		OpenAIKey:     setting.Read(r.Secret(), EnvOpenAIKey, "", ParseToken),
		OpenAIBaseURL: r.Text(EnvOpenAIBaseURL, ""),
	}
}

// ParseToken refuses what no header can carry.
func ParseToken(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("has a space or another character that no header can carry")
	}
	return s, nil
}

func parseModels(s string) ([]llm.Model, error) {
	var models []llm.Model
	for name := range strings.SplitSeq(s, ",") {
		provider, id, ok := strings.Cut(strings.TrimSpace(name), "/")
		if !ok || provider == "" || id == "" {
			return nil, fmt.Errorf("is %q; want provider/model, such as %s/%s or openai/gpt-4.1-mini, or several with commas, "+
				"the default one first", s, scripted.ProviderName, scripted.ModelID)
		}
		models = append(models, llm.Model{Provider: provider, ID: id})
	}
	return models, nil
}

func parseHosts(s string) ([]string, error) {
	var hosts []string
	for host := range strings.SplitSeq(s, ",") {
		if host = strings.TrimSpace(host); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

func parsePace(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > time.Minute {
		return 0, fmt.Errorf("is %q; want a duration from 0s to 1m, such as 25ms", s)
	}
	return d, nil
}
