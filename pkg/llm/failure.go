package llm

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// DiagnosticCode is the code of the [message.Diagnostic] whose details are a [Failure].
const DiagnosticCode = "provider_error"

// maxErrorText is how many bytes of a provider's error text a message keeps.
const maxErrorText = 2000

// A FailureKind says what went wrong with a response.
type FailureKind string

// The kinds of failure.
const (
	FailureOverloaded      FailureKind = "overloaded"       // the provider has no capacity now
	FailureRateLimit       FailureKind = "rate_limit"       // too many requests or tokens in a period
	FailureQuota           FailureKind = "quota"            // the account has no money or allowance left
	FailureAuth            FailureKind = "auth"             // the credentials are missing, wrong or not enough
	FailureInvalidRequest  FailureKind = "invalid_request"  // the provider refuses the request as it is
	FailureContextOverflow FailureKind = "context_overflow" // the request is longer than the model's window
	FailureServer          FailureKind = "server"           // the provider broke
	FailureNetwork         FailureKind = "network"          // the provider was not reached
	FailureTimeout         FailureKind = "timeout"          // the provider or a gateway gave up waiting
	FailureStalled         FailureKind = "stalled"          // the open stream went silent for too long
	FailureCut             FailureKind = "cut"              // the stream ended before the response did
	FailureRefusal         FailureKind = "refusal"          // the model or a content filter declined
	FailureMalformed       FailureKind = "malformed"        // the response cannot be understood
	FailureUnknown         FailureKind = "unknown"
)

// Retryable reports whether the same request may succeed later.
func (k FailureKind) Retryable() bool {
	switch k {
	case FailureOverloaded, FailureRateLimit, FailureServer, FailureNetwork, FailureTimeout, FailureStalled, FailureCut,
		FailureMalformed:
		return true
	case FailureQuota, FailureAuth, FailureInvalidRequest, FailureContextOverflow, FailureRefusal, FailureUnknown:
		return false
	}
	return false
}

// A Failure is why a response ended with [message.StopError], for machines.
type Failure struct {
	Kind         FailureKind `json:"kind"`
	Status       int         `json:"status,omitzero"`       // the HTTP status, when there was one
	RetryAfterMs int64       `json:"retryAfterMs,omitzero"` // the least delay before a retry the provider asks for
}

// FailureOf returns the failure that a carries, and whether it carries one.
func FailureOf(a message.Assistant) (Failure, bool) {
	for _, d := range a.Diagnostics {
		if d.Code != DiagnosticCode {
			continue
		}
		var f Failure
		if err := json.Unmarshal(d.Details, &f); err == nil && f.Kind != "" {
			return f, true
		}
	}
	return Failure{}, false
}

// ErrorMessage returns partial as the complete message of a failed response: it keeps the text and thinking that were
// produced, drops every tool call, because none of them may run, and carries f and text, which is for people.
func ErrorMessage(partial message.Assistant, f Failure, text string) message.Assistant {
	text = clip(message.CleanText(text))
	if text == "" {
		text = "the provider failed: " + string(f.Kind)
	}
	details, err := json.Marshal(f, json.Deterministic(true))
	if err != nil {
		panic(err) // strings that are constants and two integers always encode
	}
	partial.Content = withoutCalls(partial.Content)
	partial.StopReason = message.StopError
	partial.ErrorMessage = text
	partial.Diagnostics = append(append([]message.Diagnostic(nil), partial.Diagnostics...),
		message.Diagnostic{Code: DiagnosticCode, Message: text, Details: details})
	return partial
}

// AbortedMessage returns partial as the complete message of a response that was stopped from our side: like
// [ErrorMessage] it keeps text and thinking and drops every tool call.
func AbortedMessage(partial message.Assistant) message.Assistant {
	partial.Content = withoutCalls(partial.Content)
	partial.StopReason = message.StopAborted
	return partial
}

func withoutCalls(parts []message.Part) []message.Part {
	kept := make([]message.Part, 0, len(parts))
	for _, p := range parts {
		if _, isCall := p.(message.ToolCall); !isCall {
			kept = append(kept, p)
		}
	}
	return kept
}

func clip(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxErrorText {
		return s
	}
	end := maxErrorText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
