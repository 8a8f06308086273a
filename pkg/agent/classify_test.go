package agent

import (
	"math"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

func TestWordsDecideWhereAProviderGivesNoKind(t *testing.T) {
	for text, want := range map[string]llm.FailureKind{
		"429 You exceeded your current quota, please check your plan and billing details": llm.FailureQuota,
		"Usage limit reached for this month":                                              llm.FailureQuota,
		"429 Too Many Requests":                                                           llm.FailureRateLimit,
		"RESOURCE_EXHAUSTED":                                                              llm.FailureRateLimit,
		"ResourceExhausted: try later":                                                    llm.FailureRateLimit,
		"rate limit reached":                                                              llm.FailureRateLimit,
		"Overloaded":                                                                      llm.FailureOverloaded,
		"503 Service Unavailable":                                                         llm.FailureOverloaded,
		"HTTP 524":                                                                        llm.FailureTimeout,
		"request timed out":                                                               llm.FailureTimeout,
		"read: connection reset by peer":                                                  llm.FailureNetwork,
		"dial tcp: lookup api.example.com: no such host":                                  llm.FailureNetwork,
		"stream ended before the response was complete":                                   llm.FailureCut,
		"unexpected EOF":                                                                  llm.FailureCut,
		"websocket closed 1006":                                                           llm.FailureCut,
		"Internal server error":                                                           llm.FailureServer,
		"An error occurred. You can retry your request":                                   llm.FailureServer,
		"prompt is too long: 210000 tokens > 200000 maximum":                              llm.FailureContextOverflow,
		"invalid api key":                                                                 llm.FailureUnknown,
		"messages.5: tool_use ids were found without tool_result":                         llm.FailureUnknown,
		"": llm.FailureUnknown,
	} {
		if got := classify(message.Assistant{ErrorMessage: text}).kind; got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestAProvidersKindBeatsItsWords(t *testing.T) {
	m := llm.ErrorMessage(message.Assistant{}, llm.Failure{Kind: llm.FailureAuth}, "connection refused: 503")
	if v := classify(m); v.kind != llm.FailureAuth || v.retryable {
		t.Errorf("verdict %+v", v)
	}
}

func TestMinimumDelay(t *testing.T) {
	details := func(s string) message.Assistant {
		return message.Assistant{Diagnostics: []message.Diagnostic{{Code: "other", Details: jsontext.Value(s)}}}
	}
	for name, c := range map[string]struct {
		m    message.Assistant
		want time.Duration
	}{
		"after":          {details(`{"retryAfterMs":1500}`), 1500 * time.Millisecond},
		"delay":          {details(`{"retryDelayMs":2500}`), 2500 * time.Millisecond},
		"negative":       {details(`{"retryAfterMs":-1}`), 0},
		"huge":           {details(`{"retryAfterMs":1e300}`), time.Hour},
		"a word":         {details(`{"retryAfterMs":"soon"}`), 0},
		"no details":     {details(``), 0},
		"said":           {message.Assistant{ErrorMessage: "Server requested 34 s retry delay (max: 60s)"}, 34 * time.Second},
		"said nonsense":  {message.Assistant{ErrorMessage: "server requested NaN s retry delay"}, 0},
		"said too long":  {message.Assistant{ErrorMessage: "server requested 999999999s retry delay"}, time.Hour},
		"said otherwise": {message.Assistant{ErrorMessage: "retry later"}, 0},
	} {
		if got := minimumDelay(c.m); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDelayNeverOverflows(t *testing.T) {
	p := RetryPolicy{Base: time.Duration(math.MaxInt64), Max: math.MaxInt}.withDefaults()
	limit := object.Millis(MaxRetryDelay.Milliseconds())
	for _, n := range []int{1, 2, 64, math.MaxInt} {
		if got := p.delay(n, math.MaxInt64); got != limit {
			t.Errorf("retry %d waits %d ms, want %d", n, got, limit)
		}
		if got := (RetryPolicy{Base: time.Nanosecond}).delay(1, 0); got != 1 {
			t.Errorf("the least delay is %d ms, want 1", got)
		}
	}
}
