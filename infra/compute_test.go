package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
)

func computeOf(t *testing.T, context map[string]any) assertions.Template {
	t.Helper()
	return assertions.Template_FromStack(newStacks(t, context).Compute.Stack, nil)
}

func TestFunctions(t *testing.T) {
	template := computeOf(t, map[string]any{"retentionDays": "7"})
	for name, want := range map[string]struct{ seconds, memory float64 }{
		"Submit": {30, 256}, "Step": {300, 512}, "Snapshot": {30, 256}, "Events": {900, 256}, "Alarm": {30, 256}, "Collect": {30, 256},
	} {
		f := one(t, template, "AWS::Lambda::Function", name)
		if f.at(t, "Timeout") != want.seconds || f.at(t, "MemorySize") != want.memory {
			t.Errorf("%s has %v s and %v MB, want %v", name, f.at(t, "Timeout"), f.at(t, "MemorySize"), want)
		}
		if f.at(t, "Runtime") != "provided.al2023" || f.at(t, "Handler") != "bootstrap" || f.at(t, "Architectures", 0) != "arm64" {
			t.Errorf("%s runs otherwise: %s", name, f.text(t))
		}
		if loop := f.properties["RecursiveLoop"]; (name == "Step") != (loop == "Allow") {
			t.Errorf("%s has the recursive loop %v: a run has more steps than Lambda lets pass", name, loop)
		}
		if days := one(t, template, "AWS::Logs::LogGroup", name+"Logs").at(t, "RetentionInDays"); days != 7.0 {
			t.Errorf("the logs of %s stay %v days", name, days)
		}
	}
	if arch := one(t, computeOf(t, map[string]any{"arch": "amd64"}), "AWS::Lambda::Function", "Step").at(t, "Architectures", 0); arch != "x86_64" {
		t.Errorf("with arch=amd64 it is %v", arch)
	}
}

func TestFunctions_Environment(t *testing.T) {
	template := computeOf(t, map[string]any{
		"tenantClaim": "org", "model": "openai/gpt", "openaiApiKey": "sk", "openaiBaseUrl": "https://llm.example.com/v1", "fetchAllow": "example.com",
		"leaseTtl": "20s", "stepsPerInvocation": "8", "pace": "50ms", "wakeOff": "queue", "logLevel": "debug", "endpointUrl": "http://127.0.0.1:4566",
	})
	for function, want := range map[string]map[string]any{
		"Step": {
			"STEPWELL_MODEL": "openai/gpt", "OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": "https://llm.example.com/v1", "STEPWELL_FETCH_ALLOW": "example.com",
			"STEPWELL_LEASE_TTL": "20s", "STEPWELL_STEPS_PER_INVOCATION": "8", "STEPWELL_PACE": "50ms", "STEPWELL_WAKE_OFF": "queue",
			"STEPWELL_STEPS_QUEUE": "Ref Steps", "STEPWELL_ALARMS_QUEUE": "Ref Alarms", "STEPWELL_SCHEDULE_GROUP": one(t, template, "AWS::Scheduler::ScheduleGroup", "").at(t, "Name"),
			"STEPWELL_SCHEDULE_ROLE": "GetAtt ScheduleRole", "STEPWELL_SCHEDULE_TARGET": "GetAtt Alarm",
		},
		"Submit":   {"STEPWELL_STEPS_QUEUE": "Ref Steps", "STEPWELL_WAKE_OFF": "queue"},
		"Alarm":    {"STEPWELL_STEPS_QUEUE": "Ref Steps", "STEPWELL_ALARMS_QUEUE": "Ref Alarms", "STEPWELL_EVENT_BUS": "Ref Bus", "STEPWELL_WAKE_OFF": "queue"},
		"Events":   {"STEPWELL_JWT_ISSUER": "https://issuer.example.com/", "STEPWELL_JWT_AUDIENCE": "stepwell"},
		"Snapshot": {}, "Collect": {},
	} {
		for name, value := range map[string]any{
			"STEPWELL_STORE": "join", "STEPWELL_TENANT_CLAIM": "org", "STEPWELL_LOG_LEVEL": "debug", "STEPWELL_LOG_FORMAT": "json",
			"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_SDK_UA_APP_ID": "stepwell-" + strings.ToLower(function),
		} {
			want[name] = value
		}
		env := one(t, template, "AWS::Lambda::Function", function).at(t, "Environment", "Variables").(map[string]any)
		if got, may := slices.Sorted(maps.Keys(env)), slices.Sorted(maps.Keys(want)); !slices.Equal(got, may) {
			t.Errorf("%s has the variables\n%v, want\n%v", function, got, may)
		}
		for name, value := range want {
			if got := short(env[name]); got != value {
				t.Errorf("%s has %s=%v, want %v", function, name, got, value)
			}
		}
	}
}

