package lambdahttp_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

func TestRequestOfHTTPAPI(t *testing.T) {
	t.Parallel()
	r, body := seen(t, recorded(t, "httpapi"))
	for _, c := range []struct{ what, got, want string }{
		{"method", r.Method, "POST"},
		{"path", r.URL.Path, "/v1/sessions/s_01/messages"},
		{"query", r.URL.RawQuery, "note=a%20b%26c&note=d+e&empty="},
		{"request URI", r.RequestURI, "/v1/sessions/s_01/messages?note=a%20b%26c&note=d+e&empty="},
		{"host", r.Host, "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"},
		{"host header", r.Header.Get("Host"), ""},
		{"remote address", r.RemoteAddr, "203.0.113.9:0"},
		{"protocol", r.Proto, "HTTP/1.1"},
		{"request id", r.Header.Get("X-Request-Id"), "ATfSmjLgPHcESJw"},
		{"cookies", r.Header.Get("Cookie"), "theme=dark; s=1%3D2"},
		{"list", r.Header.Get("If-None-Match"), `"a","b"`},
		{"body", body, `{"key":"k","content":[{"text":"λ \"hi\""}]}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"a b&c", "d e"}, r.URL.Query()["note"]); diff != "" {
		t.Error(diff)
	}
	if c, err := r.Cookie("s"); err != nil || c.Value != "1%3D2" {
		t.Errorf("cookie %v, %v", c, err)
	}
	if int(r.ContentLength) != len(body) {
		t.Errorf("content length %d of %d", r.ContentLength, len(body))
	}
}

func TestRequestOfFunctionURL(t *testing.T) {
	t.Parallel()
	r, body := seen(t, recorded(t, "functionurl"))
	if r.Method != "GET" || r.URL.Path != "/v1/sessions/a/b/events" || r.URL.EscapedPath() != "/v1/sessions/a%2Fb/events" {
		t.Errorf("%s %q, escaped %q", r.Method, r.URL.Path, r.URL.EscapedPath())
	}
	if got := r.Header.Values("Cookie"); len(got) != 1 || got[0] != "theme=dark; s=1%3D2" {
		t.Errorf("cookies %q", got)
	}
	if r.RemoteAddr != "[2001:db8::9]:0" || r.Header.Get("Last-Event-Id") != "7" || body != "" || r.ContentLength != 0 || r.Body != http.NoBody {
		t.Errorf("%s, %q, body %q of %d", r.RemoteAddr, r.Header.Get("Last-Event-Id"), body, r.ContentLength)
	}
	if r.Header.Get("X-Request-Id") != "d16a6b55-dea9-4b23-8499-eb85c3d2d904" {
		t.Errorf("request id %q", r.Header.Get("X-Request-Id"))
	}
}

// Of %2F a handler sees one part of the path if the sender kept it, as function URLs do. HTTP APIs decode, and what they made of a path is taken as it
// stands, whatever it looks like.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, stage, path, escaped string }{
		{"/v1/sessions/a%2Fb/events", "$default", "/v1/sessions/a/b/events", "/v1/sessions/a%2Fb/events"},
		{"/v1/sessions/s/heads/%E4%B8%96%20%3F", "$default", "/v1/sessions/s/heads/世 ?", "/v1/sessions/s/heads/%E4%B8%96%20%3F"},
		{"/heads/a b", "$default", "/heads/a b", "/heads/a%20b"},
		{"/heads/世", "$default", "/heads/世", "/heads/%E4%B8%96"},
		{"/heads/a?b#c", "$default", "/heads/a?b#c", "/heads/a%3Fb%23c"},
		{"/heads/100%", "$default", "/heads/100%", "/heads/100%25"},
		{"/heads/a%zz", "$default", "/heads/a%zz", "/heads/a%25zz"},
		{"/heads/a+b", "$default", "/heads/a+b", "/heads/a+b"},
		{"/heads/a//b/../c", "$default", "/heads/a//b/../c", "/heads/a//b/../c"},
		{"", "$default", "/", "/"},
		{"/prod/v1/sessions", "prod", "/v1/sessions", "/v1/sessions"},
		{"/prod", "prod", "/", "/"},
		{"/prod/", "prod", "/", "/"},
		{"/production/x", "prod", "/production/x", "/production/x"},
		{"/v1/sessions", "prod", "/v1/sessions", "/v1/sessions"},
		{"/v1/sessions", "", "/v1/sessions", "/v1/sessions"},
		{"/v1/v1/sessions", "v1", "/v1/sessions", "/v1/sessions"},
	} {
		r, _ := seen(t, recorded(t, "functionurl", `"rawPath": "/v1/sessions/a%2Fb/events"`, `"rawPath": "`+c.raw+`"`,
			`"stage": "$default"`, `"stage": "`+c.stage+`"`))
		if r.URL.Path != c.path || r.URL.EscapedPath() != c.escaped || r.RequestURI != c.escaped+"?after=3&named=1" {
			t.Errorf("%q of stage %q: path %q, escaped %q, URI %q", c.raw, c.stage, r.URL.Path, r.URL.EscapedPath(), r.RequestURI)
		}
	}
}

func TestEncodedSlashIsOnePart(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/sessions/{id}/events", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.PathValue("id"))) })
	if resp, _ := invoke(t, mux, nil, recorded(t, "functionurl")); resp.Body != "a/b" {
		t.Errorf("%d %q", resp.StatusCode, resp.Body)
	}
}

func TestBinaryRequestBody(t *testing.T) {
	t.Parallel()
	sent := "\x00\xff\xfe binary \x80"
	e := recorded(t, "httpapi", `"{\"key\":\"k\",\"content\":[{\"text\":\"λ \\\"hi\\\"\"}]}"`, `"`+base64.StdEncoding.EncodeToString([]byte(sent))+`"`,
		`"isBase64Encoded": false`, `"isBase64Encoded": true`)
	r, body := seen(t, e)
	if body != sent || int(r.ContentLength) != len(sent) {
		t.Errorf("body %q of %d", body, r.ContentLength)
	}
}

func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	never := answering(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
	for what, edits := range map[string][]string{
		"base64": {`"isBase64Encoded": false`, `"isBase64Encoded": true`},
		"method": {`"method": "POST"`, `"method": "PO ST"`},
	} {
		resp, _ := invoke(t, never, nil, recorded(t, "httpapi", edits...))
		if p := wantProblem(t, resp, 400, "malformed"); p.Detail == "" {
			t.Errorf("%s: no detail", what)
		}
		stream, err := lambdahttp.Stream(never, nil)(t.Context(), request(t, "httpapi", edits...))
		if err != nil || stream.StatusCode != 400 {
			t.Fatalf("%s: %v, %v", what, stream, err)
		}
		if p := problemOf(t, stream.Headers["Content-Type"], readAll(t, stream.Body)); p.Code != "malformed" {
			t.Errorf("%s: %+v", what, p)
		}
	}
}

func TestRequestIDOfTheClientStays(t *testing.T) {
	t.Parallel()
	r, _ := seen(t, recorded(t, "httpapi", `"x-tenant"`, `"x-request-id"`))
	if got := r.Header.Values("X-Request-Id"); len(got) != 1 || got[0] != "somebody-else" {
		t.Errorf("request id %q", got)
	}
}

func TestFromFunctionURL(t *testing.T) {
	t.Parallel()
	gateway, url := request(t, "httpapi"), request(t, "functionurl")
	if gateway.FromFunctionURL() || !url.FromFunctionURL() {
		t.Errorf("gateway %t, URL %t", gateway.FromFunctionURL(), url.FromFunctionURL())
	}
}
