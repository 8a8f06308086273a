package httpapi_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// answers are the schemas that describe a Go type, which is named alike unless a name is given.
var answers = named(map[string]any{
	"BrokenInvariant": api.Problem{}, "Problem": httpapi.Problem{}, "RunChanges": api.Changes{}, "UserMessage": message.User{}, "AssistantMessage": message.Assistant{},
	"PhaseRespond": object.Respond{}, "PhaseTools": object.Tools{}, "PhaseWaiting": object.WaitingPhase{}, "PhaseRetry": object.Retry{},
	"PhaseDone": object.Done{}, "PhaseAborted": object.Aborted{}, "PhaseFailed": object.Failed{},
	"EffectIntent": object.Intent{}, "EffectWaiting": object.Waiting{}, "EffectExpired": object.Expired{}, "EffectSignal": object.Signal{},
	"EffectResult": object.Result{},
}, httpapi.EventPage{}, httpapi.FieldError{},
	api.Queued{}, api.Duplicate{}, api.UnknownModel{}, api.UnknownAgent{}, api.Cancelled{}, api.Landed{}, api.NotFound{}, api.Redelivered{},
	api.Unchanged{}, api.Requested{}, api.NotRunning{}, api.Idle{}, api.Waiting{}, api.Signalled{}, api.NotWaiting{}, api.HeadCreated{},
	api.Exists{}, api.UnknownParent{}, api.Moved{}, api.Restored{}, api.Busy{}, api.HeadBusy{}, api.MovedSince{}, api.Deleted{}, api.Merged{},
	api.Stale{}, api.Empty{}, api.NoStack{}, api.Advanced{}, api.Diverged{}, api.SessionCreated{}, api.SessionExists{}, api.StepBusy{},
	api.StepWaiting{}, api.Retry{}, api.Finished{}, api.Fenced{}, api.Continue{},
	api.Landing{}, api.LaneInfo{}, api.SessionInfo{}, api.SessionPage{}, api.HeadInfo{}, api.StackInfo{}, api.RunInfo{}, api.LeaseInfo{},
	api.PendingItem{}, api.ParkedCall{}, api.Snapshot{}, api.ContextStatus{}, api.UsageSummary{}, api.ModelUsage{}, api.TranscriptPage{},
	api.Turn{}, api.CheckpointMarker{}, api.SummaryMarker{}, api.ConfigMarker{}, api.NoteMarker{}, api.UserPart{}, api.AssistantPart{},
	api.ThinkingPart{}, api.ToolPart{}, api.NotePart{}, api.CommitItem{}, api.Tree{}, api.TreeNode{}, api.RefInfo{}, api.ReflogEntry{},
	api.CheckReport{}, api.TrimReport{}, api.CollectReport{}, api.Progress{},
	api.CommitEvent{}, api.HeadMovedEvent{}, api.RunEvent{}, api.QueuedEvent{}, api.LandedEvent{}, api.QueueCancelledEvent{}, api.EffectEvent{},
	api.StackEvent{}, api.FactEvent{}, api.DeletedEvent{}, api.SyncedEvent{}, api.TextDeltaEvent{}, api.ReasoningDeltaEvent{},
	api.ToolProgressEvent{}, api.DiagnosticEvent{},
	message.ToolResult{}, message.Diagnostic{}, message.Text{}, message.Image{}, message.Thinking{}, message.ToolCall{}, message.Selection{},
	message.Choice{}, message.SelectionReply{}, message.Usage{}, message.Cost{},
	object.Commit{}, object.Change{}, object.Run{}, object.Stack{}, object.Blob{}, object.MessageBody{}, object.CheckpointBody{},
	object.Material{}, object.SummaryBody{}, object.ConfigBody{}, object.NoteBody{}, object.Actor{}, object.Model{}, object.Config{})

// requests are the schemas of bodies. Their path says what the types require besides.
var requests = map[string]reflect.Type{
	"CreateSession": reflect.TypeFor[api.CreateSessionOptions](), "Configure": reflect.TypeFor[api.ConfigureOptions](), "Send": reflect.TypeFor[api.SendOptions](),
	"Cancel": reflect.TypeFor[api.CancelOptions](), "Redeliver": reflect.TypeFor[api.RedeliverOptions](), "Reply": reflect.TypeFor[api.ReplyOptions](),
	"Abort": reflect.TypeFor[api.AbortOptions](), "CreateHead": reflect.TypeFor[api.CreateHeadOptions](), "MoveHead": reflect.TypeFor[api.MoveHeadOptions](),
	"MergeHead": reflect.TypeFor[api.MergeHeadOptions](), "AdvanceBase": reflect.TypeFor[api.AdvanceBaseOptions](), "OfHead": reflect.TypeFor[api.HeadOptions](),
	"OfSession": reflect.TypeFor[api.SessionOptions](), "Trim": reflect.TypeFor[api.TrimOptions](), "Collect": reflect.TypeFor[api.CollectOptions](),
	"ModelChoice": reflect.TypeFor[object.Model](), "TextInput": nil, "ImageInput": reflect.TypeFor[message.Image](),
}

