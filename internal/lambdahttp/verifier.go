package lambdahttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

const (
	// keysFor is how long the keys of an issuer are used before it is asked again, so that a key it has withdrawn goes out of use.
	keysFor = time.Hour
	// maxToken is how long a token may be.
	maxToken = 16 << 10
)

// VerifierOptions configure a [Verifier].
type VerifierOptions struct {
	// Issuer is the URL of an OpenID Connect issuer, exactly as its tokens have it.
	Issuer string
	// Audiences are those of which a token must name one. As API Gateway does, a token without an audience is taken by its client_id.
	Audiences []string
	// TenantClaim is the claim that names the tenant. If it is "", the tenant is "default".
	TenantClaim string
	// Client asks the issuer. Default: one that gives up after 5 s.
	Client *http.Client
	// Logger gets why tokens are refused, at the level of debugging, and what the issuer fails to answer. Default: none.
	Logger *slog.Logger
	// Now is the clock. Default: the wall clock.
	Now func() time.Time
}

// A Verifier verifies bearer tokens. It asks the issuer for its keys when it sees the first token, and keeps them for later invocations.
type Verifier struct {
	o      VerifierOptions
	client *http.Client
	issuer *pacer

	mu    sync.Mutex
	keys  *oidc.IDTokenVerifier // nil: not asked yet
	renew time.Time             // when to ask again
}

// A TokenError says why a token is refused. It is [api.ErrUnauthorized].
type TokenError struct {
	// Detail is for the client.
	Detail string
	// Given reports whether there was a token at all.
	Given bool
	// Err is the cause, for the log.
	Err error
}

func (e *TokenError) Error() string {
	if e.Err != nil {
		return e.Detail + ": " + e.Err.Error()
	}
	return e.Detail
}

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Err }

// Is reports whether target is [api.ErrUnauthorized].
func (e *TokenError) Is(target error) bool { return target == api.ErrUnauthorized }

// NewVerifier checks o. It does not ask the issuer.
func NewVerifier(o VerifierOptions) (*Verifier, error) {
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, fmt.Errorf("the issuer %q is not the https URL of one", o.Issuer)
	case len(o.Audiences) == 0 || slices.Contains(o.Audiences, ""):
		return nil, errors.New("no audience: without one the tokens of every application of the issuer would be valid")
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 5 * time.Second}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one default of the injected clock
	}
	v := &Verifier{o: o, issuer: newPacer(o.Client.Transport, o.Now)}
	client := *o.Client
	client.Transport = v.issuer
	v.client = &client
	return v, nil
}

// Verified lets a request pass with the claims of its bearer token. Without a valid one it answers 401, and 403 if the token names no tenant. Answers
// to a browser's preflight, which carries no token, are for the function URL's own CORS configuration.
func Verified(v *Verifier, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := v.Claims(r)
		if err != nil {
			v.o.Logger.LogAttrs(r.Context(), slog.LevelDebug, "token refused", slog.String("requestId", r.Header.Get(requestIDHeader)), slog.Any("error", err))
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(WithClaims(r.Context(), c)))
	})
}

// Claims returns the claims of the request's bearer token. The error is [api.ErrUnauthorized], [api.ErrForbidden] or [api.ErrUnavailable].
func (v *Verifier) Claims(r *http.Request) (Claims, error) {
	token, err := bearer(r.Header)
	if err != nil {
		return Claims{}, err
	}
	return v.Verify(r.Context(), token)
}

// Verify returns the claims of a token. The error is [api.ErrUnauthorized], [api.ErrForbidden] or [api.ErrUnavailable].
func (v *Verifier) Verify(ctx context.Context, token string) (Claims, error) {
	keys, err := v.current(ctx)
	if err != nil {
		return Claims{}, err
	}
	failures := v.issuer.failures.Load()
	parsed, err := keys.Verify(ctx, token)
	if err != nil {
		var expired *oidc.TokenExpiredError
		switch {
		case errors.As(err, &expired):
			return Claims{}, &TokenError{Detail: "the token has expired; get a new one", Given: true, Err: err}
		case v.issuer.failures.Load() != failures || ctx.Err() != nil:
			return Claims{}, v.unavailable(ctx, err)
		}
		return Claims{}, &TokenError{Detail: "the token is not valid here", Given: true, Err: err}
	}
	var raw map[string]jsontext.Value
	if err := parsed.Claims(&raw); err != nil {
		return Claims{}, &TokenError{Detail: "the token has no claims", Given: true, Err: err}
	}
	claims := flatClaims(raw)
	audiences := parsed.Audience
	if len(audiences) == 0 {
		audiences = []string{claims["client_id"]}
	}
	if !slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(v.o.Audiences, a) }) {
		return Claims{}, &TokenError{Detail: "the token is for another audience", Given: true}
	}
	return readClaims(claims, v.o.TenantClaim)
}

// current returns the issuer's keys. Old ones are better than none when the issuer does not answer.
func (v *Verifier) current(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.o.Now()
	if v.keys != nil && now.Before(v.renew) {
		return v.keys, nil
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, v.client), v.o.Issuer)
	if err != nil {
		if v.keys == nil {
			return nil, v.unavailable(ctx, err)
		}
		v.o.Logger.LogAttrs(ctx, slog.LevelWarn, "issuer does not answer", slog.Any("error", err))
		v.renew = now.Add(time.Minute)
		return v.keys, nil
	}
	v.keys = provider.Verifier(&oidc.Config{
		// Not what the issuer says of itself: whatever it publishes, no key is shared and no signature is left out.
		SupportedSigningAlgs: []string{
			oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
		},
		SkipClientIDCheck: true, // several audiences are checked by Verify
		Now:               v.o.Now,
	})
	v.renew = now.Add(keysFor)
	return v.keys, nil
}

func (v *Verifier) unavailable(ctx context.Context, err error) error {
	level := slog.LevelError
	if ctx.Err() != nil {
		level = slog.LevelInfo // the client did not wait
	}
	v.o.Logger.LogAttrs(ctx, level, "issuer does not answer", slog.String("issuer", v.o.Issuer), slog.Any("error", err))
	return fmt.Errorf("%w: the issuer of tokens does not answer", api.ErrUnavailable)
}

// bearer returns the token of the one header Authorization. Of two, someone before us may have judged the other. Lambda joins repeated headers by
// commas, which no token has.
func bearer(header http.Header) (string, error) {
	given := header.Values("Authorization")
	switch len(given) {
	case 0:
		return "", &TokenError{Detail: "send the header Authorization: Bearer and a token"}
	case 1:
	default:
		return "", &TokenError{Detail: "send one header Authorization, not several", Given: true}
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &TokenError{Detail: "send the header Authorization: Bearer and a token"}
	}
	token = strings.TrimSpace(token)
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, notJWT) {
		return "", &TokenError{Detail: "send one JSON Web Token in the header Authorization", Given: true}
	}
	return token, nil
}

func notJWT(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
