package api_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	oidA   = object.Hash([]byte("a"))
	oidB   = object.Hash([]byte("b"))
	actor  = &object.Actor{ClientID: "phone", UserID: "ada"}
	config = object.Config{Model: &object.Model{Provider: "scripted", ID: "demo"}, ThinkingLevel: "low"}
	choice = &message.Selection{Title: "Go on?", Choices: []message.Choice{{ID: "y", Label: "Yes"}}, Other: "why"}
	run    = api.RunInfo{
		RunID: "run_1", Head: "main", Phase: object.Retry{At: 9, Retries: 1, Error: "busy"}, StartedAt: 5, Attempts: 2,
		Config: config, AbortRequested: true, Lease: &api.LeaseInfo{Owner: "owner_1", ExpiresAt: 30},
	}
	session = api.SessionInfo{SessionID: "s1", Name: "trip", CreatedAt: 1, LastActivityAt: 2, Pinned: true, Heads: []string{"main"}, Config: config}
	pending = api.PendingItem{Change: oidA, Lane: "steer", At: 4, Content: api.Text("hello"), Author: actor, Key: "k"}
	commit  = api.CommitItem{OID: oidA, Commit: object.Commit{Parent: oidB, Body: object.MessageBody{Message: message.NewUser("hi", 3)}, At: 3}}
)

// golden compares v's JSON with testdata/<name>.json and reads it back into a union U.
func golden[U any](t *testing.T, name string, v U) {
	t.Helper()
	got, err := api.Marshal(v)
	if err != nil {
		t.Fatalf("marshalling %T: %v", v, err)
	}
	var back U
	if err := api.Unmarshal(got, &back); err != nil {
		t.Fatalf("reading %s back: %v", got, err)
	}
	if diff := cmp.Diff(any(v), any(back)); diff != "" {
		t.Errorf("%s does not survive (-want +got):\n%s", got, diff)
	}
	pretty := jsontext.Value(got)
	if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	pretty = append(pretty, '\n')
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, pretty, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(pretty)); diff != "" {
		t.Errorf("the wire form changed, which breaks clients (-golden +got):\n%s", diff)
	}
}

func goldenOutcomes[U any](t *testing.T, union string, words []string, values ...U) {
	t.Helper()
	var got []string
	for _, v := range values {
		word := any(v).(api.Outcome).Word()
		got = append(got, word)
		t.Run(union+"/"+word, func(t *testing.T) { golden(t, filepath.Join("outcomes", union, word), v) })
	}
	if diff := cmp.Diff(words, got); diff != "" {
		t.Errorf("%s: the words are not the table's (-want +got):\n%s", union, diff)
	}
}