// unnamed are the members of schemas that no exported type has.
var unnamed = map[string]string{
	"HeadList": "items", "PendingList": "items", "RefList": "items", "Reflog": "items", "CurrentRun": "run", "Version": "version",
	"UpdateSession": "actor archived name pinned", "Attribution": "actor", "TextInput": "text",
	"ReconnectEvent": "seq", "CursorExpiredEvent": "floor", "ProblemEvent": "code detail status title",
}

// unions are the schemas of Go interfaces.
var unions = map[reflect.Type]string{
	reflect.TypeFor[object.Phase](): "Phase", reflect.TypeFor[object.Body](): "Body", reflect.TypeFor[message.Message](): "Message",
	reflect.TypeFor[message.Content](): "MessageContent", reflect.TypeFor[message.Part](): "AssistantContent",
	reflect.TypeFor[api.TranscriptItem](): "TranscriptItem", reflect.TypeFor[api.TranscriptPart](): "TranscriptPart",
}

func named(given map[string]any, values ...any) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for name, v := range given {
		types[name] = reflect.TypeOf(v)
	}
	for _, v := range values {
		types[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	return types
}

// Members are what breaks when a type changes and its schema does not, also where no test makes such an answer.
func TestOpenAPI_schemasHaveTheMembersOfTheirTypes(t *testing.T) {
	c := document(t)
	for name := range c.at("components", "schemas") {
		schema := c.at("components", "schemas", name)
		properties := child(schema, "properties")
		if properties == nil && schema["type"] != "object" {
			continue
		}
		var got []string
		for member, property := range properties {
			if p, ok := property.(map[string]any); !ok || p["const"] == nil {
				got = append(got, member)
			}
		}
		slices.Sort(got)
		if want, ok := unnamed[name]; ok {
			if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
				t.Errorf("%s (-code +openapi.json):\n%s", name, diff)
			}
			continue
		}
		described, isAnswer := answers[name]
		if !isAnswer {
			described = requests[name]
		}
		if described == nil {
			t.Errorf("%s: no type is named for it", name)
			continue
		}
		var want, required []string
		for i := range described.NumField() {
			member, options, _ := strings.Cut(described.Field(i).Tag.Get("json"), ",")
			want = append(want, member)
			if options == "" {
				required = append(required, member)
			}
			if isAnswer {
				if reason := c.wrongType(properties[member], described.Field(i).Type, options != ""); reason != "" {
					t.Errorf("%s.%s %s", name, member, reason)
				}
			}
		}
		if strings.HasSuffix(name, "Event") {
			want, required = append(want, "seq", "more"), append(required, "seq")
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got, equalEmpty); diff != "" {
			t.Errorf("%s (-type +openapi.json):\n%s", name, diff)
		}
		if !isAnswer {
			if schema["additionalProperties"] != false {
				t.Errorf("%s: the server refuses other members", name)
			}
			continue
		}
		listed := slices.DeleteFunc(texts(schema["required"]), func(member string) bool { return child(properties, member)["const"] != nil })
		slices.Sort(required)
		slices.Sort(listed)
		if diff := cmp.Diff(required, listed, equalEmpty); diff != "" {
			t.Errorf("%s, required members (-type +openapi.json):\n%s", name, diff)
		}
	}
	for _, schemas := range []map[string]reflect.Type{answers, requests} {
		for name := range schemas {
			if c.at("components", "schemas", name) == nil {
				t.Errorf("there is no schema %s", name)
			}
		}
	}
}

var equalEmpty = cmp.Transformer("list", func(s []string) []string { return append([]string{}, s...) })

