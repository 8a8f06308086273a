package deploy

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	issuerKeyBits = 2048
	issuerKeyID   = "test"
	// issuerHeaderTimeout is far above what anyone on this machine takes to send a header.
	issuerHeaderTimeout = 10 * time.Second
)

// An Issuer signs tokens, and says on the loopback interface by which key, as any OpenID provider does.
type Issuer struct {
	// URL is the claim iss of its tokens.
	URL    string
	key    *rsa.PrivateKey
	server *http.Server
}

// NewIssuer starts an issuer. The caller closes it.
func NewIssuer() (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, issuerKeyBits)
	if err != nil {
		return nil, fmt.Errorf("making the key of an issuer: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return nil, fmt.Errorf("starting an issuer: %w", err)
	}
	i := &Issuer{URL: "http://" + l.Addr().String(), key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", answer(map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"},
	}))
	mux.HandleFunc("GET /keys", answer(map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": issuerKeyID, "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
	}}}))
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: issuerHeaderTimeout}
	go func() { _ = i.server.Serve(l) }()
	return i, nil
}

// Close ends the issuer.
func (i *Issuer) Close() error { return i.server.Close() }

// Token signs claims. The claim iss is added where it is missing; aud, sub, iat and exp are the caller's.
func (i *Issuer) Token(claims map[string]any) (string, error) {
	full := map[string]any{"iss": i.URL}
	for name, value := range claims {
		full[name] = value
	}
	header, err := json.Marshal(map[string]any{"alg": "RS256", "typ": "JWT", "kid": issuerKeyID})
	if err != nil {
		return "", fmt.Errorf("writing a token: %w", err)
	}
	payload, err := json.Marshal(full)
	if err != nil {
		return "", fmt.Errorf("writing a token: %w", err)
	}
	text := encode(header) + "." + encode(payload)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return text + "." + encode(signature), nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func answer(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, body)
	}
}
