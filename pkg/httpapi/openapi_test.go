package httpapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

func TestOpenAPI_isServed(t *testing.T) {
	h := httpapi.New(&fake{}, &httpapi.Options{Token: "s3cret"})
	w := call(t, h, "GET", "/openapi.json", "")
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), w.Body.String()); diff != "" || w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), diff)
	}
	if w := call(t, h, "GET", "/openapi.json", "", "If-None-Match: "+w.Header().Get("ETag")); w.Code != 304 || w.Body.Len() != 0 {
		t.Errorf("again: %d", w.Code)
	}
}

func TestOpenAPI_isValid(t *testing.T) {
	c := document(t)
	if ok, errs := c.validator.ValidateDocument(); !ok {
		t.Errorf("openapi.json is not OpenAPI 3.1:\n%s", reasons(errs))
	}
	if !strings.HasPrefix(c.model.Version, "3.1.") {
		t.Errorf("the version is %s", c.model.Version)
	}
}

// Every route that the mux serves is in the document, and the other way round.
func TestOpenAPI_hasEveryRoute(t *testing.T) {
	var described []string
	for path, item := range document(t).model.Paths.PathItems.FromOldest() {
		for method := range item.GetOperations().KeysFromOldest() {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	served := httpapi.Patterns()
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("-served +described:\n%s", diff)
	}
}

// An operation's id is its group and the service's word for it, and every operation of the service has one.
func TestOpenAPI_hasEveryOperationOfTheService(t *testing.T) {
	methods := map[string][]string{
		"sessions_landing": {"Landing"}, "sessions_create": {"CreateSession"}, "sessions_get": {"GetSession"}, "sessions_list": {"ListSessions"},
		"sessions_update": {"RenameSession", "SetPinned", "SetArchived"}, "sessions_delete": {"DeleteSession"},
		"sessions_configure": {"Configure"}, "sessions_snapshot": {"Snapshot"},
		"messages_send": {"Send"}, "messages_cancel": {"Cancel"}, "messages_redeliver": {"Redeliver"},
		"messages_list": {"ListMessages"}, "messages_pending": {"Pending"},
		"runs_current": {"CurrentRun"}, "runs_abort": {"Abort"}, "runs_wait": {"WaitRun"}, "runs_reply": {"Reply"}, "runs_context": {"Context"},
		"runs_changes": {"RunChanges"}, "runs_usage": {"Usage"}, "runs_step": {"Step"},
		"heads_list": {"ListHeads"}, "heads_create": {"CreateHead"}, "heads_move": {"MoveHead"}, "heads_delete": {"DeleteHead"},
		"heads_merge": {"MergeHead"}, "heads_advance": {"AdvanceBase"}, "events_watch": {"Watch"},
		"inspect_refs": {"Refs"}, "inspect_reflog": {"Reflog"}, "inspect_object": {"Object"}, "inspect_tree": {"Tree"},
		"inspect_fsck": {"Fsck"}, "inspect_trim": {"Trim"}, "inspect_collect": {"Collect"},
		// Nothing of the service, or a part of another operation.
		"heads_get": nil, "server_health": nil, "server_ready": nil, "server_version": nil, "server_problem": nil, "server_openapi": nil,
		"messages_send_unversioned": nil, "sessions_snapshot_unversioned": nil, "events_watch_unversioned": nil, "runs_step_unversioned": nil,
	}
	var got []string
	for _, item := range document(t).model.Paths.PathItems.FromOldest() {
		for _, op := range item.GetOperations().FromOldest() {
			served, ok := methods[op.OperationId]
			if !ok {
				t.Errorf("the operation id %q is not known, or there twice", op.OperationId)
			}
			delete(methods, op.OperationId)
			got = append(got, served...)
			if group, _, _ := strings.Cut(op.OperationId, "_"); len(op.Tags) != 1 || op.Tags[0] != group || op.Summary == "" {
				t.Errorf("%s has the tags %v and the summary %q", op.OperationId, op.Tags, op.Summary)
			}
		}
	}
	for id := range methods {
		t.Errorf("there is no operation %s", id)
	}
	var want []string
	service := reflect.TypeFor[api.Service]()
	for i := range service.NumMethod() {
		want = append(want, service.Method(i).Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations of the service (-want +got):\n%s", diff)
	}
}

// The document lists the codes that problem.go has, and describes each under its status.
func TestOpenAPI_hasEveryProblem(t *testing.T) {
	c := document(t)
	codes := []string{"internal"}
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "kinds" {
			ast.Inspect(fn, func(n ast.Node) bool {
				if clause, ok := n.(*ast.CaseClause); ok {
					for _, e := range clause.List {
						code, err := strconv.Unquote(e.(*ast.BasicLit).Value)
						if err != nil {
							t.Fatal(err)
						}
						codes = append(codes, code)
					}
				}
				return true
			})
		}
	}
	listed := texts(c.at("components", "schemas", "ProblemCode")["enum"])
	slices.Sort(codes)
	slices.Sort(listed)
	if diff := cmp.Diff(codes, listed); diff != "" {
		t.Errorf("problem codes (-problem.go +openapi.json):\n%s", diff)
	}
	for name := range c.at("components", "responses") {
		media := c.at("components", "responses", name, "content", "application/problem+json")
		for code, example := range child(media, "examples") {
			var p httpapi.Problem
			if err := json.Unmarshal(encode(t, child(example, "value")), &p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if status, ok := httpapi.ProblemStatus(p.Code); !ok || status != p.Status || p.Code != code || p.Type != httpapi.ProblemBase+code {
				t.Errorf("%s: the example %s is %+v", name, code, p)
			}
		}
	}
}

// Every wire form that package api promises to keep, and every stored object, is what the document says.
func TestOpenAPI_describesTheGoldenFiles(t *testing.T) {
	c := document(t)
	for pattern, schema := range map[string]string{
		"../api/testdata/events/*.json":                  "Event",
		"../api/testdata/outcomes/abort/*.json":          "AbortOutcome",
		"../api/testdata/outcomes/advance/*.json":        "AdvanceOutcome",
		"../api/testdata/outcomes/cancel/*.json":         "CancelOutcome",
		"../api/testdata/outcomes/configure/*.json":      "ConfigureOutcome",
		"../api/testdata/outcomes/create_head/*.json":    "CreateHeadOutcome",
		"../api/testdata/outcomes/create_session/*.json": "CreateSessionOutcome",
		"../api/testdata/outcomes/delete_head/*.json":    "DeleteHeadOutcome",
		"../api/testdata/outcomes/merge/*.json":          "MergeOutcome",
		"../api/testdata/outcomes/move/*.json":           "MoveOutcome",
		"../api/testdata/outcomes/redeliver/*.json":      "RedeliverOutcome",
		"../api/testdata/outcomes/reply/*.json":          "ReplyOutcome",
		"../api/testdata/outcomes/send/*.json":           "SendReceipt",
		"../api/testdata/outcomes/step/*.json":           "StepOutcome",
		"../api/testdata/outcomes/wait/*.json":           "WaitOutcome",
		"../api/testdata/options/collect.json":           "Collect",
		"../api/testdata/options/move_*.json":            "MoveHead",
		"../api/testdata/snapshot.json":                  "Snapshot",
		"../../testdata/objects/*.json":                  "StoredObject",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("%s names no file: %v", pattern, err)
		}
		words := map[string]bool{}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(file) == "index.json" {
				continue
			}
			if why := c.mismatch(schema, data); why != "" {
				t.Errorf("%s: %s", file, why)
			}
			var union struct {
				Kind string `json:"kind"`
			}
			if err := json.Unmarshal(data, &union); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			words[union.Kind] = true
		}
		proxy := c.model.Components.Schemas.GetOrZero(schema)
		if proxy == nil || proxy.Schema().Discriminator == nil {
			continue
		}
		for word := range proxy.Schema().Discriminator.Mapping.KeysFromOldest() {
			if !words[word] {
				t.Errorf("%s has %q, which no file of %s shows", schema, word, pattern)
			}
		}
	}
	// A new directory of outcomes must not be missed.
	dirs, err := os.ReadDir("../api/testdata/outcomes")
	if err != nil || len(dirs) != 14 {
		t.Errorf("package api has %d unions of outcomes, 14 are checked here: %v", len(dirs), err)
	}
}

