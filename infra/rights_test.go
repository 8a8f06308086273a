package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
)

// actions returns what each role and policy allows, by the id of the role.
func actions(t *testing.T, template assertions.Template) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	collect := func(id string, document any) {
		for _, s := range document.(map[string]any)["Statement"].([]any) {
			switch a := s.(map[string]any)["Action"].(type) {
			case string:
				out[id] = append(out[id], a)
			case []any:
				for _, each := range a {
					out[id] = append(out[id], each.(string))
				}
			}
		}
	}
	for _, r := range resources(t, template, "AWS::IAM::Role", "") {
		policies, _ := r.properties["Policies"].([]any)
		for _, p := range policies {
			collect(r.id, p.(map[string]any)["PolicyDocument"])
		}
		if managed := r.properties["ManagedPolicyArns"]; managed != nil {
			t.Errorf("%s has managed policies, which change by themselves: %v", r.id, managed)
		}
	}
	for _, r := range resources(t, template, "AWS::IAM::Policy", "") {
		for _, role := range r.properties["Roles"].([]any) {
			collect(role.(map[string]any)["Ref"].(string), r.properties["PolicyDocument"])
		}
	}
	return out
}

// What a function may do is what is written here: a right more or less is a decision.
func TestRights(t *testing.T) {
	template := assertions.Template_FromStack(newStacks(t, map[string]any{"openaiKeyParameter": "/stepwell/key"}).Compute.Stack, nil)
	logs := []string{"logs:CreateLogStream", "logs:PutLogEvents"}
	reads := []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "s3:GetObject", "s3:ListBucket"}
	writes := []string{
		"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "s3:PutObject",
	}
	receives := []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
	want := map[string][]string{
		"SubmitRole": slices.Concat(logs, reads, writes, []string{"sqs:SendMessage"}),
		"StepRole": slices.Concat(logs, reads, writes, receives, []string{
			"sqs:SendMessage", "scheduler:CreateSchedule", "scheduler:UpdateSchedule", "iam:PassRole", "ssm:GetParameter",
		}),
		"SnapshotRole": slices.Concat(logs, reads),
		"EventsRole":   slices.Concat(logs, reads),
		"AlarmRole": slices.Concat(logs, reads, receives, []string{
			"dynamodb:UpdateItem", "sqs:SendMessage", "events:PutEvents",
			"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
		}),
		"CollectRole":  slices.Concat(logs, reads, writes[:4], []string{"s3:DeleteObject"}),
		"ScheduleRole": {"lambda:InvokeFunction"},
	}
	got := actions(t, template)
	if len(got) != len(want) {
		t.Errorf("these roles may do something: %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for id, all := range got {
		name := id[:len(id)-8] // without the hash
		all, may := distinct(all), distinct(want[name])
		if !slices.Equal(all, may) {
			t.Errorf("%s may\n%v, want\n%v", name, all, may)
		}
		for _, action := range all {
			if strings.Contains(action, "*") {
				t.Errorf("%s may %s", name, action)
			}
			if strings.HasPrefix(action, "s3:Delete") && name != "CollectRole" {
				t.Errorf("%s may %s, which is for collect alone", name, action)
			}
		}
	}
}

func distinct(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// No statement allows something on everything; where a resource ends in a star, it is in one bucket or one group of schedules.
func TestRights_Resources(t *testing.T) {
	template := assertions.Template_FromStack(newStacks(t, nil).Compute.Stack, nil)
	for _, r := range append(resources(t, template, "AWS::IAM::Role", ""), resources(t, template, "AWS::IAM::Policy", "")...) {
		text := r.text(t)
		if strings.Contains(text, `"Resource":"*"`) || strings.Contains(text, `"NotAction"`) || strings.Contains(text, `"NotResource"`) {
			t.Errorf("%s: a statement is about everything: %s", r.id, text)
		}
		for _, part := range strings.Split(text, `"Resource":`)[1:] {
			part, _, _ = strings.Cut(part, `"Action"`)
			if strings.Contains(part, "*") && !strings.Contains(part, "ExportsOutputFnGetAttBucket") && !strings.Contains(part, ":schedule/") {
				t.Errorf("%s: %s", r.id, part)
			}
		}
	}
}
