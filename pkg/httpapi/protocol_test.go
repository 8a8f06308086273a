package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

const messages = "/v1/sessions/s/messages"

func TestProblems(t *testing.T) {
	big := `{"content":"` + strings.Repeat("x", 200) + `"}`
	tests := []struct {
		name, method, path, body string
		headers                  []string
		err                      error
		status                   int
		code, pointer            string
	}{
		{name: "unknown route", method: "GET", path: "/v1/nothing", status: 404, code: "not-found"},
		{name: "unknown method", method: "PUT", path: messages, status: 405, code: "method-not-allowed"},
		{name: "other content type", method: "POST", path: messages, body: `x=1`, headers: []string{"Content-Type: application/x-www-form-urlencoded"}, status: 415, code: "unsupported-media-type"},
		{name: "no content type", method: "POST", path: messages, body: `{}`, headers: []string{"Content-Type: "}, status: 415, code: "unsupported-media-type"},
		{name: "latin", method: "POST", path: messages, body: `{}`, headers: []string{"Content-Type: application/json; charset=latin1"}, status: 415, code: "unsupported-media-type"},
		{name: "too large", method: "POST", path: messages, body: big, status: 413, code: "payload-too-large"},
		{name: "cut short", method: "POST", path: messages, body: `{"content":"a"`, status: 400, code: "malformed"},
		{name: "two values", method: "POST", path: messages, body: `{"content":"a"} {}`, status: 400, code: "malformed"},
		{name: "duplicate member", method: "POST", path: messages, body: `{"content":"a","content":"b"}`, status: 400, code: "malformed", pointer: "#/content"},
		{name: "unknown member", method: "POST", path: messages, body: `{"content":"a","lame":"steer"}`, status: 422, code: "validation", pointer: "#/lame"},
		{name: "unknown nested member", method: "POST", path: messages, body: `{"content":"a","actor":{"user":"x"}}`, status: 422, code: "validation", pointer: "#/actor/user"},
		{name: "wrong type", method: "POST", path: messages, body: `{"content":"a","lane":7}`, status: 422, code: "validation", pointer: "#/lane"},
		{name: "wrong part", method: "POST", path: messages, body: `{"content":[{"type":"text","text":"a"},{"type":"video"}]}`, status: 422, code: "validation", pointer: "#/content/1"},
		{name: "wrong member of a part", method: "POST", path: messages, body: `{"content":[{"type":"text","text":5}]}`, status: 422, code: "validation", pointer: "#/content/0/text"},
		{name: "nothing said", method: "POST", path: messages, body: ``, status: 422, code: "validation", pointer: "#/content"},
		{name: "bad UTF-8 outside of content", method: "POST", path: messages, body: "{\"content\":\"a\",\"lane\":\"\xff\"}", status: 400, code: "malformed", pointer: "#/lane"},
		{name: "another session", method: "POST", path: messages, body: `{"sessionId":"t","content":"a"}`, status: 422, code: "validation", pointer: "#/sessionId"},
		{name: "bad session", method: "GET", path: "/v1/sessions/a%2Fb/snapshot", status: 422, code: "validation", pointer: "#/sessionId"},
		{name: "unknown parameter", method: "GET", path: "/v1/sessions/s/snapshot?haed=x", status: 422, code: "validation", pointer: "#/haed"},
		{name: "limit", method: "GET", path: "/v1/sessions?limit=1000", status: 422, code: "validation", pointer: "#/limit"},
		{name: "cursor", method: "GET", path: "/v1/sessions/s/events?after=x", status: 422, code: "validation", pointer: "#/after"},
		{name: "cursor and live", method: "GET", path: "/v1/sessions/s/events?after=1&live=true", status: 422, code: "validation", pointer: "#/live"},
		{name: "bad object id", method: "GET", path: "/v1/sessions/s/objects/xyz", status: 422, code: "validation", pointer: "#/oid"},
		{name: "move to nowhere", method: "POST", path: "/v1/sessions/s/heads/main/move", body: `{}`, status: 422, code: "validation", pointer: "#/to"},
		{name: "collect without grace", method: "POST", path: "/v1/sessions/s/collect", body: `{}`, status: 422, code: "validation", pointer: "#/graceMs"},
		{name: "no session", method: "GET", path: "/v1/sessions/s/snapshot", err: api.ErrSessionNotFound, status: 404, code: "session-not-found"},
		{name: "key reused", method: "POST", path: messages, body: `{"content":"a","key":"k"}`, err: api.ErrKeyReused, status: 422, code: "idempotency-key-reused"},
		{name: "store down", method: "GET", path: "/v1/sessions/s/snapshot", err: api.ErrUnavailable, status: 503, code: "store-unavailable"},
		{name: "secret cause", method: "GET", path: "/v1/sessions/s/snapshot", err: errors.New("password hunter2"), status: 500, code: "internal"},
		{name: "not ready", method: "GET", path: "/readyz", err: errors.New("password hunter2"), status: 503, code: "store-unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := httpapi.New(&fake{err: tt.err, receipt: api.Queued{}}, &httpapi.Options{BodyLimit: 100})
			w := call(t, h, tt.method, tt.path, tt.body, tt.headers...)
			wantProblem(t, w, tt.status, tt.code, tt.pointer)
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the cause is shown: %s", w.Body)
			}
			explained := call(t, h, "GET", "/problems/"+tt.code, "")
			if explained.Code != http.StatusOK {
				t.Errorf("the problem's page answers %d", explained.Code)
			}
		})
	}
	h := httpapi.New(&fake{}, nil)
	if got := call(t, h, "PUT", messages, "").Header().Get("Allow"); !strings.Contains(got, "POST") {
		t.Errorf("405 allows %q", got)
	}
}

