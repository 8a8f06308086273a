package lambdahttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// Options configure [Serve] and [Stream]. The zero value of each is its default.
type Options struct {
	// Logger gets what goes wrong here. Default: none.
	Logger *slog.Logger
	// Timeout ends the context of a request of [Serve]: API Gateway hangs up after 30 s, and what still runs then is paid for and thrown away.
	// Default: 28 s; negative: the request may take as long as the invocation.
	Timeout time.Duration
	// Margin is how long before the end of the invocation the handler's context ends. Default: 1 s.
	Margin time.Duration
	// Limit is how many bytes an answer of [Serve] may have as JSON. Default: Lambda's limit.
	Limit int
	// Now is the clock of write deadlines. Default: the wall clock.
	Now func() time.Time
}

// maxAnswer is Lambda's limit for an answer that is not streamed, less a little.
const maxAnswer = 6 << 20

func withDefaults(o *Options) Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Timeout == 0 {
		opts.Timeout = 28 * time.Second
	}
	if opts.Margin == 0 {
		opts.Margin = time.Second
	}
	if opts.Limit == 0 {
		opts.Limit = maxAnswer
	}
	if opts.Now == nil {
		opts.Now = time.Now //nolint:forbidigo // the one default of the injected clock
	}
	return opts
}

// budget returns the handler's context: ctx, ended a margin before the invocation is.
func (o Options) budget(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-o.Margin))
	}
	return context.WithCancel(ctx)
}

// A PanicError is a panic of a handler. Lambda shows its name as the type of the error.
type PanicError struct {
	// Text is what the handler panicked with.
	Text string
}

func (e *PanicError) Error() string { return "the handler panicked: " + e.Text }

// errAborted is the panic [http.ErrAbortHandler]: the handler cut its own answer, and has said why elsewhere.
var errAborted = errors.New("the handler aborted its answer")

// run calls the handler and returns its panic as an error, so that the process serves on.
func (o Options) run(ctx context.Context, h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = errAborted
		default:
			o.Logger.LogAttrs(ctx, slog.LevelError, "panic", slog.String("requestId", r.Header.Get(requestIDHeader)),
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = &PanicError{Text: textOf(p)}
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}
