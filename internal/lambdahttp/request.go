package lambdahttp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const requestIDHeader = "X-Request-Id"

// A Request is an event of payload format 2.0, which API Gateway's HTTP APIs and function URLs send. The type of aws-lambda-go has only claims
// that are strings, and fails on the numbers and lists that emulators send.
type Request struct {
	Version         string            `json:"version"`
	RouteKey        string            `json:"routeKey"`
	RawPath         string            `json:"rawPath"`
	RawQueryString  string            `json:"rawQueryString"`
	Cookies         []string          `json:"cookies,omitempty"`
	Headers         map[string]string `json:"headers"`
	RequestContext  RequestContext    `json:"requestContext"`
	Body            string            `json:"body,omitempty"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// A RequestContext is what the gateway says of a [Request]. A client cannot write it.
type RequestContext struct {
	Stage      string      `json:"stage"`
	RequestID  string      `json:"requestId"`
	DomainName string      `json:"domainName"`
	Authorizer *Authorizer `json:"authorizer,omitempty"`
	HTTP       HTTP        `json:"http"`
}

// An Authorizer is what the authorizer of a route found.
type Authorizer struct {
	JWT *JWT `json:"jwt,omitempty"`
}

// A JWT has the claims of the token that API Gateway has verified. It sends each as a string.
type JWT struct {
	Claims map[string]jsontext.Value `json:"claims"`
}

// HTTP is the request line and its sender.
type HTTP struct {
	Method   string `json:"method"`
	Protocol string `json:"protocol"`
	SourceIP string `json:"sourceIp"`
}

// FromFunctionURL reports whether the event came through a function URL, where nobody has verified a token.
func (e *Request) FromFunctionURL() bool {
	return strings.Contains(e.RequestContext.DomainName, ".lambda-url.")
}

// request returns the event as a server would have read it.
func (e *Request) request(ctx context.Context) (*http.Request, error) {
	body, size, err := e.body()
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, "/", body)
	if err != nil {
		return nil, errors.New("the event names no HTTP method")
	}
	r.ContentLength = size
	r.URL = e.url()
	r.RequestURI = r.URL.RequestURI()
	if major, minor, ok := http.ParseHTTPVersion(e.RequestContext.HTTP.Protocol); ok {
		r.Proto, r.ProtoMajor, r.ProtoMinor = e.RequestContext.HTTP.Protocol, major, minor
	}
	r.Host = e.RequestContext.DomainName
	for name, value := range e.Headers {
		if strings.EqualFold(name, "Host") {
			r.Host = value
			continue
		}
		// Two spellings of one name stay two lines, so that whoever wants exactly one can see it.
		r.Header.Add(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; ")) // a function URL sends the header too
	}
	if r.Header.Get(requestIDHeader) == "" && e.RequestContext.RequestID != "" {
		r.Header.Set(requestIDHeader, strings.TrimRight(e.RequestContext.RequestID, "="))
	}
	r.RemoteAddr = net.JoinHostPort(e.RequestContext.HTTP.SourceIP, "0") // the port is not told
	return r, nil
}

func (e *Request) body() (io.Reader, int64, error) {
	if e.Body == "" {
		return http.NoBody, 0, nil
	}
	if !e.IsBase64Encoded {
		return strings.NewReader(e.Body), int64(len(e.Body)), nil
	}
	data, err := base64.StdEncoding.DecodeString(e.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("the event's body is not base64: %w", err)
	}
	return strings.NewReader(string(data)), int64(len(data)), nil
}

// url returns the path and query. A function URL sends the path as it was written, an HTTP API decoded; what no longer is an encoded path is taken
// as it stands.
func (e *Request) url() *url.URL {
	raw := e.RawPath
	if stage := e.RequestContext.Stage; stage != "" && stage != "$default" {
		// An API is served below the name of its stage, unless its domain maps the stage to the root.
		if rest, ok := strings.CutPrefix(raw, "/"+stage); ok && (rest == "" || rest[0] == '/') {
			raw = rest
		}
	}
	if !strings.HasPrefix(raw, "/") {
		raw = "/" + raw
	}
	u := &url.URL{Path: raw, RawQuery: e.RawQueryString}
	if path, err := url.PathUnescape(raw); err == nil {
		u.Path, u.RawPath = path, raw // a raw form that does not fit the path is not used
	}
	return u
}

// verified returns the claims that API Gateway has verified, in the one form of strings; nil when the route has no authorizer.
func (e *Request) verified() map[string]string {
	a := e.RequestContext.Authorizer
	if a == nil || a.JWT == nil || a.JWT.Claims == nil || e.FromFunctionURL() {
		return nil
	}
	return flatClaims(a.JWT.Claims)
}