func TestPanicIsAProblemAndLogged(t *testing.T) {
	var log bytes.Buffer
	h := httpapi.New(&fake{panics: true}, &httpapi.Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	w := call(t, h, "POST", messages, `{"content":"a"}`, "X-Request-Id: req-1")
	wantProblem(t, w, 500, "internal", "")
	for _, want := range []string{`"boom"`, `"requestId":"req-1"`, `"status":500`, "fake_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}

func TestRequestID(t *testing.T) {
	h := httpapi.New(&fake{}, nil)
	if got := call(t, h, "GET", "/healthz", "", "X-Request-Id: abc.1").Header().Get("X-Request-Id"); got != "abc.1" {
		t.Errorf("a good id became %q", got)
	}
	for _, bad := range []string{"", "a b", strings.Repeat("x", 65), `x"y`} {
		got := call(t, h, "GET", "/healthz", "", "X-Request-Id: "+bad).Header().Get("X-Request-Id")
		if got == bad || len(got) != 36 {
			t.Errorf("id %q became %q, want a fresh one", bad, got)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	long := strings.Repeat("k", 256)
	tests := []struct {
		name    string
		headers []string
		body    string
		key     string // "" with a problem
		status  int
		pointer string
	}{
		{name: "none", body: `{"content":"a"}`},
		{name: "bare", headers: []string{"abc-1"}, body: `{"content":"a"}`, key: "abc-1"},
		{name: "quoted", headers: []string{`"a b\"\\"`}, body: `{"content":"a"}`, key: `a b"\`},
		{name: "in the body", body: `{"content":"a","key":"kö"}`, key: "kö"},
		{name: "both the same", headers: []string{`"k"`}, body: `{"content":"a","key":"k"}`, key: "k"},
		{name: "at the limit", headers: []string{long[1:]}, body: `{"content":"a"}`, key: long[1:]},
		{name: "both, different", headers: []string{`"k"`}, body: `{"content":"a","key":"l"}`, status: 422, pointer: "#/key"},
		{name: "too long", headers: []string{long}, body: `{"content":"a"}`, status: 400, pointer: "Idempotency-Key"},
		{name: "list", headers: []string{"a, b"}, body: `{"content":"a"}`, status: 400, pointer: "Idempotency-Key"},
		{name: "list of strings", headers: []string{`"a", "b"`}, body: `{"content":"a"}`, status: 400, pointer: "Idempotency-Key"},
		{name: "repeated", headers: []string{"a", "a"}, body: `{"content":"a"}`, status: 400, pointer: "Idempotency-Key"},
		{name: "open", headers: []string{`"a`}, body: `{"content":"a"}`, status: 400, pointer: "Idempotency-Key"},
		{name: "empty", headers: []string{`""`}, body: `{"content":"a"}`, status: 400, pointer: "Idempotency-Key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{receipt: api.Queued{Change: oidA}}
			var lines []string
			for _, v := range tt.headers {
				lines = append(lines, "Idempotency-Key: "+v)
			}
			w := call(t, httpapi.New(f, nil), "POST", messages, tt.body, lines...)
			if tt.status != 0 {
				wantProblem(t, w, tt.status, map[int]string{400: "malformed", 422: "validation"}[tt.status], tt.pointer)
				if f.sent.Content != nil {
					t.Error("the service was called")
				}
				return
			}
			if w.Code != 200 || f.sent.Key != tt.key || w.Header().Get("Idempotent-Replayed") != "" {
				t.Errorf("%d %s, key %q, want %q", w.Code, w.Body, f.sent.Key, tt.key)
			}
		})
	}
	h := httpapi.New(&fake{receipt: api.Duplicate{Change: oidA}}, nil)
	w := call(t, h, "POST", messages, `{"content":"a","key":"k"}`)
	if want := `{"kind":"duplicate","change":"` + oidA.String() + `"}`; w.Code != 200 || w.Body.String() != want || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("a duplicate: %d %s %v", w.Code, w.Body, w.Header())
	}
	w = call(t, h, "POST", "/v1/sessions", `{}`, "Idempotency-Key: k")
	if w.Code != 200 || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("a repeated create: %d %v", w.Code, w.Header())
	}
}

// A bad byte in what a participant says costs a character, not the message.
func TestTextIsMadeUnicode(t *testing.T) {
	for body, want := range map[string]string{
		"{\"lane\":\"l\", \"content\" : \"a\xffb\"}":                             "a\uFFFDb",
		`{"content":"a\ud800b","lane":"l"}`:                                      "a\uFFFDb",
		`{"content":"a\ud83d\ude00b","lane":"l"}`:                                "a\U0001F600b",
		"{\"content\":[{\"type\":\"text\",\"text\":\"a\xedb\"}],\"lane\":\"l\"}": "a\uFFFDb",
		`{"content":"a\u0000b","lane":"l"}`:                                      "a\x00b",
	} {
		f := &fake{receipt: api.Queued{Change: oidA}}
		w := call(t, httpapi.New(f, nil), "POST", messages, body)
		if w.Code != 200 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
			continue
		}
		if got := f.sent.Content[0].(message.Text).Text; got != want || f.sent.Lane != "l" {
			t.Errorf("%q became %q", body, got)
		}
	}
}

func TestSeedRoutesAnswerWithoutVersion(t *testing.T) {
	f := &fake{receipt: api.Queued{Change: oidA}, watch: script(api.Event{Seq: 3, Body: api.SyncedEvent{}})}
	h := httpapi.New(f, nil)
	for _, c := range [][3]string{
		{"POST", "/sessions/s/messages", `{"content":"a"}`},
		{"GET", "/sessions/s/snapshot", ""},
		{"GET", "/sessions/s/events?after=2&limit=5", ""},
		{"POST", "/sessions/s/steps", ""},
	} {
		if w := call(t, h, c[0], c[1], c[2]); w.Code != 200 {
			t.Errorf("%s %s: %d %s", c[0], c[1], w.Code, w.Body)
		}
	}
	if w := call(t, h, "POST", "/sessions/s/steps", `{"head":"main"}`); w.Body.String() != `{"kind":"idle"}` {
		t.Errorf("step: %s", w.Body)
	}
}

func TestSnapshotTag(t *testing.T) {
	f := &fake{snapshot: api.Snapshot{Seq: 7, Head: "main"}}
	h := httpapi.New(f, nil)
	w := call(t, h, "GET", "/v1/sessions/s/snapshot", "")
	if w.Code != 200 || w.Header().Get("ETag") != `W/"7"` {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	for _, tag := range []string{`W/"7"`, `"7"`, `W/"1", W/"7"`, `*`} {
		if w := call(t, h, "GET", "/v1/sessions/s/snapshot", "", "If-None-Match: "+tag); w.Code != 304 || w.Body.Len() != 0 {
			t.Errorf("%s: %d %s", tag, w.Code, w.Body)
		}
	}
	if w := call(t, h, "GET", "/v1/sessions/s/snapshot", "", `If-None-Match: W/"6"`); w.Code != 200 {
		t.Errorf("an older tag: %d", w.Code)
	}
}

func TestObjectIsItsCanonicalBytes(t *testing.T) {
	body := `{"kind":"blob","value":1}`
	oid := object.Hash([]byte(body))
	h := httpapi.New(&fake{stored: api.StoredObject{OID: oid, Kind: "blob", Body: raw(body)}}, nil)
	w := call(t, h, "GET", "/v1/sessions/s/objects/"+oid.String(), "")
	if w.Code != 200 || object.Hash(w.Body.Bytes()) != oid || w.Header().Get("ETag") != `"`+oid.String()+`"` ||
		w.Header().Get("Cache-Control") != "private, max-age=31536000, immutable" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if w := call(t, h, "GET", "/v1/sessions/s/objects/"+oid.String(), "", `If-None-Match: "`+oid.String()+`"`); w.Code != 304 {
		t.Errorf("again: %d", w.Code)
	}
}

func TestIfMatch(t *testing.T) {
	move := "/v1/sessions/s/heads/main/move"
	body := `{"to":"` + oidA.String() + `"}`
	f := &fake{move: api.MovedSince{Tip: oidB}, heads: []api.HeadInfo{{Head: "main"}, {Head: "try", Tip: oidB}}}
	h := httpapi.New(f, nil)

	w := call(t, h, "POST", move, body, `If-Match: "`+oidA.String()+`"`)
	wantProblem(t, w, 412, "precondition-failed", "")
	if f.moved.Expect != api.At(oidA) {
		t.Errorf("the service saw %+v", f.moved.Expect)
	}
	// The same expectation in the body is a domain outcome.
	w = call(t, h, "POST", move, `{"to":null,"expect":"`+oidA.String()+`"}`)
	if want := `{"kind":"moved_since","tip":"` + oidB.String() + `"}`; w.Code != 200 || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if f.moved.To != api.At(object.OID{}) {
		t.Errorf("null moved to %+v", f.moved.To)
	}
	f.move = api.Moved{From: oidB}
	if w := call(t, h, "POST", move, body, `If-Match: "unborn"`); w.Code != 200 || f.moved.Expect != api.At(object.OID{}) {
		t.Errorf("unborn: %d %s %+v", w.Code, w.Body, f.moved.Expect)
	}
	if w := call(t, h, "POST", move, body, `If-Match: *`); w.Code != 200 || f.moved.Expect.Given {
		t.Errorf("any: %d %+v", w.Code, f.moved.Expect)
	}
	for _, bad := range []string{`"x"`, oidA.String(), `W/"` + oidA.String() + `"`, `"` + oidA.String() + `", "unborn"`} {
		wantProblem(t, call(t, h, "POST", move, body, "If-Match: "+bad), 400, "malformed", "If-Match")
	}
	wantProblem(t, call(t, h, "POST", move, `{"to":null,"expect":null}`, `If-Match: "`+oidA.String()+`"`), 422, "validation", "#/expect")

	f.err = &api.PreconditionError{Head: "try", Tip: oidB}
	wantProblem(t, call(t, h, "POST", "/v1/sessions/s/heads/try/merge", "", `If-Match: "unborn"`), 412, "precondition-failed", "")
	f.err = nil
	if got := call(t, h, "GET", "/v1/sessions/s/heads/main", "").Header().Get("ETag"); got != `"unborn"` {
		t.Errorf("tag of an unborn head: %s", got)
	}
	if got := call(t, h, "GET", "/v1/sessions/s/heads/try", "").Header().Get("ETag"); got != `"`+oidB.String()+`"` {
		t.Errorf("tag of a head: %s", got)
	}
	wantProblem(t, call(t, h, "GET", "/v1/sessions/s/heads/none", ""), 404, "head-not-found", "")
}

func TestToken(t *testing.T) {
	h := httpapi.New(&fake{snapshot: api.Snapshot{Head: "main"}}, &httpapi.Options{Token: "s3cret"})
	path := "/v1/sessions/s/snapshot"
	for _, bad := range []string{"", "Authorization: Bearer", "Authorization: Bearer s3cre", "Authorization: Bearer s3crets", "Authorization: Basic s3cret", "Authorization: s3cret"} {
		w := call(t, h, "GET", path, "", bad)
		wantProblem(t, w, 401, "unauthenticated", "")
		if w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Error("no challenge")
		}
	}
	if w := call(t, h, "GET", path, "", "Authorization: bearer s3cret"); w.Code != 200 {
		t.Errorf("the right token: %d", w.Code)
	}
	for _, open := range []string{"/healthz", "/readyz", "/version"} {
		if w := call(t, h, "GET", open, ""); w.Code != 200 {
			t.Errorf("%s: %d", open, w.Code)
		}
	}
}

func TestPrincipalOverrulesTheBody(t *testing.T) {
	f := &fake{receipt: api.Queued{Change: oidA}}
	h := httpapi.New(f, &httpapi.Options{Principal: func(r *http.Request) (object.Actor, error) {
		if r.Header.Get("X-User") == "" {
			return object.Actor{}, api.ErrUnauthorized
		}
		return object.Actor{UserID: r.Header.Get("X-User")}, nil
	}})
	wantProblem(t, call(t, h, "POST", messages, `{"content":"a"}`), 401, "unauthenticated", "")
	call(t, h, "POST", messages, `{"content":"a","actor":{"userId":"mallory","device":"phone"}}`, "X-User: ada")
	if diff := cmp.Diff(&object.Actor{UserID: "ada", Device: "phone"}, f.sent.Actor); diff != "" {
		t.Error(diff)
	}
}

func TestOtherWebSitesAreKeptOut(t *testing.T) {
	f := &fake{receipt: api.Queued{Change: oidA}, snapshot: api.Snapshot{Head: "main"}}
	h := httpapi.New(f, &httpapi.Options{Origins: []string{"https://app.example"}, Hosts: []string{"example.com", "127.0.0.1"}})
	steps := "/v1/sessions/s/steps"
	wantProblem(t, call(t, h, "POST", steps, "", "Origin: https://evil.example"), 403, "forbidden", "")
	wantProblem(t, call(t, h, "POST", steps, "", "Sec-Fetch-Site: cross-site"), 403, "forbidden", "")
	for _, good := range []string{"Origin: https://app.example", "Origin: http://example.com", "Sec-Fetch-Site: same-origin", "X: y"} {
		if w := call(t, h, "POST", steps, "", good); w.Code != 200 {
			t.Errorf("%s: %d %s", good, w.Code, w.Body)
		}
	}
	w := call(t, h, "OPTIONS", messages, "", "Origin: https://app.example", "Access-Control-Request-Method: POST")
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	w = call(t, h, "GET", "/v1/sessions/s/snapshot", "", "Origin: https://evil.example")
	if w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("another site may read")
	}
	wantProblem(t, call(t, h, "GET", "http://rebound.example:8080/v1/sessions/s/snapshot", ""), 403, "forbidden", "")
	if w := call(t, h, "GET", "http://127.0.0.1:8080/v1/sessions/s/snapshot", ""); w.Code != 200 {
		t.Errorf("own name: %d", w.Code)
	}
}

func TestListSessionsLinksTheNextPage(t *testing.T) {
	for query, want := range map[string]string{
		"limit=2":                `</v1/sessions?cursor=n&limit=2>; rel="next"`,
		"owner=a%26b&cursor=old": `</v1/sessions?cursor=n&owner=a%26b>; rel="next"`,
	} {
		w := call(t, httpapi.New(&fake{}, nil), "GET", "/v1/sessions?"+query, "")
		if got := w.Header().Get("Link"); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := func(ctx context.Context) (api.WaitOutcome, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		h := httpapi.New(&fake{wait: forever}, nil)
		for path, want := range map[string]time.Duration{
			"/v1/sessions/s/runs/wait?timeout=3":    3 * time.Second,
			"/v1/sessions/s/runs/wait?timeout=3000": 25 * time.Second,
			"/v1/sessions/s/runs/wait":              25 * time.Second,
		} {
			start := time.Now()
			wantProblem(t, call(t, h, "GET", path, ""), 504, "deadline", "")
			if got := time.Since(start); got != want {
				t.Errorf("%s took %v", path, got)
			}
		}
		go h.Close()
		wantProblem(t, call(t, h, "GET", "/v1/sessions/s/runs/wait", ""), 504, "deadline", "")
		wantProblem(t, call(t, h, "GET", "/readyz", ""), 503, "store-unavailable", "")
	})
}