// short is a value of a template without the hash of what it refers to.
func short(value any) any {
	m, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if ref, ok := m["Ref"].(string); ok {
		return "Ref " + ref[:len(ref)-8]
	}
	if attr, ok := m["Fn::GetAtt"].([]any); ok {
		id := attr[0].(string)
		return "GetAtt " + id[:len(id)-8]
	}
	if _, ok := m["Fn::Join"]; ok {
		return "join"
	}
	return value
}

// Nothing is tried for ever, and what is given up can be found.
func TestSources(t *testing.T) {
	template := computeOf(t, nil)
	sources := resources(t, template, "AWS::Lambda::EventSourceMapping", "")
	if len(sources) != 3 {
		t.Errorf("there are %d event sources, want two queues and a stream", len(sources))
	}
	for _, s := range sources {
		if !strings.Contains(s.text(t), "ReportBatchItemFailures") {
			t.Errorf("%s loses a whole batch for one failure", s.id)
		}
	}
	stream := one(t, template, "AWS::Lambda::EventSourceMapping", "StreamSource")
	for key, want := range map[string]any{
		"BatchSize": 100.0, "MaximumBatchingWindowInSeconds": 1.0, "BisectBatchOnFunctionError": true, "MaximumRetryAttempts": 5.0,
		"MaximumRecordAgeInSeconds": 300.0, "StartingPosition": "TRIM_HORIZON",
	} {
		if got := stream.at(t, key); got != want {
			t.Errorf("the stream has %s=%v, want %v", key, got, want)
		}
	}
	if got := short(stream.at(t, "DestinationConfig", "OnFailure", "Destination")); got != "GetAtt DeadStreamRecords" {
		t.Errorf("what the stream gives up goes to %v", got)
	}
	for name, want := range map[string]struct {
		batch, visibility float64
		timeout           string
	}{"Steps": {1, 360, "Step"}, "Alarms": {10, 180, "Alarm"}} {
		source := one(t, template, "AWS::Lambda::EventSourceMapping", name+"Source")
		if got := source.at(t, "BatchSize"); got != want.batch {
			t.Errorf("%s come %v at once, want %v", name, got, want.batch)
		}
		var queue resource
		for _, q := range resources(t, template, "AWS::SQS::Queue", name) {
			queue = q
		}
		if got := short(queue.at(t, "RedrivePolicy", "deadLetterTargetArn")); got != "GetAtt Dead"+name || queue.at(t, "RedrivePolicy", "maxReceiveCount") != 5.0 {
			t.Errorf("%s are given up to %v after %v", name, got, queue.at(t, "RedrivePolicy", "maxReceiveCount"))
		}
		visibility, timeout := queue.at(t, "VisibilityTimeout").(float64), one(t, template, "AWS::Lambda::Function", want.timeout).at(t, "Timeout").(float64)
		if visibility != want.visibility || visibility < timeout {
			t.Errorf("%s come back after %v s while their function may run %v s", name, visibility, timeout)
		}
	}
	async := one(t, template, "AWS::Lambda::EventInvokeConfig", "Alarm")
	if async.at(t, "MaximumRetryAttempts") != 1.0 || short(async.at(t, "DestinationConfig", "OnFailure", "Destination")) != "GetAtt DeadAlarms" {
		t.Errorf("schedules are tried otherwise: %s", async.text(t))
	}
}

func TestSweep(t *testing.T) {
	sweep := one(t, computeOf(t, nil), "AWS::Scheduler::Schedule", "Sweep")
	if sweep.at(t, "ScheduleExpression") != "rate(1 minute)" || sweep.at(t, "Target", "Input") != `{"sweep":true}` ||
		short(sweep.at(t, "Target", "Arn")) != "GetAtt Alarm" || short(sweep.at(t, "Target", "RoleArn")) != "GetAtt ScheduleRole" ||
		sweep.at(t, "Target", "RetryPolicy", "MaximumRetryAttempts") != 1.0 {
		t.Errorf("the sweep is %s", sweep.text(t))
	}
}

