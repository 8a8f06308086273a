package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/memstore"
	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// counted returns a host whose calls to its store are counted.
func counted(t *testing.T, steps ...scripted.Step) (*sdk.Stepwell, *storetest.Faulty) {
	t.Helper()
	f := storetest.NewFaulty(memstore.New(nil))
	tools, err := tool.NewSet(builtin.Ask())
	if err != nil {
		t.Fatal(err)
	}
	player := scripted.Play(steps...)
	host, err := sdk.New(sdk.Options{Store: f, Models: llm.NewCatalog(player), DefaultModel: player.Models()[0].Model, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return host, f
}

// Field report B88: whatever is asked, only the one right form of the token lets it through, and nothing is read or written before.
func TestB88_NoOperationWithoutTheToken(t *testing.T) {
	const token = "s3cret"
	bad := map[string][]string{
		"none":                     nil,
		"empty":                    {""},
		"scheme alone":             {"Bearer"},
		"empty token":              {"Bearer "},
		"wrong":                    {"Bearer wrong!"},
		"prefix":                   {"Bearer s3cre"},
		"longer":                   {"Bearer s3crets"},
		"other case":               {"Bearer S3CRET"},
		"twice in one":             {"Bearer s3cret s3cret"},
		"listed":                   {"Bearer s3cret, Bearer wrong"},
		"basic":                    {"Basic s3cret"},
		"no scheme":                {"s3cret"},
		"scheme of another name":   {"BearerX s3cret"},
		"right one and a wrong":    {"Bearer s3cret", "Bearer wrong"},
		"a wrong one and right":    {"Bearer wrong", "Bearer s3cret"},
		"right one and right":      {"Bearer s3cret", "Bearer s3cret"},
		"a megabyte":               {"Bearer " + strings.Repeat("s3cret", 1<<20/6)},
		"unsigned web token":       {"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."},
		"the sum instead of it":    {"Bearer 1ec1c26b50d5d3c58d9583181af8076655fe00756bf7285940ba3670f99fcba0"},
		"right one after a NUL":    {"Bearer \x00s3cret"},
		"right one with NUL after": {"Bearer s3cret\x00"},
	}
	elsewhere := map[string]func(*http.Request){
		"query":              func(r *http.Request) { r.URL.RawQuery = "token=" + token + "&access_token=" + token },
		"user of the URL":    func(r *http.Request) { r.SetBasicAuth("Bearer", token) },
		"cookie":             func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "Authorization", Value: "Bearer " + token}) },
		"proxy's header":     func(r *http.Request) { r.Header.Set("Proxy-Authorization", "Bearer "+token) },
		"forwarded header":   func(r *http.Request) { r.Header.Set("X-Forwarded-Authorization", "Bearer "+token) },
		"header of its name": func(r *http.Request) { r.Header.Set("X-Token", token) },
	}
	host, f := counted(t)
	h := httpapi.New(host, &httpapi.Options{Token: token, MaxStream: time.Millisecond}) // so that a stream that is let through ends
	if w := call(t, h, "POST", "/v1/sessions", `{"sessionId":"s"}`, "Authorization: Bearer "+token); w.Code != http.StatusOK && w.Code != http.StatusCreated {
		t.Fatalf("with the token: %d %s", w.Code, w.Body)
	}
	before := f.Count()
	open := map[string]bool{"GET /healthz": true, "GET /readyz": true, "GET /version": true, "GET /openapi.json": true, "GET /problems/{code}": true}
	check := func(pattern, what string, prepare func(*http.Request)) {
		t.Helper()
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{id}", "s", "{head}", "main", "{run}", "r", "{change}", oidA.String(), "{oid}", oidA.String()).Replace(path)
		r := httptest.NewRequest(method, path, strings.NewReader(`{"sessionId":"made","content":"written","head":"made","parent":"main"}`))
		r.Header.Set("Content-Type", "application/json")
		prepare(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		p := wantProblem(t, w, http.StatusUnauthorized, "unauthenticated", "")
		if got := w.Header().Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("%s, %s: the challenge is %q", pattern, what, got)
		}
		if strings.Contains(w.Body.String(), token) || p.Detail != api.ErrUnauthorized.Error() {
			t.Errorf("%s, %s: %s", pattern, what, w.Body)
		}
	}
	patterns := append(httpapi.Patterns(), "GET /", "POST /v2/sessions", "GET /v1/sessions/s/../s/snapshot", "OPTIONS /v1/sessions")
	for _, pattern := range patterns {
		if open[pattern] {
			continue
		}
		for what, values := range bad {
			check(pattern, what, func(r *http.Request) {
				for _, v := range values {
					r.Header.Add("Authorization", v)
				}
			})
		}
		for what, prepare := range elsewhere {
			check(pattern, what, prepare)
		}
	}
	for _, c := range f.Calls()[before:] {
		t.Errorf("the store was asked: %s", c)
	}
	for _, right := range []string{"Bearer " + token, "bearer " + token, "BEARER  " + token} {
		if w := call(t, h, "GET", "/v1/sessions/s", "", "Authorization: "+right); w.Code != http.StatusOK {
			t.Errorf("%q: %d %s", right, w.Code, w.Body)
		}
	}
	if f.Count() == before {
		t.Error("no call is counted")
	}
}

