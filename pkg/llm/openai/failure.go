package openai

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/llm"
)

// A serverError is what a server says went wrong, in a body or in the middle of a stream.
type serverError struct {
	found               bool
	message, kind, code string
}

// parseError reads the shapes servers use: {"error":{…}}, {"error":"text"}, {"message":"text"}, {"detail":"text"}, the
// error object itself, and any of them in an array.
func parseError(data []byte) serverError {
	v := jsontext.Value(strings.TrimSpace(string(data)))
	if v.Kind() == '[' {
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list, lenient()); err != nil || len(list) == 0 {
			return serverError{}
		}
		v = list[0]
	}
	if v.Kind() == '"' {
		return serverError{found: true, message: plain(v)}
	}
	var object map[string]jsontext.Value
	if err := json.Unmarshal(v, &object, lenient()); err != nil {
		return serverError{}
	}
	if inner := object["error"]; inner.Kind() == '"' || inner.Kind() == '{' {
		e := parseError(inner)
		e.found = true
		if e.message == "" {
			e.message = plain(object["message"])
		}
		return e
	}
	e := serverError{message: plain(object["message"]), kind: plain(object["type"]), code: plain(object["code"])}
	if e.message == "" {
		e.message = plain(object["detail"])
	}
	if e.code == "" {
		e.code = plain(object["status"])
	}
	e.found = e.message != "" || e.code != ""
	return e
}

// plain returns the text of a string or number, or "".
func plain(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		var s string
		if err := json.Unmarshal(v, &s, lenient()); err == nil {
			return s
		}
	case '0':
		return string(v)
	}
	return ""
}

func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// text is what a person reads: the server's message, or else the start of whatever it sent.
func (e serverError) text(data []byte) string {
	switch {
	case e.message != "":
		return e.message
	case e.code != "" || e.kind != "":
		return strings.TrimSpace(e.kind + " " + e.code)
	case len(data) == 0:
		return "no explanation"
	}
	return strings.Join(strings.Fields(string(data)), " ")
}

// classify decides the kind of failure from the HTTP status, 0 inside a stream, and what the server says. Words come
// before the status where one status covers what is worth retrying and what is not: an empty balance is also a 429.
func (e serverError) classify(status int) llm.FailureKind {
	if status == 0 || status == http.StatusOK {
		status = 0
		if n, err := strconv.Atoi(e.code); err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	names := strings.ToLower(e.code + " " + e.kind)
	words := strings.ToLower(e.message)
	switch {
	case status == http.StatusPaymentRequired,
		has(names, "insufficient_quota", "billing", "quota_exceeded", "insufficient_balance", "insufficient_credit", "usage_limit"),
		// Not "billing" alone: a plain rate limit also tells where to add a payment method.
		has(words, "exceeded your current quota", "insufficient balance", "insufficient credit", "insufficient quota",
			"billing details", "billing hard limit", "usage limit", "out of credits", "credit balance"):
		return llm.FailureQuota
	case has(names, "context_length", "context_window"),
		status != http.StatusTooManyRequests && has(words, "context length", "context window", "context size",
			"prompt is too long", "input is too long", "maximum prompt length", "too many tokens", "context limit"),
		status == http.StatusRequestEntityTooLarge && has(words, "token"):
		return llm.FailureContextOverflow
	case has(names, "content_filter", "content_policy", "refusal"):
		return llm.FailureRefusal
	case has(names, "overloaded") || has(words, "overloaded"):
		return llm.FailureOverloaded
	}
	if kind := ofStatus(status); kind != "" {
		return kind
	}
	switch {
	case has(names, "rate_limit", "resource_exhausted", "too_many_requests"), has(words, "rate limit", "too many requests"):
		return llm.FailureRateLimit
	case has(names, "authentication", "permission", "invalid_api_key", "unauthenticated"):
		return llm.FailureAuth
	case has(names, "timeout", "deadline_exceeded"), has(words, "timed out", "timeout"):
		return llm.FailureTimeout
	case has(names, "unavailable", "capacity"), has(words, "at capacity", "unavailable"):
		return llm.FailureOverloaded
	case has(names, "invalid_request", "invalid_argument", "not_found"):
		return llm.FailureInvalidRequest
	case status == 0:
		// The request was accepted and the stream had begun, so what broke is on the server's side.
		return llm.FailureServer
	}
	return llm.FailureUnknown
}

// ofStatus returns the kind an HTTP status stands for, or "".
func ofStatus(status int) llm.FailureKind {
	switch status {
	case http.StatusTooManyRequests:
		return llm.FailureRateLimit
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return llm.FailureAuth
	case http.StatusRequestTimeout, http.StatusGatewayTimeout, 524: // 524: a proxy gave up waiting
		return llm.FailureTimeout
	case http.StatusServiceUnavailable, 529: // 529: overloaded
		return llm.FailureOverloaded
	case http.StatusConflict, http.StatusTooEarly:
		return llm.FailureServer
	}
	switch {
	case status >= 500:
		return llm.FailureServer
	case status >= 400:
		return llm.FailureInvalidRequest
	}
	return ""
}

func has(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
