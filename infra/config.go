package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Config is what a deployment chooses. Each field is a key of the CDK's context (cdk deploy -c key=value).
type Config struct {
	Stage         string   // stage: names the stacks, and the table and bucket if it is given. "dev" and "dev-*" can be destroyed with all they keep.
	Named         bool     // whether stage was given
	RetentionDays int      // retentionDays: how long logs are kept
	JWTIssuer     string   // jwtIssuer, required: who signs tokens, as in their "iss"
	JWTAudience   []string // jwtAudience, required: a comma list of which a token's "aud" has one
	TenantClaim   string   // tenantClaim: the claim that names the tenant

	Model              string // model: as STEPWELL_MODEL
	OpenAIKeyParameter string // openaiKeyParameter: the name of an SSM parameter of type SecureString
	OpenAIKey          string // openaiApiKey: the key itself, readable in the template: for tests
	OpenAIBaseURL      string // openaiBaseUrl
	FetchAllow         string // fetchAllow: as STEPWELL_FETCH_ALLOW

	Arch               string // arch: arm64 or amd64, as the functions were built
	Dist               string // dist: where NAME.zip, or the directory NAME with bootstrap in it, is for each function
	LeaseTTL           string // leaseTtl
	StepsPerInvocation string // stepsPerInvocation
	StepSeconds        int    // stepSeconds: how long one invocation of step may take
	Pace               string // pace
	WakeOff            string // wakeOff: a comma list of wake paths that are off, for tests
	LogLevel           string // logLevel

	Domain         string // domain: the API's own name; needs certificateArn
	CertificateARN string // certificateArn
	AlarmTopicARN  string // alarmTopicArn: the SNS topic that alarms tell
	EndpointURL    string // endpointUrl: where an emulator's functions find AWS
}

// A step needs some seconds besides those of a call that is cut, and Lambda ends what takes longer than 15 minutes.
const (
	minStepSeconds = 15
	maxStepSeconds = 900
)

// Destroyable reports whether the stage may be destroyed with all it keeps.
func (c Config) Destroyable() bool { return c.Stage == "dev" || strings.HasPrefix(c.Stage, "dev-") }

// wakePaths are what wakeOff can name.
var wakePaths = []string{"queue", "stream", "schedule", "watchdog", "sweep"}

// ReadConfig reads and checks the context. The error names everything that is wrong with it.
func ReadConfig(context func(key string) any) (Config, error) {
	var problems []error
	text := func(key, otherwise string) string {
		switch v := context(key).(type) {
		case nil:
		case string:
			if v != "" {
				return v
			}
		case float64, bool:
			return fmt.Sprint(v)
		default:
			problems = append(problems, fmt.Errorf("context %s is no text", key))
		}
		return otherwise
	}
	required := func(key, what string) string {
		v := text(key, "")
		if v == "" {
			problems = append(problems, fmt.Errorf("context %s is missing: %s (-c %s=...)", key, what, key))
		}
		return v
	}
	c := Config{
		Stage: text("stage", "dev"), Named: text("stage", "") != "",
		JWTIssuer:   required("jwtIssuer", "the issuer of the tokens, as in their claim iss"),
		JWTAudience: list(required("jwtAudience", "the audience of the tokens, as in their claim aud")),
		TenantClaim: text("tenantClaim", "tenant"),
		Model:       text("model", ""), OpenAIKeyParameter: text("openaiKeyParameter", ""), OpenAIKey: text("openaiApiKey", ""),
		OpenAIBaseURL: text("openaiBaseUrl", ""), FetchAllow: text("fetchAllow", ""),
		Arch: text("arch", "arm64"), Dist: text("dist", "../dist"),
		LeaseTTL: text("leaseTtl", ""), StepsPerInvocation: text("stepsPerInvocation", ""), Pace: text("pace", ""),
		WakeOff: text("wakeOff", ""), LogLevel: text("logLevel", "info"),
		Domain: text("domain", ""), CertificateARN: text("certificateArn", ""), AlarmTopicARN: text("alarmTopicArn", ""),
		EndpointURL: text("endpointUrl", ""),
	}
	days := text("retentionDays", "30")
	var err error
	if c.RetentionDays, err = strconv.Atoi(days); err != nil || retentions[c.RetentionDays] == "" {
		problems = append(problems, fmt.Errorf("context retentionDays is %q: want one of %v", days, slices.Sorted(maps.Keys(retentions))))
	}
	seconds := text("stepSeconds", "300")
	if c.StepSeconds, err = strconv.Atoi(seconds); err != nil || c.StepSeconds < minStepSeconds || c.StepSeconds > maxStepSeconds {
		problems = append(problems, fmt.Errorf("context stepSeconds is %q: want %d to %d", seconds, minStepSeconds, maxStepSeconds))
	}
	return c, errors.Join(append(problems, c.problems()...)...)
}

// problems returns what is wrong with values that are there.
func (c Config) problems() []error {
	var out []error
	wrong := func(format string, args ...any) { out = append(out, fmt.Errorf("context "+format, args...)) }
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`).MatchString(c.Stage) {
		wrong("stage is %q: want at most 20 small letters, digits and hyphens", c.Stage)
	}
	if c.JWTIssuer != "" && !trusted(c.JWTIssuer) {
		wrong("jwtIssuer is %q: want an https URL", c.JWTIssuer)
	}
	if c.Arch != "arm64" && c.Arch != "amd64" {
		wrong("arch is %q: want arm64 or amd64", c.Arch)
	}
	if c.OpenAIKey != "" && c.OpenAIKeyParameter != "" {
		wrong("openaiApiKey and openaiKeyParameter are both there: give one")
	}
	if (c.Domain == "") != (c.CertificateARN == "") {
		wrong("domain and certificateArn need each other")
	}
	for _, path := range list(c.WakeOff) {
		if !slices.Contains(wakePaths, path) {
			wrong("wakeOff names %q: want some of %s", path, strings.Join(wakePaths, ","))
		}
	}
	return out
}

// trusted reports whether tokens of an issuer can be: its keys come over https, or from this machine in a test.
func trusted(issuer string) bool {
	u, err := url.Parse(issuer)
	if err != nil || u.Hostname() == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// list takes a comma list apart.
func list(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