// foreign is what the session "theirs" has one of each.
type foreign struct {
	change, waiting, commit, blob object.OID
	run, call, head               string
}

// strangers makes the sessions "ours", which is empty, and "theirs", whose run waits for an answer.
func strangers(t *testing.T, host *sdk.Stepwell) foreign {
	t.Helper()
	ctx, theirs := t.Context(), api.SessionID("theirs")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []api.SessionID{"ours", theirs} {
		_, err := host.CreateSession(ctx, api.CreateSessionOptions{SessionID: id, Name: "the name of " + string(id)})
		must(err)
	}
	_, err := host.Send(ctx, api.SendOptions{SessionID: theirs, Content: api.Text("hello")})
	must(err)
	for parked := false; !parked; {
		step, err := host.Step(ctx, api.HeadOptions{SessionID: theirs})
		must(err)
		_, parked = step.(api.StepWaiting)
	}
	_, err = host.CreateHead(ctx, api.CreateHeadOptions{SessionID: theirs, Head: "secret", Parent: "main"})
	must(err)
	pending, err := host.Send(ctx, api.SendOptions{SessionID: theirs, Content: api.Text("more"), Lane: sdk.QueueLane})
	must(err)
	snap, err := host.Snapshot(ctx, api.HeadOptions{SessionID: theirs})
	must(err)
	refs, err := host.Refs(ctx, api.RefsOptions{SessionID: theirs, Prefix: "refs/facts/"})
	must(err)
	out := foreign{
		change: pending.(api.Queued).Change, waiting: snap.Parked[0].WaitID, run: snap.Parked[0].RunID, call: snap.Parked[0].CallID,
		head: "secret", commit: snap.Tip,
	}
	for _, r := range refs {
		out.blob = r.OID
	}
	if out.change.IsZero() || out.waiting.IsZero() || out.commit.IsZero() || out.blob.IsZero() || out.run == "" || out.call == "" {
		t.Fatalf("theirs has not one of each: %+v", out)
	}
	return out
}