func TestOutcomes(t *testing.T) {
	w := strings.Fields
	goldenOutcomes[api.ConfigureOutcome](t, "configure", w("queued unknown_model unknown_agent"),
		api.Queued{Change: oidA}, api.UnknownModel{}, api.UnknownAgent{})
	goldenOutcomes[api.SendReceipt](t, "send", w("queued duplicate"), api.Queued{Change: oidA}, api.Duplicate{Change: oidA})
	goldenOutcomes[api.CancelOutcome](t, "cancel", w("cancelled landed not_found"), api.Cancelled{}, api.Landed{}, api.NotFound{})
	goldenOutcomes[api.RedeliverOutcome](t, "redeliver", w("redelivered unchanged landed not_found"),
		api.Redelivered{Change: oidB}, api.Unchanged{}, api.Landed{}, api.NotFound{})
	goldenOutcomes[api.AbortOutcome](t, "abort", w("requested not_running"), api.Requested{RunID: "run_1"}, api.NotRunning{})
	goldenOutcomes[api.WaitOutcome](t, "wait", w("idle waiting"), api.Idle{}, api.Waiting{RunID: "run_1"})
	goldenOutcomes[api.ReplyOutcome](t, "reply", w("signalled not_waiting not_found"), api.Signalled{}, api.NotWaiting{}, api.NotFound{})
	goldenOutcomes[api.CreateHeadOutcome](t, "create_head", w("created exists unknown_parent"),
		api.HeadCreated{}, api.Exists{}, api.UnknownParent{})
	goldenOutcomes[api.MoveOutcome](t, "move", w("moved busy moved_since not_found"),
		api.Moved{From: oidA, Restored: &api.Restored{Commit: oidB, Content: api.Text("again")}}, api.Busy{Run: run},
		api.MovedSince{Tip: oidB}, api.NotFound{})
	goldenOutcomes[api.DeleteHeadOutcome](t, "delete_head", w("deleted not_found busy"), api.Deleted{}, api.NotFound{}, api.HeadBusy{})
	goldenOutcomes[api.MergeOutcome](t, "merge", w("merged stale empty no_stack"), api.Merged{Tip: oidA}, api.Stale{}, api.Empty{}, api.NoStack{})
	goldenOutcomes[api.AdvanceOutcome](t, "advance", w("unchanged advanced diverged"), api.Unchanged{}, api.Advanced{}, api.Diverged{})
	goldenOutcomes[api.CreateSessionOutcome](t, "create_session", w("created exists"),
		api.SessionCreated{Session: session}, api.SessionExists{Session: session})
	goldenOutcomes[api.StepOutcome](t, "step", w("idle busy waiting retry finished fenced continue"),
		api.Idle{}, api.StepBusy{Holder: "owner_1", ExpiresAt: 30}, api.StepWaiting{Until: 40}, api.Retry{At: 9},
		api.Finished{RunID: "run_1", Phase: object.Failed{Error: "x", Class: object.FailedTool}}, api.Fenced{}, api.Continue{})
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name string
		body api.EventBody
	}{
		{"commit", api.CommitEvent{Head: "main", Item: commit}},
		{"head_moved", api.HeadMovedEvent{Head: "main", To: oidA, Reason: "land", Actor: actor}},
		{"run", api.RunEvent{Head: "main", Run: run}},
		{"queued", api.QueuedEvent{Head: "main", Item: pending}},
		{"landed", api.LandedEvent{Head: "main", Change: oidA}},
		{"queue_cancelled", api.QueueCancelledEvent{Change: oidA}},
		{"effect", api.EffectEvent{RunID: "run_1", CallID: "c1", State: api.EffectIntent, Tool: "fetch", Args: jsontext.Value(`{"a":1}`)}},
		{"effect_waiting", api.EffectEvent{
			RunID: "run_1", CallID: "c1", State: api.EffectWaiting, WaitID: oidB, Tool: "ask", Args: jsontext.Value(`{}`), Selection: choice, Until: 99,
		}},
		{"stack", api.StackEvent{Head: "try", Parent: "main", Base: oidA}},
		{"fact", api.FactEvent{Key: "name", Value: jsontext.Value(`"trip"`)}},
		{"fact_removed", api.FactEvent{Key: "name"}},
		{"deleted", api.DeletedEvent{}},
		{"synced", api.SyncedEvent{}},
		{"text_delta", api.TextDeltaEvent{RunID: "run_1", Attempt: 1, Index: 0, Delta: "Hel"}},
		{"reasoning_delta", api.ReasoningDeltaEvent{RunID: "run_1", Attempt: 1, Index: 0, Delta: "so"}},
		{"tool_progress", api.ToolProgressEvent{RunID: "run_1", CallID: "c1", Progress: api.Progress{Text: "half", Details: jsontext.Value(`[1]`)}}},
		{"diagnostic", api.DiagnosticEvent{Level: api.LevelWarn, Owner: "agent", Message: "slow"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			golden(t, filepath.Join("events", tt.name), api.Event{Seq: int64(i + 1), More: tt.name == "head_moved", Body: tt.body})
		})
	}
}

func TestEvent_unknownKindsKeepTheCursorMoving(t *testing.T) {
	for _, raw := range []string{
		`{"seq":7,"kind":"plugins_changed","plugins":[{"kind":"x"}]}`,
		`{"seq":7,"kind":"run","head":"main","run":{"runId":"r","head":"main","phase":{"kind":"dreaming"},"startedAt":1,"attempts":0,"config":{}}}`,
	} {
		var e api.Event
		if err := api.Unmarshal([]byte(raw), &e); err != nil {
			t.Fatal(err)
		}
		u, ok := e.Body.(api.UnknownEvent)
		if !ok || e.Seq != 7 {
			t.Fatalf("got %+v", e)
		}
		again, err := api.Marshal(e)
		if err != nil || string(again) != raw {
			t.Errorf("%s became %s, %v", u.Raw, again, err)
		}
	}
	for _, bad := range []string{`{"seq":1}`, `{"kind":"synced"}x`, `{"seq":-1,"kind":"synced"}`, `[]`, `{"seq":"1","kind":"synced"}`} {
		if err := api.Unmarshal([]byte(bad), &api.Event{}); err == nil {
			t.Errorf("%s was taken for an event", bad)
		}
	}
	if _, err := api.Marshal(api.Event{Seq: 1}); err == nil {
		t.Error("an event without a body was written")
	}
}

