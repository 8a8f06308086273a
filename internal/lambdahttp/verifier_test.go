package lambdahttp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

func newVerifier(t *testing.T, is *issuer) *lambdahttp.Verifier {
	t.Helper()
	v, err := lambdahttp.NewVerifier(lambdahttp.VerifierOptions{
		Issuer: is.URL, Audiences: []string{"stepwell", "stepwell-web"}, TenantClaim: "tenant", Client: is.Client(), Now: is.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ask sends a request with the header lines Authorization.
func ask(t *testing.T, v *lambdahttp.Verifier, authorization ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/sessions/s/events?access_token=x", nil)
	r.Header.Set("X-Request-Id", "r1")
	r.Header["Authorization"] = authorization
	w := httptest.NewRecorder()
	lambdahttp.Verified(v, identified()).ServeHTTP(w, r)
	return w
}

func TestVerified(t *testing.T) {
	t.Parallel()
	rs, es, stranger := rsaKey(t, "rs"), ecKey(t, "es"), rsaKey(t, "rs")
	is := newIssuer(t, rs, es)
	v := newVerifier(t, is)
	good := rs.sign(t, is.claims(nil))
	const who = "acme|ann|phone"
	now := is.clock()
	with := func(name string, value any) map[string]any { return is.claims(map[string]any{name: value}) }
	forged := strings.Split(good, ".")
	forged[1] = strings.Split(unsigned(with("tenant", "other")), ".")[1]
	for _, c := range []struct {
		what, header, want string
		status             int
	}{
		{"RS256", "Bearer " + good, who, 200},
		{"ES256", "Bearer " + es.sign(t, is.claims(nil)), who, 200},
		{"lower case, space", "bearer   " + good + " ", who, 200},
		{"one audience", "Bearer " + rs.sign(t, with("aud", "stepwell-web")), who, 200},
		{"access token with a client id instead of an audience", "Bearer " + rs.sign(t, is.claims(map[string]any{"aud": nil, "client_id": "stepwell"})), "acme|ann|stepwell", 200},
		{"tenant as a list of one", "Bearer " + rs.sign(t, with("tenant", []string{"acme"})), who, 200},
		{"tenant as a number", "Bearer " + rs.sign(t, with("tenant", 42)), "42|ann|phone", 200},
		{"expired", "Bearer " + rs.sign(t, with("exp", now.Add(-time.Second).Unix())), "has expired", 401},
		{"no expiry", "Bearer " + rs.sign(t, with("exp", nil)), "has expired", 401},
		{"not yet", "Bearer " + rs.sign(t, with("nbf", now.Add(time.Hour).Unix())), "not valid here", 401},
		{"another audience", "Bearer " + rs.sign(t, with("aud", "other")), "another audience", 401},
		{"no audience", "Bearer " + rs.sign(t, with("aud", nil)), "another audience", 401},
		{"an audience does not become valid by a client id", "Bearer " + rs.sign(t, is.claims(map[string]any{"aud": "other", "client_id": "stepwell"})), "another audience", 401},
		{"another issuer", "Bearer " + rs.sign(t, with("iss", "https://id.example.com")), "not valid here", 401},
		{"no issuer", "Bearer " + rs.sign(t, with("iss", nil)), "not valid here", 401},
		{"a stranger's key of the same name", "Bearer " + stranger.sign(t, is.claims(nil)), "not valid here", 401},
		{"an unknown key", "Bearer " + key{"new", stranger.secret}.sign(t, is.claims(nil)), "not valid here", 401},
		{"changed claims", "Bearer " + strings.Join(forged, "."), "not valid here", 401},
		{"no signature", "Bearer " + unsigned(is.claims(nil)), "not valid here", 401},
		{"signature cut off", "Bearer " + good[:strings.LastIndex(good, ".")+1], "not valid here", 401},
		{"shared secret", "Bearer " + rs.shared(is.claims(nil)), "not valid here", 401},
		{"two tokens in one line", "Bearer " + good + ",Bearer " + good, "one JSON Web Token", 401},
		{"JSON in place of a compact token", `Bearer {"payload":"x"}`, "one JSON Web Token", 401},
		{"no token", "Bearer", "one JSON Web Token", 401},
		{"no JWT", "Bearer abc", "not valid here", 401},
		{"endless token", "Bearer " + strings.Repeat("a", 17<<10), "one JSON Web Token", 401},
		{"another scheme", "Basic YTpi", "send the header", 401},
		{"no tenant", "Bearer " + rs.sign(t, with("tenant", nil)), `"tenant"`, 403},
		{"two tenants", "Bearer " + rs.sign(t, with("tenant", []string{"a", "b"})), "one tenant", 403},
		{"tenant is an object", "Bearer " + rs.sign(t, with("tenant", map[string]any{"name": "acme"})), `"tenant"`, 403},
		{"no subject", "Bearer " + rs.sign(t, with("sub", nil)), `"sub"`, 403},
	} {
		w := ask(t, v, c.header)
		if c.status == 200 {
			if w.Code != 200 || w.Body.String() != c.want {
				t.Errorf("%s: %d %q, want %q", c.what, w.Code, w.Body, c.want)
			}
			continue
		}
		p := problemOf(t, w.Header().Get("Content-Type"), w.Body.String())
		code := map[int]string{401: "unauthenticated", 403: "forbidden"}[c.status]
		if w.Code != c.status || p.Code != code || !strings.Contains(p.Detail, c.want) || p.RequestID != "r1" {
			t.Errorf("%s: %d %+v, want %d with %q", c.what, w.Code, p, c.status, c.want)
		}
		if strings.Contains(w.Body.String(), "oidc") {
			t.Errorf("%s: the answer shows the inside: %s", c.what, w.Body)
		}
		if got := w.Header().Get("WWW-Authenticate"); strings.HasPrefix(got, "Bearer") != (c.status == 401) {
			t.Errorf("%s: challenge %q", c.what, got)
		}
	}
	if asked := is.count("/keys"); asked != 1 {
		t.Errorf("the issuer was asked for its keys %d times", asked)
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	k := rsaKey(t, "k")
	is := newIssuer(t, k)
	v := newVerifier(t, is)
	for what, c := range map[string]struct {
		lines []string
		want  string
	}{
		"no header":   {nil, "Bearer"},
		"two headers": {[]string{"Bearer " + k.sign(t, is.claims(nil)), "Bearer x"}, `Bearer error="invalid_token", error_description="send one header Authorization, not several"`},
		"expired": {
			[]string{"Bearer " + k.sign(t, is.claims(map[string]any{"exp": 1}))},
			`Bearer error="invalid_token", error_description="the token has expired; get a new one"`,
		},
	} {
		w := ask(t, v, c.lines...)
		if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || got != c.want {
			t.Errorf("%s: %d %q, want %q", what, w.Code, got, c.want)
		}
	}
}

// Nothing is asked before there is a token, and what was answered serves later invocations.
func TestVerifierIsLazyAndRemembers(t *testing.T) {
	t.Parallel()
	k := rsaKey(t, "k")
	is := newIssuer(t, k)
	v := newVerifier(t, is)
	ask(t, v)
	ask(t, v, "Bearer a,b")
	if len(is.asked) != 0 {
		t.Errorf("asked without a token: %v", is.asked)
	}
	for range 5 {
		if w := ask(t, v, "Bearer "+k.sign(t, is.claims(nil))); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if is.count("/.well-known/openid-configuration") != 1 || is.count("/keys") != 1 {
		t.Errorf("asked %v", is.asked)
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	first, second := rsaKey(t, "1"), ecKey(t, "2")
	is := newIssuer(t, first)
	v := newVerifier(t, is)
	status := func(k key) int { return ask(t, v, "Bearer "+k.sign(t, is.claims(nil))).Code }
	if got := status(first); got != 200 {
		t.Fatalf("first key: %d", got)
	}
	is.change(func() {
		is.keys = append(is.keys, second)
		is.now = is.now.Add(11 * time.Second)
	})
	// The library still lends out the keys of a request that has just been answered, for as long as its goroutine takes to end.
	got := status(second)
	for deadline := time.Now().Add(5 * time.Second); got != 200 && time.Now().Before(deadline); got = status(second) {
		time.Sleep(time.Millisecond)
	}
	if b := status(first); got != 200 || b != 200 {
		t.Errorf("both keys: %d, %d", got, b)
	}
	// Unknown keys, of which anyone can make up any number, do not make us ask again and again.
	before := is.count("/keys")
	for range 20 {
		if got := status(rsaKey(t, "made up")); got != 401 {
			t.Fatalf("made-up key: %d", got)
		}
	}
	if after := is.count("/keys"); after != before {
		t.Errorf("asked %d more times", after-before)
	}
	// A key that the issuer withdraws goes out of use within the hour.
	is.change(func() {
		is.keys = []key{second}
		is.now = is.now.Add(61 * time.Minute)
	})
	if a, b := status(first), status(second); a != 401 || b != 200 {
		t.Errorf("withdrawn: %d, the other %d", a, b)
	}
}

func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	k := rsaKey(t, "k")
	is := newIssuer(t, k)
	v := newVerifier(t, is)
	token := func() string { return "Bearer " + k.sign(t, is.claims(nil)) }
	down := func(d bool) { is.change(func() { is.down = d; is.now = is.now.Add(2 * time.Hour) }) }

	down(true)
	w := ask(t, v, token())
	p := problemOf(t, w.Header().Get("Content-Type"), w.Body.String())
	if w.Code != 503 || p.Code != "issuer-unavailable" || w.Header().Get("Retry-After") != "1" || w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("%d %+v", w.Code, p)
	}
	down(false)
	if w := ask(t, v, token()); w.Code != 200 {
		t.Errorf("up again: %d %s", w.Code, w.Body)
	}
	down(true)
	if w := ask(t, v, token()); w.Code != 200 {
		t.Errorf("known keys: %d %s", w.Code, w.Body)
	}
	// Whether a new key is the issuer's cannot be told now: that is no fault of the client.
	if w := ask(t, v, "Bearer "+rsaKey(t, "new").sign(t, is.claims(nil))); w.Code != 503 {
		t.Errorf("new key: %d %s", w.Code, w.Body)
	}
}

func TestVerifierErrors(t *testing.T) {
	t.Parallel()
	k := rsaKey(t, "k")
	is := newIssuer(t, k)
	v := newVerifier(t, is)
	_, err := v.Verify(t.Context(), k.sign(t, is.claims(map[string]any{"exp": 1})))
	var te *lambdahttp.TokenError
	if !errors.Is(err, api.ErrUnauthorized) || !errors.As(err, &te) || !te.Given || te.Unwrap() == nil || !strings.Contains(err.Error(), "oidc") {
		t.Errorf("%v", err)
	}
	if _, err := v.Verify(t.Context(), k.sign(t, is.claims(map[string]any{"tenant": nil}))); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("%v", err)
	}
	is.change(func() { is.down = true })
	if _, err := newVerifier(t, is).Verify(t.Context(), k.sign(t, is.claims(nil))); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := v.Claims(&http.Request{Header: http.Header{}}); !errors.Is(err, api.ErrUnauthorized) {
		t.Errorf("%v", err)
	}
}

func TestNewVerifierChecksItsOptions(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		issuer    string
		audiences []string
		ok        bool
	}{
		"good":           {"https://id.example.com/", []string{"a"}, true},
		"local":          {"http://127.0.0.1:8080", []string{"a"}, true},
		"localhost":      {"http://localhost:8080/realm", []string{"a"}, true},
		"no TLS":         {"http://id.example.com", []string{"a"}, false},
		"no URL":         {"id.example.com", []string{"a"}, false},
		"no issuer":      {"", []string{"a"}, false},
		"no audience":    {"https://id.example.com/", nil, false},
		"empty audience": {"https://id.example.com/", []string{""}, false},
	} {
		v, err := lambdahttp.NewVerifier(lambdahttp.VerifierOptions{Issuer: c.issuer, Audiences: c.audiences})
		if (err == nil) != c.ok || (v != nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}
