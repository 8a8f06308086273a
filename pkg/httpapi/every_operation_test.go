package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Every operation of the document is called once with success, over the real SDK, so that none is described by guess.
func TestEveryOperation(t *testing.T) {
	h := httpapi.New(embedded(t, scripted.Text("hi"), scripted.End(message.StopEnd)), &httpapi.Options{MaxStream: time.Millisecond})
	called := map[string]bool{}
	do := func(method, path, body string) map[string]any {
		t.Helper()
		w := call(t, h, method, path, body)
		if w.Code >= 400 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		called[document(t).operation(httptest.NewRequest(method, path, nil)).OperationId] = true
		var answer map[string]any
		if w.Header().Get("Content-Type") == "application/json" {
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
		}
		return answer
	}
	want := func(kind string, answer map[string]any) map[string]any {
		t.Helper()
		if answer["kind"] != kind {
			t.Fatalf("got %v, want %s", answer, kind)
		}
		return answer
	}
	const s = "/v1/sessions/s"

	lanes := do("GET", "/v1/landing", "")["lanes"].([]any)
	last := str(child(lanes[len(lanes)-1])["lane"])
	want("created", do("POST", "/v1/sessions", `{"sessionId":"s","name":"trip","actor":{"userId":"ada"}}`))
	do("PATCH", s, `{"pinned":true,"archived":false}`)
	do("GET", s, "")
	do("GET", "/v1/sessions", "")
	want("queued", do("POST", s+"/config", `{"thinkingLevel":"low"}`))

	change := str(want("queued", do("POST", s+"/messages", `{"content":"first"}`))["change"])
	change = str(want("redelivered", do("POST", s+"/changes/"+change+"/redeliver", `{"lane":"`+last+`","content":"edited"}`))["change"])
	do("GET", s+"/pending", "")
	want("cancelled", do("POST", s+"/changes/"+change+"/cancel", ""))
	want("queued", do("POST", "/sessions/s/messages", `{"content":[{"type":"text","text":"hello"}],"key":"k"}`))

	step := do("POST", s+"/steps", "")
	for range 20 {
		if step["kind"] == "idle" {
			break
		}
		step = do("POST", "/sessions/s/steps", `{"head":"main"}`)
	}
	want("idle", step)
	run := str(child(do("GET", s+"/run", ""), "run")["runId"])
	do("GET", s+"/runs/"+run+"/changes", "")
	want("idle", do("GET", s+"/runs/wait?timeout=5", ""))
	want("not_running", do("POST", s+"/runs/abort", ""))
	want("not_found", do("POST", s+"/replies", `{"callId":"c","waitId":"`+oidA.String()+`","reply":{"picked":["a"]}}`))
	do("GET", s+"/context", "")
	do("GET", s+"/usage", "")

	user := str(child(do("GET", s+"/messages", "")["items"].([]any)[1])["id"])
	want("created", do("POST", s+"/heads", `{"head":"try","parent":"main"}`))
	do("GET", s+"/heads", "")
	do("GET", s+"/heads/try", "")
	want("unchanged", do("POST", s+"/heads/try/advance", ""))
	want("empty", do("POST", s+"/heads/try/merge", ""))
	if restored := child(want("moved", do("POST", s+"/heads/try/move", `{"to":"`+user+`"}`)), "restored"); restored == nil {
		t.Error("moving to a user message does not hand it back")
	}
	want("deleted", do("DELETE", s+"/heads/try", ""))

	do("GET", s+"/snapshot", "")
	do("GET", "/sessions/s/snapshot", "")
	for _, feed := range []string{s + "/events", "/sessions/s/events"} {
		do("GET", feed, "") // a stream, which MaxStream ends
		do("GET", feed+"?wait=0", "")
	}
	do("GET", s+"/tree", "")
	refs := do("GET", s+"/refs", "")["items"].([]any)
	for _, ref := range refs { // of every kind
		do("GET", s+"/objects/"+str(child(ref)["oid"]), "")
	}
	do("GET", s+"/reflog?limit=200", "")
	do("POST", s+"/fsck", "")
	do("POST", s+"/trim", `{"before":1}`)
	do("POST", s+"/collect", `{"graceMs":3600000}`)
	do("DELETE", s, "")
	for _, path := range strings.Fields("/healthz /readyz /version /openapi.json /problems/validation") {
		do("GET", path, "")
	}

	for _, item := range document(t).model.Paths.PathItems.FromOldest() {
		for _, op := range item.GetOperations().FromOldest() {
			if !called[op.OperationId] {
				t.Errorf("%s is never called here", op.OperationId)
			}
		}
	}
}