func TestReadModels(t *testing.T) {
	percent := 12
	usage := message.Usage{Input: 3, Output: 4, TotalTokens: 7, Cost: message.Cost{Total: 0.5}}
	result := &message.ToolResult{ToolCallID: "c1", ToolName: "fetch", Content: api.Text("ok"), Timestamp: 8}
	golden(t, "snapshot", api.Snapshot{
		Seq: 12, Session: session, Head: "main", Tip: oidA, Config: config,
		Transcript: []api.TranscriptItem{
			api.ConfigMarker{ID: oidB, At: 1, Config: config},
			api.Turn{ID: oidA, Outcome: api.TurnDone, StartedAt: 3, DurationMS: 5, Parts: []api.TranscriptPart{
				api.UserPart{ID: "user:a", Content: api.Text("hi"), At: 3, Change: oidB, Key: "k", Author: actor},
				api.ThinkingPart{ID: "thinking:a:0", Text: "hm"},
				api.ToolPart{ID: "tool:c1", CallID: "c1", Tool: "fetch", Args: jsontext.Value(`{}`), Result: result},
				api.AssistantPart{ID: "assistant:a:0", Text: "yes"},
				api.NotePart{ID: "note:a", Text: "cut short"},
			}},
			api.CheckpointMarker{ID: oidA, At: 5, Summary: "sum", TokensBefore: 100},
			api.SummaryMarker{ID: oidA, At: 6, Text: "other path"},
			api.NoteMarker{ID: oidA, At: 7, Type: "x", Data: jsontext.Value(`null`)},
		},
		Pending: []api.PendingItem{pending},
		Run:     &run,
		Parked: []api.ParkedCall{{
			RunID: "run_1", CallID: "c1", WaitID: oidB, Tool: "ask", Args: jsontext.Value(`{}`), Selection: choice, Until: 99,
		}},
		Context: api.ContextStatus{EstimatedTokens: 12, UsageTokens: 7, TrailingTokens: 5, ContextWindow: 100, Percent: &percent},
		Usage:   &api.UsageSummary{Total: usage, Models: []api.ModelUsage{{Provider: "p", Model: "m", Responses: 1, Usage: usage}}},
	})
	empty, err := api.Marshal(api.Snapshot{Head: "main"})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{`"transcript":[]`, `"pending":[]`, `"parked":[]`, `"tip":null`} {
		if !strings.Contains(string(empty), list) {
			t.Errorf("%s lacks %s", empty, list)
		}
	}
}

func TestUnknownOutcomeIsAnError(t *testing.T) {
	var m api.MoveOutcome
	if err := api.Unmarshal([]byte(`{"kind":"failed","message":"x"}`), &m); err == nil {
		t.Errorf("a word outside the table was read as %#v", m)
	}
	// A word of another union is as unknown.
	if err := api.Unmarshal([]byte(`{"kind":"idle"}`), &m); err == nil {
		t.Errorf("a word of another union was read as %#v", m)
	}
}

