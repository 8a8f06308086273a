package boot

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/setting"
	"github.com/stepwell-dev/stepwell/internal/boot/turn"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// The variables that configure a host. Those of OpenAI-compatible servers have their usual names.
const (
	EnvStore         = "STEPWELL_STORE"
	EnvSync          = "STEPWELL_SYNC"
	EnvLeaseTTL      = "STEPWELL_LEASE_TTL"
	EnvAddr          = "STEPWELL_ADDR"
	EnvToken         = "STEPWELL_TOKEN" //nolint:gosec // a name, not a secret
	EnvModel         = turn.EnvModel
	EnvFetchAllow    = turn.EnvFetchAllow
	EnvPace          = turn.EnvPace
	EnvLogLevel      = "STEPWELL_LOG_LEVEL"
	EnvLogFormat     = "STEPWELL_LOG_FORMAT"
	EnvOpenAIKey     = turn.EnvOpenAIKey
	EnvOpenAIBaseURL = turn.EnvOpenAIBaseURL
)

// DefaultAddr is where a server listens unless told otherwise.
const DefaultAddr = "127.0.0.1:7433"

// DefaultStore is the store's file unless told otherwise.
const DefaultStore = ".stepwell/stepwell.db"

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
	// Config is the models and tools.
	turn.Config
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// LogFormat is "text", "json", or "auto": text on a terminal.
	LogFormat string
	// Settings say for each value where it comes from.
	Settings []Setting
}

// Load returns the configuration: flags, which are keyed by the variable that they overrule, then the environment, then
// defaults. An empty value counts as not set. The error names every variable that is malformed and what it may be.
func Load(flags map[string]string, env func(name string) string) (Config, error) {
	r := &setting.Reader{Flags: flags, Env: env}
	c := Config{
		Cloud:     setting.Read(r, EnvStore, DefaultStore, parseStore),
		Sync:      setting.Read(r, EnvSync, "full", parseSync),
		LeaseTTL:  setting.Read(r, EnvLeaseTTL, kernel.DefaultTTL.String(), setting.ParseTTL),
		Addr:      setting.Read(r, EnvAddr, DefaultAddr, parseAddr),
		Token:     setting.Read(r.Secret(), EnvToken, "", turn.ParseToken),
		Config:    turn.Read(r),
		LogLevel:  setting.Read(r, EnvLogLevel, "warn", setting.ParseLevel),
		LogFormat: setting.Read(r, EnvLogFormat, "auto", parseFormat),
	}
	c.Settings = r.Settings
	c.Store = r.Settings[0].Value
	return c, r.Err()
}

// Named reports whether the setting was given rather than left to its default.
func (c Config) Named(name string) bool {
	for _, s := range c.Settings {
		if s.Name == name {
			return s.Origin != setting.FromDefault
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

func parseFormat(s string) (string, error) {
	switch s {
	case "auto", "text", "json":
		return s, nil
	}
	return "", fmt.Errorf("is %q; want auto, text or json", s)
}