// Every operation that needs a token is served, by the function that is for it, and none without a token.
func TestRoutes(t *testing.T) {
	template := computeOf(t, nil)
	served := map[string]bool{}
	for _, r := range resources(t, template, "AWS::ApiGatewayV2::Route", "") {
		key := r.at(t, "RouteKey").(string)
		served[key] = true
		if r.at(t, "AuthorizationType") != "JWT" || short(r.at(t, "AuthorizerId")) == nil {
			t.Errorf("%s is open", key)
		}
	}
	text, err := os.ReadFile("../pkg/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	open := []string{"/healthz", "/readyz", "/version", "/problems/{code}", "/openapi.json"}
	for path, operations := range document.Paths {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if _, ok := operations[method]; !ok || slices.Contains(open, path) {
				continue
			}
			key := strings.ToUpper(method) + " " + path
			if !served[key] {
				t.Errorf("%s of openapi.json is no route", key)
			}
			delete(served, key)
		}
	}
	for key := range served {
		t.Errorf("the route %s is not in openapi.json", key)
	}
	authorizer := one(t, template, "AWS::ApiGatewayV2::Authorizer", "")
	if authorizer.at(t, "JwtConfiguration", "Issuer") != "https://issuer.example.com/" || authorizer.at(t, "JwtConfiguration", "Audience", 0) != "stepwell" {
		t.Errorf("the authorizer is %s", authorizer.text(t))
	}
}

// Which function serves a route follows from what it does.
func TestRoutes_Functions(t *testing.T) {
	for function, keys := range routes {
		for _, key := range keys {
			want := "submit"
			switch {
			case strings.HasSuffix(key, "/steps"):
				want = "step"
			case strings.HasSuffix(key, "/events"):
				want = "events"
			case strings.HasPrefix(key, "GET "):
				want = "snapshot"
			case key == "DELETE /v1/sessions/{id}", strings.HasSuffix(key, "/collect"), strings.HasSuffix(key, "/trim"):
				want = "collect"
			}
			if function != want {
				t.Errorf("%s is served by %s, want %s", key, function, want)
			}
		}
	}
}

func TestEventsURL(t *testing.T) {
	template := computeOf(t, nil)
	url := one(t, template, "AWS::Lambda::Url", "")
	if url.at(t, "InvokeMode") != "RESPONSE_STREAM" || url.at(t, "AuthType") != "NONE" || short(url.at(t, "TargetFunctionArn")) != "GetAtt Events" {
		t.Errorf("the URL is %s", url.text(t))
	}
}

func TestAlarms(t *testing.T) {
	template := computeOf(t, map[string]any{"alarmTopicArn": "arn:aws:sns:us-east-1:123456789012:people"})
	for _, id := range []string{
		"StepsDeadLetters", "AlarmsDeadLetters", "StreamDeadLetters", "StreamAge", "StepErrors",
		"SubmitThrottles", "StepThrottles", "SnapshotThrottles", "EventsThrottles", "AlarmThrottles", "CollectThrottles",
	} {
		alarm := one(t, template, "AWS::CloudWatch::Alarm", id)
		if alarm.at(t, "AlarmActions", 0) != "arn:aws:sns:us-east-1:123456789012:people" || alarm.at(t, "TreatMissingData") != "notBreaching" {
			t.Errorf("%s is %s", id, alarm.text(t))
		}
	}
	one(t, template, "AWS::CloudWatch::Dashboard", "")
}

func TestOutputs(t *testing.T) {
	text, err := json.Marshal(computeOf(t, map[string]any{
		"domain": "api.example.com", "certificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/c",
	}).ToJSON())
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Outputs map[string]any `json:"Outputs"`
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"ApiUrl", "EventsUrl", "TableName", "BucketName", "StepsQueueUrl", "AlarmsQueueUrl", "EventBusName", "DeadStepsQueueUrl", "DeadAlarmsQueueUrl",
		"DeadStreamQueueUrl", "ScheduleGroupName", "ScheduleRoleArn", "DomainUrl", "DomainTarget",
		"SubmitFunctionName", "StepFunctionName", "SnapshotFunctionName", "EventsFunctionName", "AlarmFunctionName", "CollectFunctionName",
	} {
		if template.Outputs[name] == nil {
			t.Errorf("there is no output %s", name)
		}
	}
}
