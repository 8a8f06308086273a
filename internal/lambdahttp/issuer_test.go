package lambdahttp_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// An issuer is an OpenID Connect issuer with keys of its own.
type issuer struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []key
	asked map[string]int // by path
	down  bool
	now   time.Time
}

type key struct {
	id     string
	secret crypto.Signer
}

func newIssuer(t *testing.T, keys ...key) *issuer {
	t.Helper()
	is := &issuer{keys: keys, asked: map[string]int{}, now: time.Unix(1796066345, 0)}
	is.Server = httptest.NewServer(http.HandlerFunc(is.serve))
	t.Cleanup(is.Close)
	return is
}

func (is *issuer) serve(w http.ResponseWriter, r *http.Request) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.asked[r.URL.Path]++
	if is.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		// An issuer that says it signs with less than a signature is not believed.
		write(w, map[string]any{
			"issuer": is.URL, "jwks_uri": is.URL + "/keys", "id_token_signing_alg_values_supported": []string{"none", "HS256"},
		})
	case "/keys":
		set := []map[string]string{}
		for _, k := range is.keys {
			set = append(set, k.public())
		}
		write(w, map[string]any{"keys": set})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func write(w io.Writer, v any) { _ = json.MarshalWrite(w, v) }

// change runs f while no request is served.
func (is *issuer) change(f func()) {
	is.mu.Lock()
	defer is.mu.Unlock()
	f()
}

func (is *issuer) clock() time.Time {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.now
}

func (is *issuer) count(path string) int {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.asked[path]
}

// claims returns the claims of a valid token, with changes; nil removes one.
func (is *issuer) claims(changes map[string]any) map[string]any {
	now := is.clock()
	c := map[string]any{
		"iss": is.URL, "aud": []string{"other", "stepwell"}, "sub": "ann", "azp": "phone", "tenant": "acme",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for name, value := range changes {
		c[name] = value
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

func rsaKey(t *testing.T, id string) key {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, k}
}

func ecKey(t *testing.T, id string) key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, k}
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// public is the key as a JSON Web Key.
func (k key) public() map[string]string {
	switch pub := k.secret.Public().(type) {
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "kid": k.id, "use": "sig", "n": b64(pub.N.Bytes()), "e": b64(big.NewInt(int64(pub.E)).Bytes())}
	case *ecdsa.PublicKey:
		point, err := pub.Bytes()
		if err != nil {
			panic(err)
		}
		return map[string]string{"kty": "EC", "crv": "P-256", "kid": k.id, "use": "sig", "x": b64(point[1:33]), "y": b64(point[33:])}
	}
	panic("no such key")
}

func parts(header map[string]any, claims map[string]any) string {
	h, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	c, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return b64(h) + "." + b64(c)
}

// sign returns a token of RS256 or ES256.
func (k key) sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	alg := "RS256"
	if _, ok := k.secret.(*ecdsa.PrivateKey); ok {
		alg = "ES256"
	}
	token := parts(map[string]any{"alg": alg, "typ": "JWT", "kid": k.id}, claims)
	sum := sha256.Sum256([]byte(token))
	if ec, ok := k.secret.(*ecdsa.PrivateKey); ok {
		r, s, err := ecdsa.Sign(rand.Reader, ec, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return token + "." + b64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	}
	sig, err := k.secret.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return token + "." + b64(sig)
}

// unsigned returns a token of the algorithm none.
func unsigned(claims map[string]any) string {
	return parts(map[string]any{"alg": "none", "typ": "JWT"}, claims) + "."
}

// shared returns a token of HS256, made with what everybody knows of a key.
func (k key) shared(claims map[string]any) string {
	token := parts(map[string]any{"alg": "HS256", "kid": k.id}, claims)
	mac := hmac.New(sha256.New, []byte(k.public()["n"]+k.public()["x"]))
	_, _ = io.WriteString(mac, token)
	return token + "." + b64(mac.Sum(nil))
}
