package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Serve returns the Lambda handler that answers each event with one value: for an HTTP API, and for a function URL in the mode BUFFERED. Its error
// is always nil: whatever goes wrong is answered with a problem (RFC 9457) and logged. A nil o is the defaults.
func Serve(h http.Handler, o *Options) func(context.Context, Request) (events.APIGatewayV2HTTPResponse, error) {
	opts := withDefaults(o)
	return func(ctx context.Context, e Request) (events.APIGatewayV2HTTPResponse, error) {
		return opts.serve(ctx, h, &e), nil
	}
}

func (o Options) serve(ctx context.Context, h http.Handler, e *Request) events.APIGatewayV2HTTPResponse {
	ctx, cancel := o.budget(ctx)
	defer cancel()
	if o.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	if claims := e.verified(); claims != nil {
		ctx = context.WithValue(ctx, verifiedKey{}, claims)
	}
	id := e.RequestContext.RequestID
	r, err := e.request(ctx)
	if err != nil {
		return buffered(id, "malformed", err.Error())
	}
	id = r.Header.Get(requestIDHeader)
	w := &buffer{answer: newAnswer(r.Method)}
	if err := o.run(ctx, h, w, r); err != nil {
		return buffered(id, "internal", "the log has the cause under this request id")
	}
	if w.status == 0 && ctx.Err() != nil {
		return buffered(id, "deadline", "the handler did not answer in the time that it had")
	}
	resp, size := w.response(o.Limit)
	if size > o.Limit {
		o.Logger.LogAttrs(ctx, slog.LevelError, "answer too large", slog.String("requestId", id), slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("bytes", size))
		return buffered(id, "answer-too-large", "the answer has "+strconv.Itoa(size)+" bytes, Lambda carries "+strconv.Itoa(o.Limit)+
			"; ask for less, for example with a smaller limit")
	}
	return resp
}

// buffered returns a problem as an answer.
func buffered(requestID, code, detail string) events.APIGatewayV2HTTPResponse {
	w := &buffer{answer: newAnswer("")}
	writeProblem(w, requestID, code, detail)
	resp, _ := w.response(maxAnswer)
	return resp
}

// A buffer is the response writer of an answer in one value. It cannot flush, and says so by not having the method.
type buffer struct {
	answer
	body bytes.Buffer
}

// Write adds to the body.
func (b *buffer) Write(p []byte) (int, error) {
	if b.status == 0 {
		b.WriteHeader(http.StatusOK)
	}
	if !b.hasBody() {
		if b.method == http.MethodHead {
			return len(p), nil
		}
		return 0, http.ErrBodyNotAllowed
	}
	return b.body.Write(p)
}

// response returns the answer and its size as JSON. A body is base64 only if it cannot be text, or does not fit as text.
func (b *buffer) response(limit int) (events.APIGatewayV2HTTPResponse, int) {
	if b.status == 0 {
		b.WriteHeader(http.StatusOK)
	}
	body := b.body.Bytes()
	b.sniff(body)
	resp := events.APIGatewayV2HTTPResponse{StatusCode: b.status}
	resp.Headers, resp.Cookies = b.fields()
	frame := 256 // braces, names and the status
	for name, value := range resp.Headers {
		frame += escaped(name) + escaped(value) + len(`"":"",`)
	}
	for _, value := range resp.Cookies {
		frame += escaped(value) + len(`"",`)
	}
	encoded := base64.StdEncoding.EncodedLen(len(body))
	if utf8.Valid(body) {
		size := escaped(string(body))
		if frame+size <= limit || size <= encoded {
			resp.Body = string(body)
			return resp, frame + size
		}
	}
	if frame+encoded <= limit {
		resp.Body, resp.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return resp, frame + encoded
}

// escaped returns how many bytes a text has inside a JSON string, as encoding/json writes it for Lambda.
func escaped(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		case c == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8: // U+2028 and U+2029
			n += len(`\u2028`) - 3
		}
	}
	return n
}
