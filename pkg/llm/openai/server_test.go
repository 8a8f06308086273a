package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/openai"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

const sayABC = `data: {"choices":[{"index":0,"delta":{"content":"abc"}}]}` + "\n\n"

// answering replies with a status, a body and headers given as name, value pairs.
func answering(status int, body string, headers ...string) wire {
	return func(*http.Request) (*http.Response, error) {
		res := &http.Response{
			StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		}
		for i := 0; i < len(headers); i += 2 {
			res.Header.Set(headers[i], headers[i+1])
		}
		return res, nil
	}
}

func failure(t *testing.T, msg message.Assistant) llm.Failure {
	t.Helper()
	f, ok := llm.FailureOf(msg)
	if !ok || msg.StopReason != message.StopError || msg.ErrorMessage == "" {
		t.Fatalf("want a failed message, got %+v", msg)
	}
	return f
}

// Field report B71: seconds and dates are understood, nonsense is no delay, and no delay is without bound.
func TestB71_RetryAfter(t *testing.T) {
	t.Parallel()
	const hour = int64(time.Hour / time.Millisecond)
	tests := []struct {
		header, value string
		want          int64
	}{
		{"Retry-After", "120", 120_000},
		{"Retry-After", " 1.5 ", 1500},
		{"Retry-After", "0", 0},
		{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT", 28 * 60_000},
		{"Retry-After", "Wednesday, 21-Oct-26 07:00:10 GMT", 10_000},
		{"Retry-After", "Wed, 21 Oct 2020 07:28:00 GMT", 0},
		{"Retry-After", "Wed, 21 Oct 2099 07:28:00 GMT", hour},
		{"Retry-After", "999999999", hour},
		{"Retry-After", strings.Repeat("9", 400), hour},
		{"Retry-After", "soon", 0},
		{"Retry-After", "", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "Inf", 0},
		{"Retry-After", "1e9", 0},
		{"Retry-After", "1.2.3", 0},
		{"Retry-After-Ms", "250", 250},
		{"X-Other", "1", 0},
	}
	for _, test := range tests {
		msg := client(t, answering(429, `{"error":{"message":"slow down"}}`, test.header, test.value)).Stream(t.Context(), hello(), nil)
		want := llm.Failure{Kind: llm.FailureRateLimit, Status: 429, RetryAfterMs: test.want}
		if diff := cmp.Diff(want, failure(t, msg)); diff != "" {
			t.Errorf("%s: %.30q (-want +got):\n%s", test.header, test.value, diff)
		}
	}
}

// Field report B73: an empty balance is no rate limit, though both are 429, and it is not retried.
func TestB73_Quota(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`,
		`{"error":{"message":"x","code":"billing_hard_limit_reached"}}`,
		`{"error":{"message":"Insufficient Balance"}}`,
	} {
		for _, status := range []int{429, 403, 402} {
			msg := client(t, answering(status, body)).Stream(t.Context(), hello(), nil)
			if f := failure(t, msg); f.Kind != llm.FailureQuota || f.Kind.Retryable() {
				t.Errorf("%d %s: %+v", status, body, f)
			}
		}
	}
	limit := `{"error":{"message":"Rate limit reached. Add a payment method at https://platform.openai.com/account/billing.","type":"requests","code":"rate_limit_exceeded"}}`
	if f := failure(t, client(t, answering(429, limit)).Stream(t.Context(), hello(), nil)); f.Kind != llm.FailureRateLimit {
		t.Errorf("a rate limit that names the billing page: %+v", f)
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		body   string
		want   llm.FailureKind
		text   string
	}{
		{500, ``, llm.FailureServer, "500 Internal Server Error: no explanation"},
		{502, "<html>\n bad gateway</html>", llm.FailureServer, "502 Bad Gateway: <html> bad gateway</html>"},
		{503, `{"error":"busy"}`, llm.FailureOverloaded, "busy"},
		{504, ``, llm.FailureTimeout, "504"},
		{524, ``, llm.FailureTimeout, "524"},
		{529, ``, llm.FailureOverloaded, "529"},
		{408, ``, llm.FailureTimeout, "408"},
		{401, `{"error":{"message":"Incorrect API key provided: sk-secret."}}`, llm.FailureAuth, "provided: [key]."},
		{403, `{"detail":"no"}`, llm.FailureAuth, "no"},
		{404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, llm.FailureInvalidRequest, "does not exist"},
		{400, `{"error":{"message":"bad","type":"invalid_request_error"}}`, llm.FailureInvalidRequest, "bad"},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, llm.FailureContextOverflow, "8192"},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":40303}`, llm.FailureContextOverflow, "4096"},
		{500, `{"error":{"message":"the request exceeds the available context size"}}`, llm.FailureContextOverflow, "available"},
		{413, ``, llm.FailureInvalidRequest, "413"},
		{400, `{"error":{"message":"flagged","code":"content_filter"}}`, llm.FailureRefusal, "flagged"},
		{400, `[{"error":{"message":"array","status":"INVALID_ARGUMENT"}}]`, llm.FailureInvalidRequest, "array"},
		{429, `{"error":{"message":"too many tokens per minute"}}`, llm.FailureRateLimit, "per minute"},
		{429, `{"error":{"type":"engine_overloaded_error"}}`, llm.FailureOverloaded, "engine_overloaded_error"},
		{200, `{"error":{"message":"busy","code":503}}`, llm.FailureOverloaded, "busy"},
		{200, `{"choices":[]}`, llm.FailureMalformed, `"application/json" instead of an event stream`},
		{200, "not JSON", llm.FailureMalformed, "instead of an event stream"},
		{418, "\xff", llm.FailureInvalidRequest, "\uFFFD"},
		{304, ``, llm.FailureUnknown, "304"},
	}
	for _, test := range tests {
		msg := client(t, answering(test.status, test.body)).Stream(t.Context(), hello(), nil)
		f := failure(t, msg)
		if f.Kind != test.want || !strings.Contains(msg.ErrorMessage, test.text) {
			t.Errorf("%d %s: kind %s, want %s; text %q", test.status, test.body, f.Kind, test.want, msg.ErrorMessage)
		}
		if want := map[bool]int{true: 0, false: test.status}[test.status == 200]; f.Status != want {
			t.Errorf("%d %s: status %d", test.status, test.body, f.Status)
		}
	}
}