func TestOptionsOnTheWire(t *testing.T) {
	var send api.SendOptions
	if err := api.UnmarshalStrict([]byte(`{"sessionId":"s","content":"hé"}`), &send); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Text("hé"), send.Content); diff != "" {
		t.Errorf("a string is not one text:\n%s", diff)
	}
	if err := api.UnmarshalStrict([]byte(`{"sessionId":"s","content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}`), &send); err != nil {
		t.Fatal(err)
	}
	if len(send.Content) != 2 {
		t.Errorf("parts: %+v", send.Content)
	}
	for _, bad := range []string{`{"content":"a","lame":"steer"}`, `{"content":"a","content":"b"}`, `{"content":[{"type":"video"}]}`, `{"content":7}`} {
		if err := api.UnmarshalStrict([]byte(bad), &send); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	for name, tip := range map[string]api.Tip{"any": {}, "expect_unborn": api.At(object.OID{}), "expect_commit": api.At(oidA)} {
		golden(t, "options/move_"+name, api.MoveHeadOptions{SessionID: "s", To: api.At(oidB), Expect: tip})
	}
	golden(t, "options/collect", api.CollectOptions{SessionID: "s", GraceMS: 90_000})
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", api.MaxText+1)
	send := func(c ...message.Content) api.SendOptions { return api.SendOptions{SessionID: "s", Content: c} }
	five := int64(5)
	tests := []struct {
		name  string
		opts  interface{ Validate() error }
		field string // "" with ok
		ok    bool
	}{
		{"send", send(message.Text{Text: "a"}), "", true},
		{"send NUL in text", send(message.Text{Text: "a\x00b"}), "", true},
		{"send at the limit", send(message.Text{Text: long[1:]}), "", true},
		{"send nothing", send(), "/content", false},
		{"send blank", send(message.Text{Text: " \n"}), "/content", false},
		{"send too long", send(message.Text{Text: long}), "/content", false},
		{"send bad UTF-8", send(message.Text{Text: "ok"}, message.Text{Text: "a\xff"}), "/content/1/text", false},
		{"send nil part", send(nil), "/content/0", false},
		{"send image without type", send(message.Image{Data: "AAAA"}), "/content/0/mimeType", false},
		{"send image not base64", send(message.Image{Data: "A-AA", MIMEType: "image/png"}), "/content/0/data", false},
		{"send signed text", send(message.Text{Text: "a", Signature: "s"}), "/content/0/signature", false},
		{"send no session", api.SendOptions{Content: api.Text("a")}, "/sessionId", false},
		{"send path session", api.SendOptions{SessionID: "../x", Content: api.Text("a")}, "/sessionId", false},
		{"send head with slash", api.SendOptions{SessionID: "s", Head: "a/b", Content: api.Text("a")}, "/head", false},
		{"send long lane", api.SendOptions{SessionID: "s", Lane: long[:201], Content: api.Text("a")}, "/lane", false},
		{"send long key", api.SendOptions{SessionID: "s", Key: long[:256], Content: api.Text("a")}, "/key", false},
		{"send NUL key", api.SendOptions{SessionID: "s", Key: "a\x00", Content: api.Text("a")}, "/key", false},
		{"create", api.CreateSessionOptions{}, "", true},
		{"create long name", api.CreateSessionOptions{Name: long[:501]}, "/name", false},
		{"configure nothing", api.ConfigureOptions{SessionID: "s"}, "", false},
		{"configure model without id", api.ConfigureOptions{SessionID: "s", Model: &object.Model{}}, "/model/id", false},
		{"cancel without change", api.CancelOptions{SessionID: "s"}, "/change", false},
		{"redeliver to two places", api.RedeliverOptions{SessionID: "s", Change: oidA, Before: oidB, End: true}, "/end", false},
		{"redeliver before itself", api.RedeliverOptions{SessionID: "s", Change: oidA, Before: oidA}, "/before", false},
		{"redeliver blank edit", api.RedeliverOptions{SessionID: "s", Change: oidA, Content: api.Text("")}, "/content", false},
		{"page too big", api.TranscriptOptions{SessionID: "s", Limit: 201}, "/limit", false},
		{"reply", api.ReplyOptions{SessionID: "s", WaitID: oidA, Reply: jsontext.Value(`null`)}, "", true},
		{"reply without wait", api.ReplyOptions{SessionID: "s", Reply: jsontext.Value(`1`)}, "/waitId", false},
		{"reply without reply", api.ReplyOptions{SessionID: "s", WaitID: oidA}, "/reply", false},
		{"reply that a double cannot hold", api.ReplyOptions{SessionID: "s", WaitID: oidA, Reply: jsontext.Value(`9007199254740993`)}, "/reply", false},
		{"head from nowhere", api.CreateHeadOptions{SessionID: "s", Head: "h"}, "/parent", false},
		{"head from two", api.CreateHeadOptions{SessionID: "s", Head: "h", Parent: "main", Commit: oidA}, "/parent", false},
		{"head without a name", api.CreateHeadOptions{SessionID: "s", Parent: "main"}, "/head", false},
		{"move to nowhere", api.MoveHeadOptions{SessionID: "s"}, "/to", false},
		{"move to unborn", api.MoveHeadOptions{SessionID: "s", To: api.At(object.OID{})}, "", true},
		{"watch twice", api.WatchOptions{SessionID: "s", AfterSeq: &five, Live: true}, "/live", false},
		{"trim below zero", api.TrimOptions{SessionID: "s", Before: -1}, "/before", false},
		{"collect below zero", api.CollectOptions{SessionID: "s", GraceMS: -1}, "/graceMs", false},
		{"run without id", api.RunChangesOptions{SessionID: "s"}, "/runId", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.opts.Validate()
			if tt.ok {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var v *api.ValidationError
			if !errors.As(err, &v) || !errors.Is(err, api.ErrInvalid) || v.Field != tt.field || v.Detail == "" {
				t.Errorf("got %v, want a validation error at %q", err, tt.field)
			}
		})
	}
}

func TestClean(t *testing.T) {
	got := api.Content{message.Text{Text: "a\xffb"}, message.Image{Data: "AAAA", MIMEType: "image/png"}}.Clean()
	want := api.Content{message.Text{Text: "a\uFFFDb"}, message.Image{Data: "AAAA", MIMEType: "image/png"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each option struct must have Validate, or a service would let bad input through.
func TestEveryOperationTakesOptionsThatValidate(t *testing.T) {
	svc := reflect.TypeFor[api.Service]()
	validator := reflect.TypeFor[interface{ Validate() error }]()
	for m := range svc.NumMethod() {
		method := svc.Method(m)
		if method.Type.NumIn() < 2 {
			continue
		}
		if in := method.Type.In(1); !in.Implements(validator) {
			t.Errorf("%s takes %v, which has no Validate", method.Name, in)
		}
	}
}
