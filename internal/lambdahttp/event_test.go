package lambdahttp_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
)

// recorded returns a recorded event as Lambda sends it. Each edit is a text to replace and its replacement.
func recorded(t *testing.T, name string, edits ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("%s.json does not contain %q", name, edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	return []byte(text)
}

// request is recorded as the value that a Lambda handler is called with.
func request(t *testing.T, name string, edits ...string) lambdahttp.Request {
	t.Helper()
	var e lambdahttp.Request
	if err := json.Unmarshal(recorded(t, name, edits...), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// invoke answers an event through the encoding that Lambda's runtime does, and returns the answer and its bytes.
func invoke(t *testing.T, h http.Handler, o *lambdahttp.Options, event []byte) (events.APIGatewayV2HTTPResponse, []byte) {
	t.Helper()
	out, err := lambda.NewHandler(lambdahttp.Serve(h, o)).Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	var resp events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &resp); err != nil {
		t.Fatalf("%v in %.300s", err, out)
	}
	return resp, out
}

// bodyOf is the body as the gateway would send it on.
func bodyOf(t *testing.T, r events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	if !r.IsBase64Encoded {
		return r.Body
	}
	data, err := base64.StdEncoding.DecodeString(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A problem is the part of an error answer that the tests look at.
type problem struct {
	Type, Title, Detail, Code, Instance string
	Status                              int
	RequestID                           string `json:"requestId"`
}

func problemOf(t *testing.T, contentType, body string) problem {
	t.Helper()
	if contentType != "application/problem+json" {
		t.Fatalf("content type %q of %q, want a problem", contentType, body)
	}
	var p problem
	if err := json.Unmarshal([]byte(body), &p, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	return p
}

// wantProblem checks an answer that is a problem.
func wantProblem(t *testing.T, r events.APIGatewayV2HTTPResponse, status int, code string) problem {
	t.Helper()
	p := problemOf(t, r.Headers["Content-Type"], r.Body)
	if r.StatusCode != status || p.Status != status || p.Code != code || p.Type != "https://stepwell.dev/problems/"+code || p.Title == "" {
		t.Fatalf("%d %+v, want %d %s", r.StatusCode, p, status, code)
	}
	return p
}

func answering(f func(w http.ResponseWriter, r *http.Request)) http.Handler {
	return http.HandlerFunc(f)
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// seen runs an event and returns the request that the handler got, and its body.
func seen(t *testing.T, event []byte) (*http.Request, string) {
	t.Helper()
	var got *http.Request
	var body string
	invoke(t, answering(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.WithoutCancel(r.Context()))
		body = readAll(t, r.Body)
	}), nil, event)
	if got == nil {
		t.Fatal("the handler was not called")
	}
	return got, body
}
