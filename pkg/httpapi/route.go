package httpapi

import "net/http"

// A route is one operation; its error becomes a problem.
type route func(w http.ResponseWriter, r *http.Request) error

// An entry is one row of the route table.
type entry struct {
	pattern string // as [http.ServeMux] takes it
	serve   route
}

// table lists everything that is served.
func (h *Handler) table() []entry {
	return []entry{
		{"GET /healthz", h.healthz},
		{"GET /readyz", h.readyz},
		{"GET /version", h.version},
		{"GET /problems/{code}", h.explain},
		{"GET /openapi.json", h.openAPI},
		{"GET /v1/landing", h.landing},
		{"POST /v1/sessions", h.createSession},
		{"GET /v1/sessions", h.listSessions},
		{"GET /v1/sessions/{id}", h.getSession},
		{"PATCH /v1/sessions/{id}", h.patchSession},
		{"DELETE /v1/sessions/{id}", h.deleteSession},
		{"POST /v1/sessions/{id}/config", h.configure},
		{"GET /v1/sessions/{id}/messages", h.listMessages},
		{"GET /v1/sessions/{id}/pending", h.pending},
		{"POST /v1/sessions/{id}/changes/{change}/cancel", h.cancel},
		{"POST /v1/sessions/{id}/changes/{change}/redeliver", h.redeliver},
		{"GET /v1/sessions/{id}/run", h.currentRun},
		{"GET /v1/sessions/{id}/runs/wait", h.waitRun},
		{"POST /v1/sessions/{id}/runs/abort", h.abort},
		{"GET /v1/sessions/{id}/runs/{run}/changes", h.runChanges},
		{"POST /v1/sessions/{id}/replies", h.reply},
		{"GET /v1/sessions/{id}/context", h.context},
		{"GET /v1/sessions/{id}/usage", h.usage},
		{"GET /v1/sessions/{id}/heads", h.listHeads},
		{"POST /v1/sessions/{id}/heads", h.createHead},
		{"GET /v1/sessions/{id}/heads/{head}", h.getHead},
		{"DELETE /v1/sessions/{id}/heads/{head}", h.deleteHead},
		{"POST /v1/sessions/{id}/heads/{head}/move", h.moveHead},
		{"POST /v1/sessions/{id}/heads/{head}/merge", h.mergeHead},
		{"POST /v1/sessions/{id}/heads/{head}/advance", h.advanceBase},
		{"GET /v1/sessions/{id}/tree", h.tree},
		{"GET /v1/sessions/{id}/refs", h.refs},
		{"GET /v1/sessions/{id}/reflog", h.reflog},
		{"GET /v1/sessions/{id}/objects/{oid}", h.object},
		{"POST /v1/sessions/{id}/fsck", h.fsck},
		{"POST /v1/sessions/{id}/trim", h.trim},
		{"POST /v1/sessions/{id}/collect", h.collect},
		{"POST /v1/sessions/{id}/messages", h.send},
		{"GET /v1/sessions/{id}/snapshot", h.snapshot},
		{"GET /v1/sessions/{id}/events", h.events},
		{"POST /v1/sessions/{id}/steps", h.step},
		// These also answer without the version.
		{"POST /sessions/{id}/messages", h.send},
		{"GET /sessions/{id}/snapshot", h.snapshot},
		{"GET /sessions/{id}/events", h.events},
		{"POST /sessions/{id}/steps", h.step},
	}
}

func (h *Handler) routes() {
	h.mux = http.NewServeMux()
	for _, e := range h.table() {
		h.mux.Handle(e.pattern, h.problems(e.serve))
	}
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
