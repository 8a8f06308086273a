package lambdahttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/lambdahttp"
	"github.com/stepwell-dev/stepwell/internal/sse"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// embedded returns the service over a store in memory.
func embedded(t *testing.T) *sdk.Stepwell {
	t.Helper()
	st := memstore.New(nil)
	player := scripted.Play(scripted.Text("hello \u2028"), scripted.End(message.StopEnd))
	host, err := sdk.New(sdk.Options{Store: st, Models: llm.NewCatalog(player), DefaultModel: player.Models()[0].Model})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(host.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return host
}

// A door turns requests of a client into events for a Lambda handler, and its answers back. It decodes paths as an HTTP API does.
func door(t *testing.T, h http.Handler) http.RoundTripper {
	t.Helper()
	return transport(func(r *http.Request) (*http.Response, error) {
		e := request(t, "httpapi")
		e.RequestContext.HTTP.Method = r.Method
		e.RawPath, e.RawQueryString, e.Cookies, e.Body = r.URL.Path, r.URL.RawQuery, nil, ""
		if r.Body != nil {
			data, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			e.Body = string(data)
		}
		e.Headers = map[string]string{"host": r.URL.Host}
		for name, values := range r.Header {
			e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
		}
		resp, err := lambdahttp.Serve(h, nil)(r.Context(), e)
		if err != nil {
			return nil, err
		}
		header := http.Header{}
		for name, value := range resp.Headers {
			header.Set(name, value)
		}
		return &http.Response{
			StatusCode: resp.StatusCode, Header: header, Body: io.NopCloser(strings.NewReader(bodyOf(t, resp))), Request: r,
		}, nil
	})
}

type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// principal is how a function tells httpapi who makes a request.
func principal(r *http.Request) (object.Actor, error) {
	c, ok := lambdahttp.ClaimsOf(r.Context())
	if !ok {
		return object.Actor{}, api.ErrUnauthorized
	}
	return object.Actor{UserID: c.User, ClientID: c.Client}, nil
}

func TestRoundTripsOfTheAPI(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	host := embedded(t)
	if err := host.Attach(ctx, sdk.AttachOptions{}); err != nil {
		t.Fatal(err)
	}
	h := httpapi.New(host, &httpapi.Options{Principal: principal})
	defer h.Close()
	c, err := client.New("https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com", &client.Options{
		HTTP: &http.Client{Transport: door(t, lambdahttp.Authorized("tenant", h))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateSession(ctx, api.CreateSessionOptions{SessionID: "s", Name: "λ \"quoted\"\u2028"}); err != nil {
		t.Fatal(err)
	}
	if info, err := c.GetSession(ctx, api.SessionOptions{SessionID: "s"}); err != nil || info.Name != "λ \"quoted\"\u2028" {
		t.Errorf("%+v, %v", info, err)
	}
	// The author is who the token says, whatever the body says.
	_, err = c.Send(ctx, api.SendOptions{SessionID: "s", Key: "k", Content: api.Text("hi"), Actor: &object.Actor{UserID: "somebody-else", Device: "phone-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitRun(ctx, api.HeadOptions{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	page, err := c.ListMessages(ctx, api.TranscriptOptions{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	var author *object.Actor
	var answer string
	for _, item := range page.Items {
		turn, _ := item.(api.Turn)
		for _, part := range turn.Parts {
			if p, ok := part.(api.UserPart); ok {
				author = p.Author
			}
			if p, ok := part.(api.AssistantPart); ok {
				answer += p.Text
			}
		}
	}
	if diff := cmp.Diff(&object.Actor{ClientID: "phone", UserID: "auth0|5fe435b5", Device: "phone-1"}, author); diff != "" || answer != "hello \u2028" {
		t.Errorf("answer %q, author:\n%s", answer, diff)
	}
	if _, err := c.CreateHead(ctx, api.CreateHeadOptions{SessionID: "s", Head: "a,b#世+c", Parent: "main"}); err != nil {
		t.Fatal(err)
	}
	if out, err := c.DeleteHead(ctx, api.DeleteHeadOptions{SessionID: "s", Head: "a,b#世+c"}); err != nil {
		t.Errorf("a head with a name that needs escapes: %T, %v", out, err)
	}
	if _, err := c.GetSession(ctx, api.SessionOptions{SessionID: "none"}); !errors.Is(err, api.ErrSessionNotFound) {
		t.Errorf("%v", err)
	}
}

// A stream through the function URL, read as Lambda reads it, until the client leaves.
func TestEventStreamOfTheAPI(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	host := embedded(t)
	if _, err := host.CreateSession(ctx, api.CreateSessionOptions{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	k := ecKey(t, "k")
	is := newIssuer(t, k)
	h := httpapi.New(host, &httpapi.Options{Principal: principal, KeepAlive: 50 * time.Millisecond})
	defer h.Close()
	f := lambdahttp.Either(nil, lambdahttp.Verified(newVerifier(t, is), h), nil)

	e := request(t, "functionurl", "/v1/sessions/a%2Fb/events", "/v1/sessions/s/events", `"last-event-id": "7",`, ``, `"after=3&named=1"`, `"after=0"`)
	out, err := f(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	refused := out.(interface {
		io.ReadCloser
		ContentType() string
	})
	if got := readAll(t, refused); !strings.HasPrefix(got, `{"statusCode":401,`) || !strings.Contains(got, `"code":"unauthenticated"`) {
		t.Errorf("a bad token: %q", got)
	}
	_ = refused.Close()

	e.Headers["authorization"] = "Bearer " + k.sign(t, is.claims(nil))
	out, err = f(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	stream := out.(io.ReadCloser)
	body := bytes.Buffer{}
	piece := make([]byte, 512)
	for !strings.Contains(body.String(), ": open") {
		n, err := stream.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		body.Write(piece[:n])
	}
	if got := body.String(); !strings.HasPrefix(got, `{"statusCode":200,"headers":{`) || !strings.Contains(got, `"Content-Type":"text/event-stream"`) {
		t.Errorf("%q", got)
	}
	_, err = host.Send(ctx, api.SendOptions{SessionID: "s", Key: "k", Content: api.Text("hi")})
	if err != nil {
		t.Fatal(err)
	}
	events := sse.NewReader(stream)
	for {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if event.Event == "queued" {
			break
		}
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

// A problem that is made here looks like one of the API.
func TestProblemsLookLikeThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	h := httpapi.New(nil, &httpapi.Options{Principal: principal})
	for what, handler := range map[string]http.Handler{
		"unauthenticated": lambdahttp.Authorized("tenant", http.NotFoundHandler()), "the API's": h,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/sessions", nil)
		r.Header.Set("X-Request-Id", "r1")
		handler.ServeHTTP(w, r)
		p := problemOf(t, w.Header().Get("Content-Type"), w.Body.String())
		want := problem{
			Type: httpapi.ProblemBase + "unauthenticated", Title: "A valid token is needed", Status: 401, Detail: p.Detail, Code: "unauthenticated",
			Instance: "urn:request:r1", RequestID: "r1",
		}
		if diff := cmp.Diff(want, p); diff != "" || w.Code != 401 || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Request-Id") != "r1" {
			t.Errorf("%s: %d %v\n%s", what, w.Code, w.Header(), diff)
		}
	}
	for code, want := range map[string]string{"deadline": "504", "internal": "500", "malformed": "400", "forbidden": "403"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/problems/"+code, nil))
		if w.Code != 200 {
			t.Errorf("the API does not explain %s (%s): %d", code, want, w.Code)
		}
	}
}
