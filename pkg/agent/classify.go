package agent

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A verdict is what a failed response means.
type verdict struct {
	kind      llm.FailureKind
	retryable bool
	minimum   time.Duration // the least delay the provider asks for
}

// classify reads the failure a message carries. A provider that says what kind of failure it is is believed; the words decide only
// where there is no kind.
func classify(m message.Assistant) verdict {
	f, ok := llm.FailureOf(m)
	if ok && f.Kind != llm.FailureUnknown {
		return verdict{f.Kind, f.Kind.Retryable(), minimumDelay(m)}
	}
	kind := ofText(m.ErrorMessage)
	return verdict{kind, kind.Retryable(), minimumDelay(m)}
}

// ofText decides the kind of failure from its words. What a retry cannot mend comes first: an empty balance is also told as a rate
// limit.
func ofText(text string) llm.FailureKind {
	text = strings.ToLower(text)
	for _, c := range []struct {
		kind  llm.FailureKind
		words string
	}{
		{llm.FailureQuota, `quota|billing|usage limit|usage_limit|insufficient (balance|credit)|out of credits|credit balance`},
		{llm.FailureContextOverflow, `context[ _](length|window)|prompt is too long|input is too long|maximum prompt length`},
		{llm.FailureOverloaded, `overloaded|at capacity|service.?unavailable|\b(503|529)\b`},
		{llm.FailureRateLimit, `rate.?limit|too many requests|resource.?exhausted|\b429\b`},
		{llm.FailureTimeout, `timed? ?out|deadline exceeded|\b(504|524)\b`},
		{llm.FailureCut, `unexpected eof|premature|stream ended|ended (before|without)|websocket.*clos|incomplete chunked`},
		{llm.FailureNetwork, `network|connection|socket|\bdns\b|no such host|econn|epipe|fetch failed|other side closed`},
		{llm.FailureServer, `server.?error|internal.?error|bad gateway|retry your request|\b5\d\d\b`},
	} {
		if regexp.MustCompile(c.words).MatchString(text) {
			return c.kind
		}
	}
	return llm.FailureUnknown
}

// minimumDelay returns the least delay before a retry that the provider asks for, in a diagnostic or in words; nonsense is none.
func minimumDelay(m message.Assistant) time.Duration {
	least := 0.0
	for _, d := range m.Diagnostics {
		var asked struct {
			After float64 `json:"retryAfterMs"`
			Delay float64 `json:"retryDelayMs"`
		}
		if err := json.Unmarshal(d.Details, &asked); err == nil {
			least = max(least, asked.After, asked.Delay)
		}
	}
	said := regexp.MustCompile(`(?i)server requested (?:a )?(\d{1,9}(?:\.\d{1,3})?) ?s(?:econds?)? retry delay`)
	if found := said.FindStringSubmatch(m.ErrorMessage); found != nil {
		if seconds, err := strconv.ParseFloat(found[1], 64); err == nil {
			least = max(least, 1000*seconds)
		}
	}
	return time.Duration(min(least, float64(MaxRetryDelay.Milliseconds()))) * time.Millisecond
}