// Field report B72: an error inside a stream that began well is a whole, classified message.
func TestB72_ErrorInsideStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		frame string
		want  llm.FailureKind
	}{
		{`data: {"error":{"message":"Overloaded","type":"overloaded_error"}}`, llm.FailureOverloaded},
		{`data: {"error":{"message":"x","code":429}}`, llm.FailureRateLimit},
		{`data: {"error":{"message":"x","code":"502"}}`, llm.FailureServer},
		{`data: {"error":"something broke"}`, llm.FailureServer},
		{`data: {"error":{"message":"x","type":"invalid_request_error"}}`, llm.FailureInvalidRequest},
		{`data: {"error":{"message":"x","code":"insufficient_quota"}}`, llm.FailureQuota},
		{"event: error\ndata: {\"message\":\"at capacity\"}", llm.FailureOverloaded},
		{"event: error\ndata: \"went wrong\"", llm.FailureServer},
		{`data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n\ndata: [DONE]", llm.FailureServer},
		{`data: <html>`, llm.FailureMalformed},
		{`data: [1,2`, llm.FailureMalformed},
	}
	for _, test := range tests {
		msg := play(t, strings.NewReader(sayABC+test.frame+"\n\n"))
		if f := failure(t, msg); f.Kind != test.want || f.Status != 0 {
			t.Errorf("%s: %+v", test.frame, f)
		}
		if diff := cmp.Diff([]message.Part{message.Text{Text: "abc"}}, msg.Content); diff != "" {
			t.Errorf("%s: content (-want +got):\n%s", test.frame, diff)
		}
	}
}

// Field report B74: a refusal is a visible end that is not retried.
func TestB74_Refusal(t *testing.T) {
	t.Parallel()
	for _, delta := range []string{`{}`, `{"reasoning":"hm"}`, `{"refusal":"no"}`} {
		msg := play(t, strings.NewReader(`data: {"choices":[{"index":0,"delta":`+delta+`,"finish_reason":"content_filter"}]}`+"\n\ndata: [DONE]\n\n"))
		if f := failure(t, msg); f.Kind != llm.FailureRefusal || f.Kind.Retryable() || msg.RawStopReason != "content_filter" {
			t.Errorf("%s: %+v", delta, msg)
		}
	}
}

// until blocks like a silent connection and ends like one when the request does.
type until struct{ ctx context.Context }

func (u until) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, u.ctx.Err()
}

// Field report B76: silence ends, before the response and within it, and time spent on emitting does not count.
func TestB76_Stall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		midway := func(r *http.Request) (*http.Response, error) {
			return streaming(io.MultiReader(strings.NewReader(sayABC), until{r.Context()}))(r)
		}
		slowReader := func(llm.Delta) error { time.Sleep(5 * time.Minute); return nil }
		for name, test := range map[string]struct {
			wire wire
			emit func(llm.Delta) error
			took time.Duration
			text int
		}{
			"before the response": {silent, nil, 60 * time.Second, 0},
			"within the response": {midway, nil, 60 * time.Second, 1},
			"with a slow reader":  {midway, slowReader, 6 * time.Minute, 1},
		} {
			begun := time.Now()
			msg := client(t, test.wire).Stream(t.Context(), hello(), test.emit)
			if f := failure(t, msg); f.Kind != llm.FailureStalled || !f.Kind.Retryable() || len(msg.Content) != test.text {
				t.Errorf("%s: %+v", name, msg)
			}
			if got := time.Since(begun); got != test.took {
				t.Errorf("%s: took %v, want %v", name, got, test.took)
			}
		}
	})
}

// Field report B76: an abort works during the stall.
func TestB76_AbortDuringStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(errors.New("a participant said stop"))
		}()
		begun := time.Now()
		msg := client(t, func(r *http.Request) (*http.Response, error) {
			return streaming(io.MultiReader(strings.NewReader(sayABC), until{r.Context()}))(r)
		}).Stream(ctx, hello(), nil)
		if _, failed := llm.FailureOf(msg); failed || msg.StopReason != message.StopAborted || len(msg.Content) != 1 {
			t.Errorf("got %+v", msg)
		}
		if got := time.Since(begun); got != time.Second {
			t.Errorf("took %v", got)
		}
	})
}

// Keep-alive comments show that the server lives.
func TestKeepAliveIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		go func() {
			for range 10 {
				time.Sleep(50 * time.Second)
				_, _ = io.WriteString(pw, ": wait\n\n")
			}
			_, _ = io.WriteString(pw, sayABC+"data: [DONE]\n\n")
		}()
		if msg := client(t, streaming(pr)).Stream(t.Context(), hello(), nil); msg.StopReason != message.StopEnd {
			t.Errorf("got %+v", msg)
		}
	})
}

func TestEmitErrorStopsReading(t *testing.T) {
	t.Parallel()
	endless := endlessReader{}
	msg := client(t, streaming(endless)).Stream(t.Context(), hello(), func(llm.Delta) error { return errors.New("fenced") })
	if msg.StopReason != message.StopAborted {
		t.Errorf("got %+v", msg)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return copy(p, sayABC), nil }

// A real server that behaves badly over real connections.
func TestBadServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	begin := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, sayABC)
		_ = http.NewResponseController(w).Flush()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /good/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer sk-secret" {
			t.Errorf("Authorization is %q", got)
		}
		begin(w)
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	mux.HandleFunc("POST /limited/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
	})
	mux.HandleFunc("POST /cut/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("POST /dropped/chat/completions", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("POST /stalled/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		<-release
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(release)

	for name, want := range map[string]llm.Failure{
		"good":    {},
		"limited": {Kind: llm.FailureRateLimit, Status: 429, RetryAfterMs: 7000},
		"cut":     {Kind: llm.FailureCut},
		"dropped": {Kind: llm.FailureNetwork},
		"stalled": {Kind: llm.FailureStalled},
		"missing": {Kind: llm.FailureInvalidRequest, Status: 404},
	} {
		limit := time.Minute
		if name == "stalled" {
			limit = 50 * time.Millisecond
		}
		c, err := openai.New(openai.Options{
			BaseURL: server.URL + "/" + name, APIKey: "sk-secret", HTTPClient: server.Client(), StallTimeout: limit,
			Models: []llm.ModelInfo{{Model: llm.Model{ID: "m"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		msg := c.Stream(t.Context(), hello(), nil)
		got, _ := llm.FailureOf(msg)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", name, diff, msg.ErrorMessage)
		}
	}
	unreachable := httptest.NewServer(nil)
	unreachable.Close()
	c, err := openai.New(openai.Options{BaseURL: unreachable.URL, Models: []llm.ModelInfo{{Model: llm.Model{ID: "m"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if f := failure(t, c.Stream(t.Context(), hello(), nil)); f.Kind != llm.FailureNetwork {
		t.Errorf("unreachable: %+v", f)
	}
}
