package deploy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stepwell-dev/stepwell/localstack/deploy"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

const audience = "stepwell-test"

// The stack as it is goes up in an emulated cloud, and every way into every function works there.
func TestDeploy(t *testing.T) {
	s, issuer, rec := start(t)
	e := emulator.Start(t)
	t.Run("api", func(t *testing.T) { t.Parallel(); testAPI(t, s, issuer, rec) })
	t.Run("events", func(t *testing.T) { t.Parallel(); testEvents(t, s) })
	t.Run("queues", func(t *testing.T) { t.Parallel(); testQueues(t, e, s, rec) })
	t.Run("stream", func(t *testing.T) { t.Parallel(); testStream(t, e, s, rec) })
	t.Run("schedule", func(t *testing.T) { t.Parallel(); testSchedule(t, e, s, rec) })
	t.Run("functions", func(t *testing.T) { t.Parallel(); testFunctions(t, e, s, rec) })
	t.Run("sweep", func(t *testing.T) { t.Parallel(); testSweep(t, s, rec) })
}

// claims are those of a good token.
func claims() map[string]any {
	now := time.Now()
	return map[string]any{
		"aud": audience, "sub": "ada", "org": "acme",
		// The emulator allows no clock to be ahead of its own.
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

func testAPI(t *testing.T, s *deploy.Stack, issuer *deploy.Issuer, rec *recorder) {
	token := func(change map[string]any) string {
		all := claims()
		for name, value := range change {
			all[name] = value
		}
		text, err := issuer.Token(all)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, bad := range map[string]string{
		"none": "", "other audience": token(map[string]any{"aud": "other"}), "other issuer": token(map[string]any{"iss": "http://127.0.0.1:1"}),
		"expired": token(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "broken signature": token(nil) + "x",
	} {
		if status, body := request(t, http.MethodGet, s.APIURL+"/v1/sessions", bad); status != http.StatusUnauthorized {
			t.Errorf("with a token that is %s: %d %s, want 401", name, status, body)
		}
	}
	for function, route := range map[string]string{
		"submit": "POST /v1/sessions", "step": "POST /sessions/s1/steps", "snapshot": "GET /v1/sessions/s1/snapshot", "events": "GET /sessions/s1/events",
		"collect": "DELETE /v1/sessions/s1",
	} {
		method, path, _ := strings.Cut(route, " ")
		begin := time.Now()
		status, body := request(t, method, s.APIURL+path+"?a=b", token(nil))
		t.Logf("%s in %v", route, time.Since(begin).Round(time.Millisecond))
		if status != http.StatusOK || !strings.Contains(body, s.Functions[function]) || !strings.Contains(strings.ReplaceAll(body, " ", ""), `"org":"acme"`) {
			t.Errorf("%s: %d %s, want the answer of %s with the claims (is every package of localstack/requirements.txt installed?)", route, status, body, function)
		}
	}
	if status, body := request(t, http.MethodGet, s.APIURL+"/v1/nothing", token(nil)); status != http.StatusNotFound {
		t.Errorf("a path that is no route: %d %s, want 404", status, body)
	}
	i := rec.wait(t, time.Second, s.Functions["step"], func(event string) bool { return strings.Contains(event, "routeKey") })
	for name, want := range map[string]string{
		"STEPWELL_STORE": s.Store(), "STEPWELL_TENANT_CLAIM": "org", "STEPWELL_MODEL": "stub", "OPENAI_API_KEY": "sk-test", "STEPWELL_LEASE_TTL": "20s",
		"STEPWELL_WAKE_OFF": "watchdog", "STEPWELL_STEPS_QUEUE": s.StepsQueue, "STEPWELL_ALARMS_QUEUE": s.AlarmsQueue,
		"STEPWELL_SCHEDULE_GROUP": s.ScheduleGroup, "STEPWELL_SCHEDULE_ROLE": s.ScheduleRole, "STEPWELL_SCHEDULE_TARGET": s.FunctionARN("alarm"),
	} {
		if got := i.Env[name]; got != want {
			t.Errorf("step has %s=%s, want %s", name, got, want)
		}
	}
	if i.Env["AWS_ENDPOINT_URL"] == "" {
		t.Error("step has no AWS_ENDPOINT_URL: it would ask AWS")
	}
}

// The stream's function answers without the gateway, and what it streams arrives whole.
func testEvents(t *testing.T, s *deploy.Stack) {
	begin := time.Now()
	status, body := request(t, http.MethodGet, s.EventsURL+"/v1/sessions/s1/events?after=3", "")
	t.Logf("the stream took %v", time.Since(begin).Round(time.Millisecond))
	if status != http.StatusOK || strings.Count(body, "data: ") != 2 {
		t.Errorf("%d %q, want two events", status, body)
	}
}

// A message reaches its function, at once or after a delay; one that fails comes back until it is a dead letter.
func testQueues(t *testing.T, e emulator.Endpoint, s *deploy.Stack, rec *recorder) {
	client := sqs.NewFromConfig(e.Config())
	send := func(queue, body string, delay int32) time.Time {
		t.Helper()
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body, DelaySeconds: delay}); err != nil {
			t.Fatalf("sending to %s: %v", queue, err)
		}
		return time.Now()
	}
	got := func(function, text string, sent time.Time) {
		t.Helper()
		i := rec.wait(t, 30*time.Second, s.Functions[function], func(event string) bool { return strings.Contains(event, text) })
		t.Logf("%s had %s after %v", function, text, time.UnixMilli(i.At).Sub(sent).Round(time.Millisecond))
	}
	sent := send(s.AlarmsQueue, `{"tenant":"acme","session":"delayed","head":"main"}`, 4)
	now := send(s.StepsQueue, `{"tenant":"acme","session":"at-once","head":"main"}`, 0)
	got("step", "at-once", now)
	got("alarm", "delayed", sent)
	if early := rec.find(s.Functions["alarm"], func(event string) bool { return strings.Contains(event, "delayed") })[0]; early.At < sent.Add(3*time.Second).UnixMilli() {
		t.Errorf("a message with a delay of 4 s came after %v", time.UnixMilli(early.At).Sub(sent))
	}
	for name, dead := range map[string]string{s.StepsQueue: s.DeadSteps, s.AlarmsQueue: s.DeadAlarms} {
		out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &name, AttributeNames: []sqstypes.QueueAttributeName{"RedrivePolicy"}})
		if err != nil {
			t.Fatal(err)
		}
		if policy := out.Attributes["RedrivePolicy"]; !strings.Contains(policy, dead[strings.LastIndex(dead, "/")+1:]) {
			t.Errorf("%s gives up to %q, want %s", name, policy, dead)
		}
	}
}

