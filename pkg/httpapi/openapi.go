package httpapi

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
)

// description is the OpenAPI document of everything that is served. It is kept by hand, next to the code that it
// describes; the tests hold every route, request and answer against it.
//
//go:embed openapi.json
var description string

// openAPI serves the description. It changes only with the program.
func (h *Handler) openAPI(w http.ResponseWriter, r *http.Request) error {
	sum := sha256.Sum256([]byte(description))
	return writeTagged(w, r, `"`+hex.EncodeToString(sum[:])+`"`, "no-cache", []byte(description))
}
