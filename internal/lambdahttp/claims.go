package lambdahttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

const (
	// defaultTenant is everybody's tenant where no claim names one.
	defaultTenant = "default"
	maxTenant     = 128
)

// Claims say who makes a request, as an issuer of tokens has signed it.
type Claims struct {
	// Tenant is whose sessions they may see.
	Tenant string
	// User is the subject of the token.
	User string
	// Client is the application that the token was given to, "" if the token does not say.
	Client string
}

type (
	claimsKey   struct{}
	verifiedKey struct{}
)

// ClaimsOf returns the claims of the request that ctx belongs to; ok is false where nobody has verified any.
func ClaimsOf(ctx context.Context) (c Claims, ok bool) {
	c, ok = ctx.Value(claimsKey{}).(Claims)
	return c, ok
}

// WithClaims returns a context of which [ClaimsOf] returns c. It is for those who verify a token themselves.
func WithClaims(ctx context.Context, c Claims) context.Context {
	return context.WithValue(ctx, claimsKey{}, c)
}

// Authorized lets a request pass with the claims that the JWT authorizer of its route has verified. Without any it answers 401: the route has no
// authorizer. The claim named tenantClaim is the tenant, and a request whose token does not have it gets 403; if tenantClaim is "" the tenant is
// "default".
func Authorized(tenantClaim string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, ok := r.Context().Value(verifiedKey{}).(map[string]string)
		if !ok {
			refuse(w, r, &TokenError{Detail: "no token was verified for this request"})
			return
		}
		c, err := readClaims(all, tenantClaim)
		if err != nil {
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(WithClaims(r.Context(), c)))
	})
}

// readClaims picks what identifies the maker of a request. A name that does not name one is refused and never guessed.
func readClaims(all map[string]string, tenantClaim string) (Claims, error) {
	c := Claims{Tenant: defaultTenant, User: all["sub"]}
	if c.Client = all["client_id"]; c.Client == "" {
		c.Client = all["azp"]
	}
	if tenantClaim != "" {
		tenant, ok := single(all[tenantClaim])
		switch {
		case tenant == "":
			return Claims{}, fmt.Errorf("%w: the token has no claim %q, which names the tenant", api.ErrForbidden, tenantClaim)
		case !ok || len(tenant) > maxTenant || !plain(tenant):
			return Claims{}, fmt.Errorf("%w: the claim %q does not name one tenant of at most %d bytes", api.ErrForbidden, tenantClaim, maxTenant)
		}
		c.Tenant = tenant
	}
	switch {
	case c.User == "":
		// Without a subject the request could claim any author.
		return Claims{}, fmt.Errorf("%w: the token has no claim \"sub\", which names the user", api.ErrForbidden)
	case len(c.User) > api.MaxKey || !plain(c.User) || len(c.Client) > api.MaxKey || !plain(c.Client):
		return Claims{}, fmt.Errorf("%w: the token's user or client is longer than %d bytes or is not plain text", api.ErrForbidden, api.MaxKey)
	}
	return c, nil
}

// single returns the one value of a claim. API Gateway writes a list as its members between brackets, with a space between two.
func single(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "[")
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, "]"); !ok {
		return value, true
	}
	members := strings.Fields(inner)
	if len(members) == 0 {
		return "", true
	}
	return members[0], len(members) == 1
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// flatClaims writes claims as API Gateway does: numbers as they are, lists as "[a b]". An object is left empty.
func flatClaims(claims map[string]jsontext.Value) map[string]string {
	flat := make(map[string]string, len(claims))
	for name, value := range claims {
		flat[name] = flatten(value)
	}
	return flat
}

func flatten(value jsontext.Value) string {
	switch value.Kind() {
	case jsontext.KindString:
		var s string
		if json.Unmarshal(value, &s) == nil {
			return s
		}
	case jsontext.KindBeginArray:
		var members []jsontext.Value
		if json.Unmarshal(value, &members) == nil {
			texts := make([]string, len(members))
			for i, m := range members {
				texts[i] = flatten(m)
			}
			return "[" + strings.Join(texts, " ") + "]"
		}
	case jsontext.KindNull, jsontext.KindBeginObject:
		return "" // names nothing
	}
	return string(value)
}
