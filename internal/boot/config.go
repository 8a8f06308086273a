package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// The variables that configure a host. Those of OpenAI-compatible servers have their usual names.
const (
	EnvStore         = "STEPWELL_STORE"
	EnvSync          = "STEPWELL_SYNC"
	EnvLeaseTTL      = "STEPWELL_LEASE_TTL"
	EnvAddr          = "STEPWELL_ADDR"
	EnvToken         = "STEPWELL_TOKEN" //nolint:gosec // a name, not a secret
	EnvModel         = "STEPWELL_MODEL"
	EnvFetchAllow    = "STEPWELL_FETCH_ALLOW"
	EnvPace          = "STEPWELL_PACE"
	EnvLogLevel      = "STEPWELL_LOG_LEVEL"
	EnvLogFormat     = "STEPWELL_LOG_FORMAT"
	EnvOpenAIKey     = "OPENAI_API_KEY"
	EnvOpenAIBaseURL = "OPENAI_BASE_URL"
)

// DefaultAddr is where a server listens unless told otherwise.
const DefaultAddr = "127.0.0.1:7433"

// DefaultStore is the store's file unless told otherwise.
const DefaultStore = ".stepwell/stepwell.db"

// The bounds of a lease. A shorter one would be lost to a slow request, a longer one keeps people waiting.
const (
	minTTL = time.Second
	maxTTL = 10 * time.Minute
)

// A Config composes a host. [Load] makes one.
type Config struct {
	// Store is the path of the store's file, or the text of Cloud.
	Store string
	// Cloud is where the store is when it is not a file. Nil: a file.
	Cloud *cloud.Location
	// Sync is what a commit to a file survives.
	Sync sqlitestore.Synchronous
	// LeaseTTL is how long a vanished process of another machine holds its heads.
	LeaseTTL time.Duration
	// Addr is the host and port that a server listens on.
	Addr string
	// Token is what every request to a server must carry. Empty: none.
	Token string
	// Models are the models named by the configuration, the default one first. Empty: the scripted demonstration.
	Models []llm.Model
	// FetchAllow are the hosts that the tool fetch may ask. Empty: the tool is not offered.
	FetchAllow []string
	// Pace is the pause before each word of the scripted demonstration.
	Pace time.Duration
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// LogFormat is "text", "json", or "auto": text on a terminal.
	LogFormat string
	// OpenAIKey and OpenAIBaseURL describe an OpenAI-compatible server. The provider is offered when one of them is set.
	OpenAIKey, OpenAIBaseURL string
	// Settings say for each value where it comes from.
	Settings []Setting
}

// Load returns the configuration: flags, which are keyed by the variable that they overrule, then the environment, then
// defaults. An empty value counts as not set. The error names every variable that is malformed and what it may be.
func Load(flags map[string]string, env func(name string) string) (Config, error) {
	r := &reader{flags: flags, env: env}
	c := Config{
		Cloud:         read(r, EnvStore, DefaultStore, parseStore),
		Sync:          read(r, EnvSync, "full", parseSync),
		LeaseTTL:      read(r, EnvLeaseTTL, kernel.DefaultTTL.String(), parseTTL),
		Addr:          read(r, EnvAddr, DefaultAddr, parseAddr),
		Token:         read(r.secret(), EnvToken, "", parseToken),
		Models:        read(r, EnvModel, scripted.ProviderName+"/"+scripted.ModelID, parseModels),
		FetchAllow:    read(r, EnvFetchAllow, "", parseHosts),
		Pace:          read(r, EnvPace, "25ms", parsePace),
		LogLevel:      read(r, EnvLogLevel, "warn", parseLevel),
		LogFormat:     read(r, EnvLogFormat, "auto", parseFormat),
		OpenAIKey:     read(r.secret(), EnvOpenAIKey, "", parseToken),
		OpenAIBaseURL: r.text(EnvOpenAIBaseURL, ""),
	}
	c.Settings = r.settings
	c.Store = r.settings[0].Value
	return c, errors.Join(r.errs...)
}

// Named reports whether the setting was given rather than left to its default.
func (c Config) Named(name string) bool {
	for _, s := range c.Settings {
		if s.Name == name {
			return s.Origin != FromDefault
		}
	}
	return false
}

// CheckExposed reports why a server must not listen on c.Addr: what leaves the machine needs a token.
func (c Config) CheckExposed() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("%s: %w", EnvAddr, err)
	}
	if c.Token != "" || Loopback(host) {
		return nil
	}
	return fmt.Errorf("%s %q can be reached from other machines and no token is set: set %s to a long random text, "+
		"for example from `openssl rand -hex 32`, or listen on 127.0.0.1", EnvAddr, c.Addr, EnvToken)
}

// Loopback reports whether host is this machine and reachable from nowhere else.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parseStore returns where in the cloud the store is, or nil when s is the path of a file.
func parseStore(s string) (*cloud.Location, error) {
	scheme, _, ok := strings.Cut(s, "://")
	if !ok {
		return nil, nil //nolint:nilnil // any other text is a path
	}
	if !cloud.IsLocation(s) {
		return nil, fmt.Errorf("has the scheme %q; want the path of a file, or %sTABLE?bucket=BUCKET&tenant=TENANT", scheme, cloud.Scheme)
	}
	at, err := cloud.ParseLocation(s)
	if err != nil {
		return nil, fmt.Errorf("is %q, which %w", s, err)
	}
	return &at, nil
}

func parseTTL(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < minTTL || d > maxTTL {
		return 0, fmt.Errorf("is %q; want a duration from %v to %v, such as %v", s, minTTL, maxTTL, kernel.DefaultTTL)
	}
	return d, nil
}

func parseSync(s string) (sqlitestore.Synchronous, error) {
	switch s {
	case "full":
		return sqlitestore.Full, nil
	case "normal":
		return sqlitestore.Normal, nil
	}
	return 0, fmt.Errorf("is %q; want full (a commit survives the machine) or normal (it survives the process)", s)
}

func parseAddr(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("is %q; want host:port, such as %s, or port 0 for any free one", s, DefaultAddr)
	}
	return s, nil
}

func parseToken(s string) (string, error) {
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

func parseLevel(s string) (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s)); err != nil {
		return 0, fmt.Errorf("is %q; want debug, info, warn or error", s)
	}
	return level, nil
}

func parseFormat(s string) (string, error) {
	switch s {
	case "auto", "text", "json":
		return s, nil
	}
	return "", fmt.Errorf("is %q; want auto, text or json", s)
}
