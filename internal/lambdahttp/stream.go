package lambdahttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

var (
	// errGone is what the handler's writes return when nobody reads any more.
	errGone = errors.New("the client has gone")
	// errOverdue ends a stream whose handler did not, when the invocation is about to.
	errOverdue = errors.New("the handler did not end in the time that it had")
	// errUnread ends a stream that nobody has read from for as long as the handler's write deadline allows.
	errUnread = errors.New("the client did not read in the time allowed")
)

// Stream returns the Lambda handler that answers while h still writes: for a function URL in the mode RESPONSE_STREAM. Compile with the tag
// lambda.norpc. Lambda starts to send when h writes or flushes for the first time, and then gets every write as it comes.
//
// The context of h ends a margin before the invocation, and when Lambda stops reading, which the runtime notices at the next write: a quiet stream
// should write something now and then. Lambda may go on reading when a client has left, so a stream also needs a planned end. A panic of h, and a
// handler that does not end in time, end the stream with an error, which Lambda reports. The handler never outlives the invocation: closing the
// response waits for it.
//
// A browser's EventSource cannot send the header Authorization, and no token is taken from the query, where logs would keep it: read the stream with
// fetch. A nil o is the defaults.
func Stream(h http.Handler, o *Options) func(context.Context, Request) (*events.LambdaFunctionURLStreamingResponse, error) {
	opts := withDefaults(o)
	return func(ctx context.Context, e Request) (*events.LambdaFunctionURLStreamingResponse, error) {
		return opts.stream(ctx, h, &e), nil
	}
}

// Either returns the Lambda handler of a function that has both doors: what comes through its function URL is answered by url as [Stream] does, all
// else by gateway as [Serve] does.
func Either(gateway, url http.Handler, o *Options) func(context.Context, Request) (any, error) {
	opts := withDefaults(o)
	return func(ctx context.Context, e Request) (any, error) {
		if e.FromFunctionURL() {
			return opts.stream(ctx, url, &e), nil
		}
		return opts.serve(ctx, gateway, &e), nil
	}
}

func (o Options) stream(invocation context.Context, h http.Handler, e *Request) *events.LambdaFunctionURLStreamingResponse {
	ctx, cancel := o.budget(invocation)
	r, err := e.request(ctx)
	if err != nil {
		cancel()
		return whole(buffered(e.RequestContext.RequestID, "malformed", err.Error()))
	}
	pr, pw := io.Pipe()
	s := &stream{
		answer: newAnswer(r.Method), opts: o, id: r.Header.Get(requestIDHeader), pw: pw, cancel: cancel,
		ready: make(chan struct{}), ended: make(chan struct{}),
	}
	s.body = &body{Reader: pr, stop: func() {
		cancel()
		_ = pr.CloseWithError(errGone) // always nil
		select {
		case <-s.ended:
		case <-invocation.Done():
			o.Logger.LogAttrs(invocation, slog.LevelError, "handler outlives its invocation", slog.String("requestId", s.id))
		}
	}}
	go s.serve(ctx, h, r)
	go s.watch(ctx)
	<-s.ready
	return s.resp
}

// whole returns an answer that is complete in the form of one that is streamed.
func whole(a events.APIGatewayV2HTTPResponse) *events.LambdaFunctionURLStreamingResponse {
	return &events.LambdaFunctionURLStreamingResponse{StatusCode: a.StatusCode, Headers: a.Headers, Cookies: a.Cookies, Body: strings.NewReader(a.Body)}
}

// A body is what Lambda reads. It closes it before the next invocation, read to the end or not.
type body struct {
	io.Reader
	stop func()
}

// Close ends the handler's context and waits until the handler has returned.
func (b *body) Close() error {
	b.stop()
	return nil
}

// serve runs the handler and ends the body as the handler ended.
func (s *stream) serve(ctx context.Context, h http.Handler, r *http.Request) {
	defer s.cancel()
	defer close(s.ended)
	err := s.opts.run(ctx, h, s, r)
	switch {
	case s.committed():
	case err != nil:
		s.problem("internal", "the log has the cause under this request id")
		err = nil // it is answered
	case s.status == 0 && ctx.Err() != nil:
		s.problem("deadline", "the handler did not answer in the time that it had")
	default:
		s.Flush()
	}
	_ = s.pw.CloseWithError(err) // always nil
}

// problem answers in place of the handler.
func (s *stream) problem(code, detail string) {
	s.answer = newAnswer(s.method)
	writeProblem(s, s.id, code, detail)
}

// watch cuts a stream whose handler does not end soon after its context.
func (s *stream) watch(ctx context.Context) {
	select {
	case <-s.ended:
		return
	case <-ctx.Done():
	}
	grace := time.NewTimer(s.opts.Margin / 2)
	defer grace.Stop()
	select {
	case <-s.ended:
	case <-grace.C:
		s.opts.Logger.LogAttrs(ctx, slog.LevelError, "handler overdue", slog.String("requestId", s.id))
		s.begin(func() {
			s.resp = whole(buffered(s.id, "deadline", errOverdue.Error()))
			s.body.Reader, s.resp.Body = s.resp.Body, s.body
		})
		_ = s.pw.CloseWithError(errOverdue) // always nil
	}
}