// wrongType says how property does not describe a member of the type want, or "".
func (c *contract) wrongType(property any, want reflect.Type, optional bool) string {
	p, _ := property.(map[string]any)
	name := strings.TrimPrefix(str(p["$ref"]), "#/components/schemas/")
	expect := func(names ...string) string {
		if slices.Contains(names, name) {
			return ""
		}
		return "is " + name + ", want " + strings.Join(names, " or ")
	}
	switch want {
	case reflect.TypeFor[object.OID]():
		if optional {
			return expect("OID")
		}
		return expect("OID", "NullableOID")
	case reflect.TypeFor[message.Millis]():
		return expect("Millis")
	case reflect.TypeFor[api.SessionID]():
		return expect("SessionID")
	case reflect.TypeFor[jsontext.Value]():
		if p["type"] == "object" {
			return "" // any arguments
		}
		return expect("JSON")
	case reflect.TypeFor[api.Event]():
		return expect("Event")
	}
	wantJSON := ""
	switch want.Kind() {
	case reflect.Pointer:
		return c.wrongType(property, want.Elem(), optional)
	case reflect.Interface:
		return expect(unions[want])
	case reflect.Struct:
		if answers[name] != want {
			return "is " + name + ", want the schema of " + want.String()
		}
		return ""
	case reflect.Slice:
		if p["type"] != "array" {
			return "is not an array"
		}
		return c.wrongType(p["items"], want.Elem(), true)
	case reflect.String:
		wantJSON = "string"
	case reflect.Bool:
		wantJSON = "boolean"
	case reflect.Int, reflect.Int64:
		wantJSON = "integer"
	case reflect.Float64:
		wantJSON = "number"
	default:
		return "has the type " + want.String() + ", which no schema is known for"
	}
	if name != "" {
		p = c.at("components", "schemas", name)
	}
	if p["type"] != wantJSON {
		return "is not a " + wantJSON
	}
	return ""
}

// Every outcome and every kind of event has an example, and every example is what its schema says.
func TestOpenAPI_hasExamples(t *testing.T) {
	c := document(t)
	check := func(where, schema string, example any) {
		if why := c.mismatch(schema, encode(t, example)); why != "" {
			t.Errorf("%s: %s", where, why)
		}
	}
	c.walk(func(pointer string, node map[string]any) {
		for kind, media := range child(node, "content") {
			m := child(child(node, "content"), kind)
			schema := strings.TrimPrefix(str(child(m, "schema")["$ref"]), "#/components/schemas/")
			if schema == "" || kind != "application/json" {
				continue
			}
			if example, ok := m["example"]; ok {
				check(pointer, schema, example)
			}
			words := child(child(c.at("components", "schemas", schema), "discriminator"), "mapping")
			for name, example := range child(m, "examples") {
				value := child(example, "value")
				check(pointer+" "+name, schema, value)
				if value["kind"] != name || words[name] == nil {
					t.Errorf("%s: the example %s is %v", pointer, name, value)
				}
			}
			if node["description"] == nil { // a request
				continue
			}
			for word := range words {
				if child(m, "examples")[word] == nil {
					t.Errorf("%s has no example of %s", pointer, word)
				}
			}
			if words == nil && m["example"] == nil {
				t.Errorf("%s has no example: %v", pointer, media)
			}
		}
	})
	for word, ref := range child(c.at("components", "schemas", "StreamEvent", "discriminator"), "mapping") {
		name := strings.TrimPrefix(str(ref), "#/components/schemas/")
		examples, _ := c.at("components", "schemas", name)["examples"].([]any)
		if len(examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, example := range examples {
			check(name, name, example)
			check(name, "StreamEvent", example)
			if child(example)["kind"] != word {
				t.Errorf("%s has the example %v", name, example)
			}
		}
	}
}

// Each union lists the same variants three times: as alternatives, as words, and in their constants.
func TestOpenAPI_unionsAreConsistent(t *testing.T) {
	c := document(t)
	c.walk(func(pointer string, node map[string]any) {
		discriminator := child(node, "discriminator")
		if discriminator == nil {
			return
		}
		tag := str(discriminator["propertyName"])
		var alternatives, mapped []string
		for _, alternative := range node["oneOf"].([]any) {
			alternatives = append(alternatives, str(child(alternative)["$ref"]))
		}
		for word, ref := range child(discriminator, "mapping") {
			mapped = append(mapped, str(ref))
			name := strings.TrimPrefix(str(ref), "#/components/schemas/")
			variant := c.at("components", "schemas", name)
			if got := child(child(variant, "properties"), tag)["const"]; got != word || !slices.Contains(texts(variant["required"]), tag) {
				t.Errorf("%s: %s is %v, want %s", pointer, name, got, word)
			}
		}
		slices.Sort(alternatives)
		slices.Sort(mapped)
		if diff := cmp.Diff(alternatives, mapped); diff != "" {
			t.Errorf("%s (-oneOf +mapping):\n%s", pointer, diff)
		}
	})
	// A stream has everything that a page has.
	stream, page := child(c.at("components", "schemas", "StreamEvent", "discriminator"), "mapping"), child(c.at("components", "schemas", "Event", "discriminator"), "mapping")
	for word := range maps.Keys(page) {
		if stream[word] != page[word] {
			t.Errorf("a stream has no %s", word)
		}
	}
}
