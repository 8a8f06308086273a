package lambdahttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

// identified answers with who made the request.
func identified() http.Handler {
	return answering(func(w http.ResponseWriter, r *http.Request) {
		c, ok := lambdahttp.ClaimsOf(r.Context())
		if !ok {
			c.User = "nobody"
		}
		_, _ = io.WriteString(w, c.Tenant+"|"+c.User+"|"+c.Client)
	})
}

func TestAuthorized(t *testing.T) {
	t.Parallel()
	const tenant = `"tenant": "acme"`
	for _, c := range []struct {
		what, claim string
		edits       []string
		want        string // who, or what the problem's detail contains
		status      int
	}{
		{"as recorded", "tenant", nil, "acme|auth0|5fe435b5|phone", 200},
		{"no claim configured", "", nil, "default|auth0|5fe435b5|phone", 200},
		{"claim is missing", "org", nil, `"org"`, 403},
		{"claim is empty", "tenant", []string{tenant, `"tenant": ""`}, `"tenant"`, 403},
		{"claim is null", "tenant", []string{tenant, `"tenant": null`}, `"tenant"`, 403},
		{"namespaced", "https://stepwell.dev/tenant", []string{tenant, `"https://stepwell.dev/tenant": "acme"`}, "acme|auth0|5fe435b5|phone", 200},
		{"list of one", "tenant", []string{tenant, `"tenant": "[acme]"`}, "acme|auth0|5fe435b5|phone", 200},
		{"list of two", "tenant", []string{tenant, `"tenant": "[acme other]"`}, "one tenant", 403},
		{"list of none", "tenant", []string{tenant, `"tenant": "[]"`}, "has no claim", 403},
		{"number", "tenant", []string{tenant, `"tenant": "42"`}, "42|auth0|5fe435b5|phone", 200},
		{"long", "tenant", []string{tenant, `"tenant": "` + strings.Repeat("x", 129) + `"`}, "128 bytes", 403},
		{"control character", "tenant", []string{tenant, `"tenant": "a\u0000b"`}, "one tenant", 403},
		{"client_id before azp", "tenant", []string{`"azp": "phone"`, `"azp": "phone", "client_id": "tablet"`}, "acme|auth0|5fe435b5|tablet", 200},
		{"no client", "tenant", []string{`"azp": "phone",`, ``}, "acme|auth0|5fe435b5|", 200},
		{"no subject", "tenant", []string{`"sub": "auth0|5fe435b5",`, ``}, `"sub"`, 403},
		{"long subject", "tenant", []string{`"auth0|5fe435b5"`, `"` + strings.Repeat("x", 256) + `"`}, "255 bytes", 403},
		// An emulator sends claims as they are in the token.
		{"raw list and number", "tenant", []string{tenant, `"tenant": ["acme"]`, `"exp": "1796067000"`, `"exp": 1796067000`}, "acme|auth0|5fe435b5|phone", 200},
		{"raw list of two", "tenant", []string{tenant, `"tenant": ["acme", "other"]`}, "one tenant", 403},
		{"raw number", "tenant", []string{tenant, `"tenant": 42, "email_verified": true, "address": {"a": []}`, `"email_verified": "true",`, ``}, "42|auth0|5fe435b5|phone", 200},
		{"no authorizer", "tenant", []string{`"authorizer"`, `"other"`}, "no token", 401},
		{"no claims", "tenant", []string{`"claims"`, `"other"`}, "no token", 401},
		// The field of API Gateway in the event of a function URL is no word of API Gateway.
		{"function URL", "tenant", []string{"a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com", "a1b2.lambda-url.eu-central-1.on.aws"}, "no token", 401},
	} {
		resp, _ := invoke(t, lambdahttp.Authorized(c.claim, identified()), nil, recorded(t, "httpapi", c.edits...))
		if c.status == 200 {
			if resp.StatusCode != 200 || resp.Body != c.want {
				t.Errorf("%s: %d %q, want %q", c.what, resp.StatusCode, resp.Body, c.want)
			}
			continue
		}
		code := map[int]string{401: "unauthenticated", 403: "forbidden"}[c.status]
		if p := wantProblem(t, resp, c.status, code); !strings.Contains(p.Detail, c.want) || p.RequestID != "ATfSmjLgPHcESJw" {
			t.Errorf("%s: %+v, want %q in it", c.what, p, c.want)
		}
		if got := resp.Headers["Www-Authenticate"]; (got == "Bearer") != (c.status == 401) {
			t.Errorf("%s: challenge %q", c.what, got)
		}
	}
}

// Without a middleware that verified something there are no claims, whatever the event contains.
func TestClaimsOnlyWhereVerified(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"httpapi", "functionurl"} {
		if resp, _ := invoke(t, identified(), nil, recorded(t, name)); resp.Body != "|nobody|" {
			t.Errorf("%s: %q", name, resp.Body)
		}
	}
	e := request(t, "httpapi")
	stream, err := lambdahttp.Stream(lambdahttp.Authorized("tenant", identified()), nil)(t.Context(), e)
	if err != nil || stream.StatusCode != 401 {
		t.Errorf("a stream takes the claims of an authorizer: %v, %v", stream, err)
	}
	_ = stream.Close()
}

func TestWithClaims(t *testing.T) {
	t.Parallel()
	want := lambdahttp.Claims{Tenant: "t", User: "u", Client: "c"}
	if got, ok := lambdahttp.ClaimsOf(lambdahttp.WithClaims(t.Context(), want)); !ok || got != want {
		t.Errorf("%+v, %t", got, ok)
	}
	if got, ok := lambdahttp.ClaimsOf(context.WithoutCancel(t.Context())); ok || got != (lambdahttp.Claims{}) {
		t.Errorf("%+v, %t", got, ok)
	}
}