// Field report B88: an id of another session is answered just as one that nobody has, and changes nothing, whatever it names.
func TestB88_ForeignIDsAreThoseOfNobody(t *testing.T) {
	host, _ := counted(t,
		scripted.Call("call_theirs", "ask", `{"title":"Which?","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}`),
		scripted.End(message.StopToolUse))
	h := httpapi.New(host, nil)
	theirs := strangers(t, host)
	nobody := foreign{change: oidA, waiting: oidA, commit: oidA, blob: oidA, run: "run_none", call: "call_none", head: "nobodys"}
	state := func() string {
		t.Helper()
		var b strings.Builder
		for _, id := range []string{"ours", "theirs"} {
			for _, path := range []string{"", "/snapshot", "/refs", "/tree", "/reflog?limit=200"} {
				b.WriteString(call(t, h, "GET", "/v1/sessions/"+id+path, "").Body.String())
			}
		}
		return b.String()
	}
	before := state()
	// Each asks in the session of ours for what an id names. It is refused, unless there is an outcome for what is not there.
	for name, ask := range map[string]struct {
		method, path, body func(foreign) string
		status             int
		kind               string // of the outcome or of the problem
	}{
		"cancel a change":    {post, func(f foreign) string { return "/changes/" + f.change.String() + "/cancel" }, none, 200, "not_found"},
		"redeliver a change": {post, func(f foreign) string { return "/changes/" + f.change.String() + "/redeliver" }, body(`{"end":true}`), 200, "not_found"},
		"reply to a call": {post, body("/replies"), func(f foreign) string {
			return fmt.Sprintf(`{"callId":%q,"waitId":%q,"reply":{"picked":["a"]}}`, f.call, f.waiting)
		}, 200, "not_found"},
		"reply to a call of a run": {post, body("/replies"), func(f foreign) string {
			return fmt.Sprintf(`{"runId":%q,"callId":%q,"waitId":%q,"reply":{"picked":["a"]}}`, f.run, f.call, f.waiting)
		}, 200, "not_found"},
		"changes of a run":     {get, func(f foreign) string { return "/runs/" + f.run + "/changes" }, none, 404, "run-not-found"},
		"object: a commit":     {get, func(f foreign) string { return "/objects/" + f.commit.String() }, none, 404, "object-not-found"},
		"object: a change":     {get, func(f foreign) string { return "/objects/" + f.change.String() }, none, 404, "object-not-found"},
		"object: a waiting":    {get, func(f foreign) string { return "/objects/" + f.waiting.String() }, none, 404, "object-not-found"},
		"object: a fact":       {get, func(f foreign) string { return "/objects/" + f.blob.String() }, none, 404, "object-not-found"},
		"messages before":      {get, func(f foreign) string { return "/messages?before=" + f.commit.String() }, none, 422, "validation"},
		"move to a commit":     {post, body("/heads/main/move"), func(f foreign) string { return fmt.Sprintf(`{"to":%q}`, f.commit) }, 200, "not_found"},
		"a head at a commit":   {post, body("/heads"), func(f foreign) string { return fmt.Sprintf(`{"head":"copy","commit":%q}`, f.commit) }, 200, "unknown_parent"},
		"a head upon a head":   {post, body("/heads"), func(f foreign) string { return fmt.Sprintf(`{"head":"copy","parent":%q}`, f.head) }, 200, "unknown_parent"},
		"get a head":           {get, func(f foreign) string { return "/heads/" + f.head }, none, 404, "head-not-found"},
		"delete a head":        {del, func(f foreign) string { return "/heads/" + f.head }, none, 200, "not_found"},
		"move a head":          {post, func(f foreign) string { return "/heads/" + f.head + "/move" }, body(`{"to":null}`), 200, "not_found"},
		"merge a head":         {post, func(f foreign) string { return "/heads/" + f.head + "/merge" }, none, 200, "no_stack"},
		"advance a head":       {post, func(f foreign) string { return "/heads/" + f.head + "/advance" }, none, 200, "unchanged"},
		"send to a head":       {post, body("/messages"), func(f foreign) string { return fmt.Sprintf(`{"content":"x","head":%q}`, f.head) }, 404, "head-not-found"},
		"configure a head":     {post, body("/config"), func(f foreign) string { return fmt.Sprintf(`{"thinkingLevel":"low","head":%q}`, f.head) }, 404, "head-not-found"},
		"step a head":          {post, body("/steps"), func(f foreign) string { return fmt.Sprintf(`{"head":%q}`, f.head) }, 404, "head-not-found"},
		"abort a head":         {post, body("/runs/abort"), func(f foreign) string { return fmt.Sprintf(`{"head":%q}`, f.head) }, 404, "head-not-found"},
		"snapshot of a head":   {get, func(f foreign) string { return "/snapshot?head=" + f.head }, none, 404, "head-not-found"},
		"pending of a head":    {get, func(f foreign) string { return "/pending?head=" + f.head }, none, 404, "head-not-found"},
		"run of a head":        {get, func(f foreign) string { return "/run?head=" + f.head }, none, 404, "head-not-found"},
		"wait for a head":      {get, func(f foreign) string { return "/runs/wait?timeout=1&head=" + f.head }, none, 404, "head-not-found"},
		"messages of a head":   {get, func(f foreign) string { return "/messages?head=" + f.head }, none, 404, "head-not-found"},
		"context of a head":    {get, func(f foreign) string { return "/context?head=" + f.head }, none, 404, "head-not-found"},
		"usage of a head":      {get, func(f foreign) string { return "/usage?head=" + f.head }, none, 404, "head-not-found"},
		"tree seen from there": {get, func(f foreign) string { return "/tree?head=" + f.head }, none, 404, "head-not-found"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := func(f foreign) (int, string) {
				w := call(t, h, ask.method(f), "/v1/sessions/ours"+ask.path(f), ask.body(f))
				return w.Code, faceless(t, w, f)
			}
			code, got := answer(theirs)
			wantCode, want := answer(nobody)
			if diff := cmp.Diff(fmt.Sprint(wantCode, want), fmt.Sprint(code, got)); diff != "" {
				t.Errorf("an id of nobody is told from a foreign one:\n%s", diff)
			}
			if code != ask.status || !strings.Contains(got, `"`+ask.kind+`"`) {
				t.Errorf("answered %d %s, want %d %s", code, got, ask.status, ask.kind)
			}
		})
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

// Field report B88: a session that is not there is the same not-found for every operation, and none makes it.
func TestB88_NoOperationOnASessionThatIsNotThere(t *testing.T) {
	host, f := counted(t)
	h := httpapi.New(host, &httpapi.Options{MaxStream: time.Millisecond})
	bodies := map[string]string{
		"messages": `{"content":"x"}`, "config": `{"thinkingLevel":"low"}`, "redeliver": `{"end":true}`, "move": `{"to":"` + oidA.String() + `"}`,
		"heads": `{"head":"x","parent":"main"}`, "trim": `{"before":1}`, "collect": `{"graceMs":1}`, "replies": `{"callId":"c","waitId":"` + oidA.String() + `","reply":1}`,
	}
	asked := 0
	for _, pattern := range httpapi.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if !strings.Contains(path, "{id}") || method == "DELETE" && strings.HasSuffix(path, "{id}") { // which has nothing to do
			continue
		}
		asked++
		text := bodies[path[strings.LastIndex(path, "/")+1:]]
		switch method {
		case "GET", "DELETE":
			text = ""
		case "PATCH":
			text = `{"pinned":true}`
		}
		path = strings.NewReplacer("{id}", "nobodys", "{head}", "try", "{run}", "r", "{change}", oidA.String(), "{oid}", oidA.String()).Replace(path)
		p := wantProblem(t, call(t, h, method, path, text), http.StatusNotFound, "session-not-found", "")
		if p.Detail != api.ErrSessionNotFound.Error() || len(p.Errors) != 0 {
			t.Errorf("%s: %+v", pattern, p)
		}
	}
	if asked < 30 {
		t.Errorf("only %d operations were asked", asked)
	}
	for _, c := range f.Calls() {
		if c.Op.Writes() {
			t.Errorf("written: %s", c)
		}
	}
}

func get(foreign) string  { return "GET" }
func post(foreign) string { return "POST" }
func del(foreign) string  { return "DELETE" }
func none(foreign) string { return "" }

// body is the same whoever's ids are asked for.
func body(s string) func(foreign) string { return func(foreign) string { return s } }

// faceless returns an answer without what differs from request to request, and with the ids that were asked for as blanks.
func faceless(t *testing.T, w *httptest.ResponseRecorder, f foreign) string {
	t.Helper()
	text := w.Body.String()
	for _, id := range []string{f.change.String(), f.waiting.String(), f.commit.String(), f.blob.String(), f.run, f.call, f.head, w.Header().Get("X-Request-Id")} {
		if id != "" {
			text = strings.ReplaceAll(text, `"`+id+`"`, `"?"`)
			text = strings.ReplaceAll(text, id, "?")
		}
	}
	if v := jsontext.Value(text); !v.IsValid() {
		t.Errorf("the answer is no JSON: %s", text)
	}
	return text
}
