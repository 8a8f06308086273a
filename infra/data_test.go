package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
)

func TestTable(t *testing.T) {
	for _, stage := range []string{"dev", "prod"} {
		data := newStacks(t, map[string]any{"stage": stage}).Data
		template := assertions.Template_FromStack(data.Stack, nil)
		table := one(t, template, "AWS::DynamoDB::GlobalTable", "Table")
		if got := table.at(t, "StreamSpecification", "StreamViewType"); got != "NEW_AND_OLD_IMAGES" {
			t.Errorf("%s: the stream has %v", stage, got)
		}
		if got := table.at(t, "Replicas", 0, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"); got != true {
			t.Errorf("%s: point-in-time recovery is %v", stage, got)
		}
		if got := table.at(t, "Replicas", 0, "DeletionProtectionEnabled"); got != (stage == "prod") {
			t.Errorf("%s: deletion protection is %v", stage, got)
		}
		retained := map[string]string{"dev": "Delete", "prod": "Retain"}[stage]
		for _, r := range []resource{table, one(t, template, "AWS::S3::Bucket", "Bucket")} {
			if r.all["DeletionPolicy"] != retained || r.all["UpdateReplacePolicy"] != retained {
				t.Errorf("%s: %s is to be %v and %v, want %s", stage, r.id, r.all["DeletionPolicy"], r.all["UpdateReplacePolicy"], retained)
			}
		}
		if got := *data.TerminationProtection(); got != (stage == "prod") {
			t.Errorf("%s: termination protection is %v", stage, got)
		}
		if got := table.at(t, "TableName"); got != "stepwell-"+stage {
			t.Errorf("%s: the table is called %v", stage, got)
		}
	}
}

// The keys are the store's own, so that a change there cannot be forgotten here.
func TestTable_Keys(t *testing.T) {
	table := one(t, assertions.Template_FromStack(newStacks(t, nil).Data.Stack, nil), "AWS::DynamoDB::GlobalTable", "Table")
	def := dynstore.Definition()
	index := table.at(t, "GlobalSecondaryIndexes", 0)
	got := fmt.Sprintf("%v %v", table.at(t, "KeySchema"), index)
	want := fmt.Sprintf("[map[AttributeName:%s KeyType:HASH] map[AttributeName:%s KeyType:RANGE]] "+
		"map[IndexName:%s KeySchema:[map[AttributeName:%s KeyType:HASH] map[AttributeName:%s KeyType:RANGE]] Projection:map[ProjectionType:KEYS_ONLY]]",
		def.PartitionKey, def.SortKey, def.Index.Name, def.Index.PartitionKey, def.Index.SortKey)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	types := map[any]any{}
	for _, a := range table.at(t, "AttributeDefinitions").([]any) {
		m := a.(map[string]any)
		types[m["AttributeName"]] = m["AttributeType"]
	}
	for name, want := range map[string]string{def.PartitionKey: "S", def.SortKey: "S", def.Index.PartitionKey: "S", def.Index.SortKey: "N"} {
		if types[name] != want {
			t.Errorf("attribute %s has type %v, want %s", name, types[name], want)
		}
	}
	if len(types) != 4 || len(table.at(t, "GlobalSecondaryIndexes").([]any)) != 1 {
		t.Errorf("there is more than one index: %v", types)
	}
	if name := table.at(t, "TableName"); name != nil {
		t.Errorf("without a stage the table is called %v, want a name that CloudFormation makes", name)
	}
}

func TestBucket(t *testing.T) {
	template := assertions.Template_FromStack(newStacks(t, nil).Data.Stack, nil)
	bucket := one(t, template, "AWS::S3::Bucket", "Bucket")
	text := bucket.text(t)
	for _, want := range []string{
		`"VersioningConfiguration":{"Status":"Enabled"}`, `"SSEAlgorithm":"AES256"`, `"DaysAfterInitiation":1`, `"NoncurrentDays":30`,
		`"BlockPublicAcls":true`, `"BlockPublicPolicy":true`, `"IgnorePublicAcls":true`, `"RestrictPublicBuckets":true`, `"BucketOwnerEnforced"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the bucket has no %s: %s", want, text)
		}
	}
	if policy := one(t, template, "AWS::S3::BucketPolicy", "").text(t); !strings.Contains(policy, `{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny"`) {
		t.Errorf("the bucket may be asked without TLS: %s", policy)
	}
}
