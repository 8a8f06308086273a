package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/llm"
)

// maxErrorBody is how many bytes of a refusal are read.
const maxErrorBody = 64 << 10

func (c *Client) post(ctx context.Context, watch *watchdog, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if c.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	watch.start()
	defer watch.pause()
	return c.http.Do(req)
}

func isEventStream(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	// Some servers forget the header; what they send shows soon enough what it is.
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "text/event-stream" || kind == "" || kind == "text/plain"
}

// refused classifies a response that is no stream.
func (c *Client) refused(ctx context.Context, res *http.Response, body io.Reader) (llm.Failure, string) {
	data, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if err != nil && len(data) == 0 && res.StatusCode == http.StatusOK {
		return transportFailure(ctx, err), "reading the response: " + reason(ctx, err)
	}
	e := parseError(data)
	f := llm.Failure{Kind: e.classify(res.StatusCode), Status: res.StatusCode, RetryAfterMs: retryAfter(res.Header, c.now())}
	if res.StatusCode == http.StatusOK {
		f.Status = 0
		if !e.found {
			return llm.Failure{Kind: llm.FailureMalformed}, fmt.Sprintf("the server answered with %q instead of an event stream",
				res.Header.Get("Content-Type"))
		}
	}
	status := res.Status
	if status == "" {
		status = fmt.Sprint(res.StatusCode)
	}
	return f, status + ": " + e.text(data)
}

// transportFailure classifies an error of the connection. The end of the caller's ctx is no failure: the builder then
// makes the message an aborted one.
func transportFailure(ctx context.Context, err error) llm.Failure {
	if errors.Is(context.Cause(ctx), errStalled) {
		return llm.Failure{Kind: llm.FailureStalled}
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return llm.Failure{Kind: llm.FailureTimeout}
	}
	return llm.Failure{Kind: llm.FailureNetwork}
}

// reason is the text of err, or of the watchdog when that ended ctx.
func reason(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	return err.Error()
}
