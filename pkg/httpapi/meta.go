package httpapi

import (
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// healthz says that the process answers. It touches no store.
func (h *Handler) healthz(w http.ResponseWriter, _ *http.Request) error {
	return plain(w, "ok\n")
}

// readyz says that the store answers.
func (h *Handler) readyz(w http.ResponseWriter, r *http.Request) error {
	select {
	case <-h.closed:
		return problemError{code: "store-unavailable", detail: "the server is shutting down"}
	default:
	}
	if _, err := h.svc.ListSessions(r.Context(), api.ListSessionsOptions{Limit: 1}); err != nil {
		h.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "not ready", slog.Any("error", err))
		return problemError{code: "store-unavailable", detail: "the store does not answer"}
	}
	return plain(w, "ready\n")
}

func (h *Handler) version(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, struct {
		Version string `json:"version"`
	}{h.opts.Version})
}

// explain says what a problem's code means.
func (h *Handler) explain(w http.ResponseWriter, r *http.Request) error {
	code := r.PathValue("code")
	k := kinds(code)
	if k.status == http.StatusInternalServerError && code != "internal" {
		return problemError{code: "not-found", detail: "there is no problem of this name"}
	}
	return plain(w, code+": "+strings.ToLower(k.title[:1])+k.title[1:]+".\n")
}

func plain(w http.ResponseWriter, text string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err := io.WriteString(w, text)
	return ignoreGone(err)
}
