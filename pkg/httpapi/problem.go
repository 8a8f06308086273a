package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// ProblemBase is the start of every problem's type; the code follows.
const ProblemBase = "https://stepwell.dev/problems/"

// A Problem is an error answer (RFC 9457).
type Problem struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail,omitzero"`
	Instance  string       `json:"instance,omitzero"`
	Code      string       `json:"code"` // the last segment of Type
	RequestID string       `json:"requestId,omitzero"`
	Errors    []FieldError `json:"errors,omitzero"`
	Floor     *int64       `json:"floor,omitzero"`    // of cursor-expired
	Snapshot  string       `json:"snapshot,omitzero"` // of cursor-expired: where to take one
	// RetryAfterMS is how long to wait before trying again, in milliseconds.
	RetryAfterMS int64 `json:"retryAfterMs,omitzero"`
}

// A FieldError is one thing that is wrong with a request.
type FieldError struct {
	Pointer string `json:"pointer"` // into the body, or the name of a query parameter
	Detail  string `json:"detail"`
}

type problemKind struct {
	status int
	title  string
}

// kinds is the list of problems.
func kinds(code string) problemKind {
	switch code {
	case "malformed":
		return problemKind{http.StatusBadRequest, "The request cannot be read"}
	case "unauthenticated":
		return problemKind{http.StatusUnauthorized, "A valid token is needed"}
	case "forbidden":
		return problemKind{http.StatusForbidden, "This is not allowed"}
	case "not-found":
		return problemKind{http.StatusNotFound, "There is nothing here"}
	case "session-not-found":
		return problemKind{http.StatusNotFound, "There is no such session"}
	case "head-not-found":
		return problemKind{http.StatusNotFound, "There is no such head"}
	case "object-not-found":
		return problemKind{http.StatusNotFound, "There is no such object"}
	case "run-not-found":
		return problemKind{http.StatusNotFound, "There is no such run"}
	case "method-not-allowed":
		return problemKind{http.StatusMethodNotAllowed, "The method is not offered here"}
	case "cursor-expired":
		return problemKind{http.StatusGone, "The cursor is below the event floor"}
	case "precondition-failed":
		return problemKind{http.StatusPreconditionFailed, "The head is not where it was expected"}
	case "payload-too-large":
		return problemKind{http.StatusRequestEntityTooLarge, "The body is too large"}
	case "unsupported-media-type":
		return problemKind{http.StatusUnsupportedMediaType, "The body must be application/json"}
	case "validation":
		return problemKind{http.StatusUnprocessableEntity, "The request breaks a rule"}
	case "idempotency-key-reused":
		return problemKind{http.StatusUnprocessableEntity, "The key was used before with other content"}
	case "store-unavailable":
		return problemKind{http.StatusServiceUnavailable, "The store cannot answer now"}
	case "deadline":
		return problemKind{http.StatusGatewayTimeout, "There was no outcome in the time allowed"}
	}
	return problemKind{http.StatusInternalServerError, "Something went wrong in the server"}
}

// A problemError is a problem that this package itself finds.
type problemError struct {
	code, detail string
	errors       []FieldError
}

func (e problemError) Error() string { return e.code + ": " + e.detail }

// problemOf turns an error into a problem. The text of an unknown error is for the log only.
func problemOf(err error) Problem {
	var own problemError
	var invalid *api.ValidationError
	var expired *api.CursorExpiredError
	var tooLarge *http.MaxBytesError
	p := Problem{Code: "internal", Detail: "the log has the cause under this request id"}
	switch {
	case errors.As(err, &own):
		p = Problem{Code: own.code, Detail: own.detail, Errors: own.errors}
	case errors.As(err, &invalid):
		p = Problem{Code: "validation", Detail: invalid.Error(), Errors: []FieldError{{"#" + invalid.Field, invalid.Detail}}}
	case errors.As(err, &expired):
		p = Problem{Code: "cursor-expired", Detail: expired.Error(), Floor: &expired.Floor}
	case errors.As(err, &tooLarge):
		p = Problem{Code: "payload-too-large", Detail: "the limit is " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	default:
		if code := codeOf(err); code != "" {
			p = Problem{Code: code, Detail: err.Error()}
		}
	}
	k := kinds(p.Code)
	p.Type, p.Title, p.Status = ProblemBase+p.Code, k.title, k.status
	if p.Code == "store-unavailable" {
		p.RetryAfterMS = 1000
	}
	return p
}

func codeOf(err error) string {
	for _, k := range [...]struct {
		is   error
		code string
	}{
		{api.ErrSessionNotFound, "session-not-found"},
		{api.ErrHeadNotFound, "head-not-found"},
		{api.ErrObjectNotFound, "object-not-found"},
		{api.ErrRunNotFound, "run-not-found"},
		{api.ErrKeyReused, "idempotency-key-reused"},
		{api.ErrPreconditionFailed, "precondition-failed"},
		{api.ErrInvalid, "validation"},
		{api.ErrUnauthorized, "unauthenticated"},
		{api.ErrForbidden, "forbidden"},
		{api.ErrDeadline, "deadline"},
		{context.DeadlineExceeded, "deadline"},
		{api.ErrUnavailable, "store-unavailable"},
		{api.ErrClosed, "store-unavailable"},
	} {
		if errors.Is(err, k.is) {
			return k.code
		}
	}
	return ""
}

// fail writes err as a problem.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // the client is gone
	}
	p := problemOf(err)
	p.RequestID = requestID(r)
	p.Instance = "urn:request:" + p.RequestID
	if p.Status >= http.StatusInternalServerError {
		h.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("requestId", p.RequestID), slog.Any("error", err))
	}
	header := w.Header()
	switch p.Code {
	case "cursor-expired":
		p.Snapshot = "/v1/sessions/" + r.PathValue("id") + "/snapshot"
	case "unauthenticated":
		header.Set("WWW-Authenticate", "Bearer")
	case "store-unavailable":
		header.Set("Retry-After", "1")
	case "unsupported-media-type":
		header.Set("Accept", "application/json")
	}
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	header.Del("ETag")
	data, merr := json.Marshal(p)
	if merr != nil {
		data = []byte(`{}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(data) // a failed write means that the client is gone
}

// unreadable turns a failure to read a JSON body into a problem that points at the place.
func unreadable(err error) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		detail := syntactic.Err.Error() + " at byte " + strconv.FormatInt(syntactic.ByteOffset, 10)
		return problemError{code: "malformed", detail: detail, errors: []FieldError{{"#" + string(syntactic.JSONPointer), detail}}}
	case errors.As(err, &semantic):
		at, detail := string(semantic.JSONPointer), "has the wrong type"
		var inner *json.SemanticError
		for semantic.Err != nil {
			detail = semantic.Err.Error()
			if !errors.As(semantic.Err, &inner) {
				break
			}
			semantic = inner
			at += string(inner.JSONPointer)
			detail = "has the wrong type"
		}
		if errors.Is(err, json.ErrUnknownName) {
			detail = "is not a known member; correct it or leave it out"
		} else if semantic.Err == nil && semantic.GoType != nil && semantic.JSONKind != 0 {
			detail = "does not take a JSON " + semantic.JSONKind.String()
		}
		return problemError{code: "validation", detail: at + ": " + detail, errors: []FieldError{{"#" + at, detail}}}
	}
	return problemError{code: "malformed", detail: err.Error()}
}
