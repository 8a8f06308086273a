package client

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// An Error is a problem that the server answered with. It wraps the error of package api that it stands for, if any.
type Error struct {
	Status     int
	Code       string // the problem's code, or "" when something else than a Stepwell server answered
	Detail     string
	RequestID  string
	RetryAfter time.Duration // zero: not said
	Err        error
}

func (e *Error) Error() string {
	s := e.Detail
	if s == "" {
		s = http.StatusText(e.Status)
	}
	s = fmt.Sprintf("server answered %d: %s", e.Status, s)
	if e.RequestID != "" && e.Status >= http.StatusInternalServerError {
		s += " (request " + e.RequestID + ")"
	}
	return s
}

// Unwrap returns the error of package api.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

type problem struct {
	Status    int    `json:"status"`
	Title     string `json:"title"`
	Detail    string `json:"detail"`
	Code      string `json:"code"`
	RequestID string `json:"requestId"`
	Floor     int64  `json:"floor"`
	Errors    []struct {
		Pointer string `json:"pointer"`
		Detail  string `json:"detail"`
	} `json:"errors"`
}

// readProblem turns an answer that is no success into an [*Error].
func readProblem(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what could be read is shown
	var p problem
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(data, &p) == nil {
		p.Status = resp.StatusCode
		e := p.err()
		e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
		return e
	}
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id"), RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Detail = "the address redirects to " + resp.Header.Get("Location") + "; use that one"
	}
	if e.Temporary() {
		e.Err = api.ErrUnavailable
	}
	return e
}

func (p problem) err() *Error {
	e := &Error{Status: p.Status, Code: p.Code, Detail: p.Detail, RequestID: p.RequestID}
	if e.Detail == "" {
		e.Detail = p.Title
	}
	switch p.Code {
	case "session-not-found":
		e.Err = api.ErrSessionNotFound
	case "head-not-found":
		e.Err = api.ErrHeadNotFound
	case "object-not-found":
		e.Err = api.ErrObjectNotFound
	case "run-not-found":
		e.Err = api.ErrRunNotFound
	case "idempotency-key-reused":
		e.Err = api.ErrKeyReused
	case "precondition-failed":
		e.Err = api.ErrPreconditionFailed
	case "unauthenticated":
		e.Err = api.ErrUnauthorized
	case "forbidden":
		e.Err = api.ErrForbidden
	case "store-unavailable":
		e.Err = api.ErrUnavailable
	case "deadline":
		e.Err = api.ErrDeadline
	case "cursor-expired":
		e.Err = &api.CursorExpiredError{Floor: p.Floor}
	case "validation":
		v := &api.ValidationError{Detail: e.Detail}
		if len(p.Errors) > 0 {
			v.Field, v.Detail = strings.TrimPrefix(p.Errors[0].Pointer, "#"), p.Errors[0].Detail
		}
		e.Err = v
	case "payload-too-large":
		e.Err = &api.ValidationError{Detail: "the request is too large: " + e.Detail}
	}
	return e
}

func retryAfter(s string) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 3600 {
		return 0
	}
	return time.Duration(n) * time.Second
}
