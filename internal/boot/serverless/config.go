// Package serverless wires the functions of a deployment: stores of many tenants, the service over them, and what wakes heads.
package serverless

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/setting"
	"github.com/stepwell-dev/stepwell/internal/boot/turn"
	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/kernel"
)

// The variables that configure functions, besides those of package turn.
const (
	EnvStore          = "STEPWELL_STORE"
	EnvTenantClaim    = "STEPWELL_TENANT_CLAIM"
	EnvStepsQueue     = "STEPWELL_STEPS_QUEUE"
	EnvAlarmsQueue    = "STEPWELL_ALARMS_QUEUE"
	EnvScheduleGroup  = "STEPWELL_SCHEDULE_GROUP"
	EnvScheduleRole   = "STEPWELL_SCHEDULE_ROLE"
	EnvScheduleTarget = "STEPWELL_SCHEDULE_TARGET"
	EnvEventBus       = "STEPWELL_EVENT_BUS"
	EnvIssuer         = "STEPWELL_JWT_ISSUER"
	EnvAudience       = "STEPWELL_JWT_AUDIENCE"
	EnvLeaseTTL       = "STEPWELL_LEASE_TTL"
	EnvSteps          = "STEPWELL_STEPS_PER_INVOCATION"
	EnvWakeOff        = "STEPWELL_WAKE_OFF"
	EnvLogLevel       = "STEPWELL_LOG_LEVEL"
	EnvKeyParameter   = "STEPWELL_OPENAI_KEY_PARAMETER"
)

// maxSteps bounds StepsPerInvocation: no invocation lasts longer.
const maxSteps = 1000

// A Config is what a function reads from its environment. Each function needs some of it; see the functions.
type Config struct {
	Store       cloud.Location
	TenantClaim string // of the token; empty: there is one tenant
	StepsQueue  string // URL
	AlarmsQueue string // URL
	Schedules   struct{ Group, Role, Target string }
	EventBus    string // name
	Issuer      string
	Audiences   []string
	LeaseTTL    time.Duration
	Steps       int
	Off         wake.Paths
	LogLevel    slog.Level
	// KeyParameter is the SSM parameter that has the key of the OpenAI-compatible server, instead of the environment.
	KeyParameter string
	Turn         turn.Config
}

// Load reads the environment once. The error names every variable that is missing of the required ones, or malformed, and what it may be.
func Load(required ...string) (Config, error) {
	r := &setting.Reader{Env: os.Getenv}
	must := func(name string) string {
		for _, n := range required {
			if n == name {
				return setting.Read(r, name, "", present)
			}
		}
		return r.Text(name, "")
	}
	c := Config{
		Store:       setting.Read(r, EnvStore, "", cloud.ParseLocation),
		TenantClaim: r.Text(EnvTenantClaim, ""),
		StepsQueue:  must(EnvStepsQueue),
		AlarmsQueue: must(EnvAlarmsQueue),
		EventBus:    must(EnvEventBus),
		Issuer:      must(EnvIssuer),
		Audiences:   strings.FieldsFunc(must(EnvAudience), func(r rune) bool { return r == ',' || r == ' ' }),
		LeaseTTL:    setting.Read(r, EnvLeaseTTL, kernel.DefaultTTL.String(), setting.ParseTTL),
		Steps:       setting.Read(r, EnvSteps, "1", parseSteps),
		Off:         setting.Read(r, EnvWakeOff, "", wake.ParsePaths),
		LogLevel:    setting.Read(r, EnvLogLevel, "info", setting.ParseLevel),

		KeyParameter: r.Text(EnvKeyParameter, ""),
		Turn:         turn.Read(r),
	}
	c.Schedules.Group, c.Schedules.Role, c.Schedules.Target = must(EnvScheduleGroup), must(EnvScheduleRole), must(EnvScheduleTarget)
	return c, r.Err()
}

func present(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("is not set")
	}
	return s, nil
}

func parseSteps(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxSteps {
		return 0, fmt.Errorf("is %q; want a number from 1 to %d", s, maxSteps)
	}
	return n, nil
}
