package httpapi

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := api.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	return writeBytes(w, status, data)
}

// outcome answers 200 with a domain outcome.
func outcome(w http.ResponseWriter, v any) error { return writeJSON(w, http.StatusOK, v) }

// writeTagged answers with v under an entity tag, or with 304 when the client has it.
func writeTagged(w http.ResponseWriter, r *http.Request, tag, cache string, v any) error {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", cache)
	if noneMatch(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if data, ok := v.([]byte); ok {
		return writeBytes(w, http.StatusOK, data)
	}
	return writeJSON(w, http.StatusOK, v)
}

func writeBytes(w http.ResponseWriter, status int, data []byte) error {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, err := w.Write(data)
	return ignoreGone(err)
}

// ignoreGone drops a write error: the status is sent, and the only one to tell is gone.
func ignoreGone(error) error { return nil }
