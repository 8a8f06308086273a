package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

type (
	requestIDKey struct{}
	principalKey struct{}
)

func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestIDKey{}).(string)
	return id
}

// logged gives every request an id and writes one log record about it.
func (h *Handler) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := h.opts.Now()
		id := r.Header.Get("X-Request-Id")
		if !plainID(id) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
		rec := &recorder{ResponseWriter: w}
		defer func() { //nolint:contextcheck // it logs with the request's own context
			level := slog.LevelInfo
			if rec.status >= http.StatusInternalServerError {
				level = slog.LevelError
			}
			h.opts.Logger.LogAttrs(r.Context(), level, "request", slog.String("requestId", id), slog.String("method", r.Method),
				slog.String("path", r.URL.Path), slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
				slog.Duration("took", h.opts.Now().Sub(start)))
		}()
		next.ServeHTTP(rec, r)
	})
}

// recovered turns a panic into a problem; the process serves on.
func (h *Handler) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { //nolint:contextcheck // it logs with the request's own context
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // a sentinel that is compared, not wrapped
				panic(p)
			}
			h.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("requestId", requestID(r)),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			if rec, ok := w.(*recorder); ok && rec.status != 0 {
				panic(http.ErrAbortHandler) // the answer is half sent: cut it, so that nobody takes it for a whole one
			}
			h.fail(w, r, fmt.Errorf("panic: %v", p))
		}()
		next.ServeHTTP(w, r)
	})
}

// sameSite keeps other web sites out: those that are not listed cannot make a browser write here, and none can reach the
// server through a name that is not its own.
func (h *Handler) sameSite(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	for _, o := range h.opts.Origins {
		if err := guard.AddTrustedOrigin(o); err != nil {
			panic(fmt.Errorf("httpapi: Options.Origins: %w", err)) // a mistake of the program, found when it starts
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(h.opts.Hosts) > 0 && !slices.Contains(h.opts.Hosts, hostName(r.Host)) {
			h.fail(w, r, problemError{code: "forbidden", detail: "this server does not answer to the name " + hostName(r.Host)})
			return
		}
		w.Header().Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(h.opts.Origins, origin) {
			allowOrigin(w.Header(), origin)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		if err := guard.Check(r); err != nil {
			h.fail(w, r, problemError{code: "forbidden", detail: "a page of another web site made this request"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func allowOrigin(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id")
	header.Set("Access-Control-Expose-Headers", "ETag, Retry-After, Idempotent-Replayed, X-Request-Id, Link")
	header.Set("Access-Control-Max-Age", "600")
}

func hostName(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// authorized checks the token and asks for the principal.
func (h *Handler) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if h.opts.Token != "" && !h.tokenMatches(r) {
			h.fail(w, r, api.ErrUnauthorized)
			return
		}
		if h.opts.Principal != nil {
			who, err := h.opts.Principal(r)
			if err != nil {
				h.fail(w, r, err)
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), principalKey{}, who))
		}
		next.ServeHTTP(w, r)
	})
}

// open reports whether path needs no token.
func open(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/version", "/openapi.json":
		return true
	}
	return strings.HasPrefix(path, "/problems/")
}

// tokenMatches reports whether the request has the token, in one header: of two, a proxy may have judged the other.
func (h *Handler) tokenMatches(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	// The sums have one length, so that the time taken says nothing about the token.
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], h.tokenSum[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// actor returns who the request is attributed to: what the body says, overruled by the principal.
func actor(r *http.Request, given *object.Actor) *object.Actor {
	who, ok := r.Context().Value(principalKey{}).(object.Actor)
	if !ok {
		return given
	}
	var a object.Actor
	if given != nil {
		a = *given
	}
	for _, m := range [...]struct {
		to   *string
		from string
	}{{&a.ClientID, who.ClientID}, {&a.UserID, who.UserID}, {&a.Device, who.Device}} {
		if m.from != "" {
			*m.to = m.from
		}
	}
	if a == (object.Actor{}) {
		return nil
	}
	return &a
}

func plainID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// A recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] reach the real writer.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
