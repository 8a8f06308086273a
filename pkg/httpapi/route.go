package httpapi

import (
	"net/http"
	"strings"
)

// A route is one operation; its error becomes a problem.
type route func(w http.ResponseWriter, r *http.Request) error

func (h *Handler) routes() {
	h.mux = http.NewServeMux()
	h.metaRoutes()
	h.on("GET /landing", h.landing)
	h.on("POST /sessions", h.createSession)
	h.on("GET /sessions", h.listSessions)
	h.on("GET /sessions/{id}", h.getSession)
	h.on("PATCH /sessions/{id}", h.patchSession)
	h.on("DELETE /sessions/{id}", h.deleteSession)
	h.on("POST /sessions/{id}/config", h.configure)
	h.on("GET /sessions/{id}/messages", h.listMessages)
	h.on("GET /sessions/{id}/pending", h.pending)
	h.on("POST /sessions/{id}/changes/{change}/cancel", h.cancel)
	h.on("POST /sessions/{id}/changes/{change}/redeliver", h.redeliver)
	h.on("GET /sessions/{id}/run", h.currentRun)
	h.on("GET /sessions/{id}/runs/wait", h.waitRun)
	h.on("POST /sessions/{id}/runs/abort", h.abort)
	h.on("GET /sessions/{id}/runs/{run}/changes", h.runChanges)
	h.on("POST /sessions/{id}/replies", h.reply)
	h.on("GET /sessions/{id}/context", h.context)
	h.on("GET /sessions/{id}/usage", h.usage)
	h.on("GET /sessions/{id}/heads", h.listHeads)
	h.on("POST /sessions/{id}/heads", h.createHead)
	h.on("GET /sessions/{id}/heads/{head}", h.getHead)
	h.on("DELETE /sessions/{id}/heads/{head}", h.deleteHead)
	h.on("POST /sessions/{id}/heads/{head}/move", h.moveHead)
	h.on("POST /sessions/{id}/heads/{head}/merge", h.mergeHead)
	h.on("POST /sessions/{id}/heads/{head}/advance", h.advanceBase)
	h.on("GET /sessions/{id}/tree", h.tree)
	h.on("GET /sessions/{id}/refs", h.refs)
	h.on("GET /sessions/{id}/reflog", h.reflog)
	h.on("GET /sessions/{id}/objects/{oid}", h.object)
	h.on("POST /sessions/{id}/fsck", h.fsck)
	h.on("POST /sessions/{id}/trim", h.trim)
	h.on("POST /sessions/{id}/collect", h.collect)
	h.onBoth("POST /sessions/{id}/messages", h.send)
	h.onBoth("GET /sessions/{id}/snapshot", h.snapshot)
	h.onBoth("GET /sessions/{id}/events", h.events)
	h.onBoth("POST /sessions/{id}/steps", h.step)
}

// on serves pattern under /v1.
func (h *Handler) on(pattern string, f route) {
	method, path, _ := strings.Cut(pattern, " ")
	h.mux.Handle(method+" /v1"+path, h.problems(f))
}

// onBoth serves pattern with and without /v1.
func (h *Handler) onBoth(pattern string, f route) {
	h.on(pattern, f)
	h.mux.Handle(pattern, h.problems(f))
}

func (h *Handler) problems(f route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			h.fail(w, r, err)
		}
	})
}

// dispatch is the mux with problems in place of its plain text errors.
func (h *Handler) dispatch(w http.ResponseWriter, r *http.Request) {
	miss, pattern := h.mux.Handler(r)
	if pattern != "" {
		h.mux.ServeHTTP(w, r)
		return
	}
	var probe missWriter
	miss.ServeHTTP(&probe, r)
	switch {
	case probe.status == http.StatusMethodNotAllowed:
		w.Header().Set("Allow", probe.header.Get("Allow"))
		h.fail(w, r, problemError{code: "method-not-allowed", detail: r.Method + " is not offered here; use " + probe.header.Get("Allow")})
	case probe.status >= 300 && probe.status < 400:
		miss.ServeHTTP(w, r)
	default:
		h.fail(w, r, problemError{code: "not-found", detail: "there is no " + r.URL.Path})
	}
}

// A missWriter finds out what the mux would answer.
type missWriter struct {
	header http.Header
	status int
}

func (m *missWriter) Header() http.Header {
	if m.header == nil {
		m.header = http.Header{}
	}
	return m.header
}
func (m *missWriter) Write(p []byte) (int, error) { return len(p), nil }
func (m *missWriter) WriteHeader(status int)      { m.status = status }
