package httpapi

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// Options configure a [Handler]. The zero value of each is its default.
type Options struct {
	// Token, when set, is the bearer token that every request must carry.
	Token string
	// Principal, when set, says who makes a request. Its non-empty members replace those of the actor in the body. Fail with
	// an error that is [api.ErrUnauthorized] or [api.ErrForbidden].
	Principal func(*http.Request) (object.Actor, error)
	// Origins are the web origins, such as https://app.example.com, that browsers may call from besides the server's own.
	Origins []string
	// Hosts are the host names that requests must be addressed to; empty allows all. A server on a loopback address should
	// list its names, so that a web page cannot reach it through a name of its own.
	Hosts []string
	// Logger gets one record for every request. Default: none.
	Logger *slog.Logger
	// Version is what /version answers. Default: "devel".
	Version string
	// BodyLimit is the most bytes that a request body may have. Default: [api.MaxBody].
	BodyLimit int64
	// KeepAlive is the pause after which a quiet stream sends a comment. Default: 15 s.
	KeepAlive time.Duration
	// Reconnect is the delay after which a browser comes back. Default: 1.5 s.
	Reconnect time.Duration
	// MaxStream ends a stream with the event reconnect after this long. Default: no end.
	MaxStream time.Duration
	// MaxWait bounds long polls and waits for a run. Default: 25 s.
	MaxWait time.Duration
	// Coalesce is how long adjacent deltas of one text are gathered. Default: 50 ms; negative: not at all.
	Coalesce time.Duration
	// WriteTimeout is how long one write to a stream may take before its client counts as gone. Default: 30 s.
	WriteTimeout time.Duration
	// Now is the clock for logs and write deadlines. Default: the wall clock.
	Now func() time.Time
}

// A Handler is the HTTP form of a service.
type Handler struct {
	svc      api.Service
	opts     Options
	mux      *http.ServeMux
	outer    http.Handler
	tokenSum [sha256.Size]byte

	closeOnce sync.Once
	closed    chan struct{}
}

// New returns a handler of svc. Nil options are the defaults.
func New(svc api.Service, opts *Options) *Handler {
	h := &Handler{svc: svc, closed: make(chan struct{})}
	if opts != nil {
		h.opts = *opts
	}
	h.opts.setDefaults()
	h.tokenSum = sha256.Sum256([]byte(h.opts.Token))
	h.routes()
	h.outer = h.logged(h.recovered(h.sameSite(h.authorized(http.HandlerFunc(h.dispatch)))))
	return h
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.outer.ServeHTTP(w, r) }

// Close ends every stream and wait, streams with the event reconnect, and makes /readyz fail. Other requests are still
// answered. Call it before shutting a server down, which waits for its requests.
func (h *Handler) Close() { h.closeOnce.Do(func() { close(h.closed) }) }

func (o *Options) setDefaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.KeepAlive, 15*time.Second)
	set(&o.Reconnect, 1500*time.Millisecond)
	set(&o.MaxWait, 25*time.Second)
	set(&o.Coalesce, 50*time.Millisecond)
	set(&o.WriteTimeout, 30*time.Second)
	if o.BodyLimit == 0 {
		o.BodyLimit = api.MaxBody
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one default of the injected clock
	}
}