// What the other tests rely on: an answer, a request or an event that is not described is found.
func TestOpenAPI_violationsAreFound(t *testing.T) {
	c := document(t)
	const queued = `{"kind":"queued","change":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}`
	id := http.Header{"X-Request-Id": {"r"}}
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		kind, answer             string
		header                   http.Header
		ok                       bool
	}{
		{name: "good", method: "POST", path: messages, body: `{"content":"a"}`, status: 200, answer: queued, ok: true},
		{name: "unknown member of the request", method: "POST", path: messages, body: `{"content":"a","x":1}`, status: 200, answer: queued},
		{name: "wrong type in the request", method: "POST", path: messages, body: `{"content":7}`, status: 200, answer: queued},
		{name: "unknown parameter", method: "POST", path: messages + "?x=1", body: `{"content":"a"}`, status: 200, answer: queued},
		{name: "unknown member of the answer", method: "POST", path: messages, body: `{"content":"a"}`, status: 200, answer: strings.Replace(queued, "{", `{"x":1,`, 1)},
		{name: "missing member of the answer", method: "POST", path: messages, body: `{"content":"a"}`, status: 200, answer: `{"kind":"queued"}`},
		{name: "outcome of another union", method: "POST", path: messages, body: `{"content":"a"}`, status: 200, answer: `{"kind":"idle"}`},
		{name: "undocumented status", method: "POST", path: messages, body: `{"content":"a"}`, status: 202, answer: queued},
		{name: "undocumented content type", method: "POST", path: messages, body: `{"content":"a"}`, status: 200, kind: "text/plain", answer: queued},
		{name: "undocumented header", method: "POST", path: messages, body: `{"content":"a"}`, status: 200, answer: queued, header: http.Header{"X-New": {"a"}}},
		{name: "missing header", method: "GET", path: "/v1/sessions/s/heads/main", status: 200, answer: `{"head":"main","tip":null}`},
		{name: "its header", method: "GET", path: "/v1/sessions/s/heads/main", status: 200, answer: `{"head":"main","tip":null}`, header: http.Header{"Etag": {`"unborn"`}}, ok: true},
		{name: "error that is no problem", method: "POST", path: messages, status: 500, kind: "text/plain", answer: "oh"},
		{name: "undocumented route", method: "GET", path: "/v1/new", status: 200, answer: `{}`},
		{name: "event", method: "GET", path: events, status: 200, kind: "text/event-stream", answer: "id: 1\nevent: deleted\ndata: {\"seq\":1,\"kind\":\"deleted\"}\n\n", ok: true},
		{name: "unknown event", method: "GET", path: events, status: 200, kind: "text/event-stream", answer: "data: {\"seq\":1,\"kind\":\"new\"}\n\n"},
		{name: "unknown member of an event", method: "GET", path: events, status: 200, kind: "text/event-stream", answer: "data: {\"seq\":1,\"kind\":\"deleted\",\"x\":1}\n\n"},
		{name: "event of another name", method: "GET", path: events, status: 200, kind: "text/event-stream", answer: "event: synced\ndata: {\"seq\":1,\"kind\":\"deleted\"}\n\n"},
		{name: "event of another id", method: "GET", path: events, status: 200, kind: "text/event-stream", answer: "id: 2\ndata: {\"seq\":1,\"kind\":\"deleted\"}\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", "application/json")
			answer := &http.Response{StatusCode: tt.status, Header: id.Clone(), Request: r}
			answer.Header.Set("Content-Type", "application/json")
			if tt.kind != "" {
				answer.Header.Set("Content-Type", tt.kind)
			}
			for name := range tt.header {
				answer.Header.Set(name, tt.header.Get(name))
			}
			found := c.violations(r, answer, []byte(tt.answer))
			if tt.ok != (len(found) == 0) {
				t.Errorf("found %q", found)
			}
		})
	}
}