// What is written to the table reaches alarm, with both images.
func testStream(t *testing.T, e emulator.Endpoint, s *deploy.Stack, rec *recorder) {
	item := map[string]ddb.AttributeValue{
		"p": &ddb.AttributeValueMemberS{Value: "stream-test"}, "s": &ddb.AttributeValueMemberS{Value: "1"},
	}
	for _, value := range []string{"before", "after"} {
		item["v"] = &ddb.AttributeValueMemberS{Value: value}
		if _, err := e.DynamoDB().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.Table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	wrote := time.Now()
	i := rec.wait(t, 30*time.Second, s.Functions["alarm"], func(event string) bool {
		return strings.Contains(event, "stream-test") && strings.Contains(event, "OldImage") && strings.Contains(event, `"after"`)
	})
	t.Logf("alarm had it after %v", time.UnixMilli(i.At).Sub(wrote).Round(time.Millisecond))
}

// A schedule as step makes it invokes alarm and goes away.
func testSchedule(t *testing.T, e emulator.Endpoint, s *deploy.Stack, rec *recorder) {
	client := scheduler.NewFromConfig(e.Config())
	name, due := "w-test", time.Now().UTC().Add(2*time.Second)
	_, err := client.CreateSchedule(t.Context(), &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &s.ScheduleGroup, ScheduleExpression: aws.String("at(" + due.Format("2006-01-02T15:04:05") + ")"),
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff}, ActionAfterCompletion: types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: aws.String(s.FunctionARN("alarm")), RoleArn: &s.ScheduleRole, Input: aws.String(`{"tenant":"acme","session":"scheduled","head":"main"}`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	i := rec.wait(t, 90*time.Second, s.Functions["alarm"], func(event string) bool { return strings.Contains(event, `"scheduled"`) })
	t.Logf("alarm had %s %v after it was due", i.Event, time.UnixMilli(i.At).Sub(due).Round(time.Millisecond))
	time.Sleep(time.Second)
	if out, err := client.GetSchedule(t.Context(), &scheduler.GetScheduleInput{Name: &name, GroupName: &s.ScheduleGroup}); err == nil {
		t.Errorf("the schedule is still there: %v", *out.Name)
	}
}

// A function is invoked as on AWS: with one event at a time, however much it logs, and with an error when it dies.
func testFunctions(t *testing.T, e emulator.Endpoint, s *deploy.Stack, rec *recorder) {
	client := lambda.NewFromConfig(e.Config())
	invoke := func(event string) (text string, failed bool) {
		t.Helper()
		name := s.Functions["collect"]
		out, err := client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: &name, Payload: []byte(event)})
		if err != nil {
			t.Fatal(err)
		}
		return string(out.Payload), out.FunctionError != nil
	}
	for n := range 20 {
		if text, failed := invoke(fmt.Sprintf(`{"n":%d}`, n)); failed {
			t.Errorf("invocation %d: %s", n, text)
		}
	}
	for _, i := range rec.find(s.Functions["collect"], func(event string) bool { return strings.Contains(event, `"n":`) }) {
		if i.Count != 1 {
			t.Errorf("one process had %s as its event number %d", i.Event, i.Count)
		}
	}
	if text, failed := invoke(`{"do":"chatter"}`); failed {
		t.Errorf("a function that logs much: %s", text)
	}
	begin := time.Now()
	text, failed := invoke(`{"do":"crash"}`)
	if took := time.Since(begin); !failed || !strings.Contains(text, "Runtime.ExitError") || took > 20*time.Second {
		t.Errorf("a function that dies: failed %t with %s after %v", failed, text, took)
	}
}

// The sweep comes by itself.
func testSweep(t *testing.T, s *deploy.Stack, rec *recorder) {
	begin := time.Now()
	i := rec.wait(t, 150*time.Second, s.Functions["alarm"], func(event string) bool { return event == `{"sweep":true}` })
	t.Logf("the sweep came %v after the test began", time.UnixMilli(i.At).Sub(begin).Round(time.Second))
}

// request asks and returns the status and the body.
func request(t *testing.T, method, url, token string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(fmt.Errorf("%s %s: %w", method, url, err))
	}
	return resp.StatusCode, string(body)
}
