package lambdahttp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// A problem is an error answer (RFC 9457) that is made before or after the handler. It has the form of those of pkg/httpapi.
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitzero"`
	Instance  string `json:"instance,omitzero"`
	Code      string `json:"code"`
	RequestID string `json:"requestId,omitzero"`
}

func kind(code string) (status int, title string) {
	switch code {
	case "malformed":
		return http.StatusBadRequest, "The request cannot be read"
	case "unauthenticated":
		return http.StatusUnauthorized, "A valid token is needed"
	case "forbidden":
		return http.StatusForbidden, "This is not allowed"
	case "issuer-unavailable":
		return http.StatusServiceUnavailable, "The issuer of the token cannot be asked now"
	case "store-unavailable":
		return http.StatusServiceUnavailable, "The store cannot answer now"
	case "deadline":
		return http.StatusGatewayTimeout, "There was no outcome in the time allowed"
	case "answer-too-large":
		return http.StatusInternalServerError, "The answer is too large to be carried"
	}
	return http.StatusInternalServerError, "Something went wrong in the server"
}

func writeProblem(w http.ResponseWriter, requestID, code, detail string) {
	p := problem{Type: "https://stepwell.dev/problems/" + code, Detail: detail, Code: code, RequestID: requestID}
	p.Status, p.Title = kind(code)
	header := w.Header()
	if requestID != "" {
		p.Instance = "urn:request:" + requestID
		header.Set(requestIDHeader, requestID)
	}
	if p.Status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	data, err := json.Marshal(p)
	if err != nil {
		data = []byte(`{}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(data) // a failed write means that the client is gone
}

// WriteProblem answers a request that does not reach the HTTP service with the problem of a code, such as store-unavailable.
func WriteProblem(w http.ResponseWriter, r *http.Request, code, detail string) {
	writeProblem(w, r.Header.Get(requestIDHeader), code, detail)
}

// refuse answers a request whose maker is not known or not allowed.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := "unauthenticated"
	switch {
	case errors.Is(err, api.ErrForbidden):
		code = "forbidden"
	case errors.Is(err, api.ErrUnavailable):
		code = "issuer-unavailable"
	}
	detail := err.Error()
	var t *TokenError
	if errors.As(err, &t) {
		detail = t.Detail
	}
	if code == "unauthenticated" {
		challenge := "Bearer"
		if t != nil && t.Given {
			challenge += ` error="invalid_token", error_description="` + t.Detail + `"` // RFC 6750
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	WriteProblem(w, r, code, detail)
}

func textOf(v any) string {
	if err, ok := v.(error); ok {
		return err.Error()
	}
	return fmt.Sprint(v)
}
