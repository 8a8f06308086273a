package main

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// An accepted is a finding of cdk-nag that stays, and why.
type accepted struct {
	path   string // of the construct, within its stack
	rule   string
	about  string // which of its findings, as a regular expression; empty: the only one
	reason string
}

func acceptedData() []accepted {
	return []accepted{{
		"Bucket", "AwsSolutions-S1", "",
		"Six functions alone read and write it, and CloudTrail can record them; a second bucket of access logs would cost more than it tells.",
	}}
}

func acceptedCompute() []accepted {
	out := []accepted{{
		"DeadStreamRecords", "AwsSolutions-SQS3", "",
		"It has the dead letters of the table's stream; the rule looks for queues whose dead letters it has.",
	}, {
		"StepRole", "AwsSolutions-IAM5", "^Resource::arn:.*:schedule/.*/\\*$",
		"The names of schedules are hashes of sessions, made while people talk; all are in one group, which holds nothing else.",
	}}
	for _, name := range functionNames {
		out = append(out, accepted{
			title(name) + "Role", "AwsSolutions-IAM5", "^Resource::.*Bucket.*/\\*$",
			"The keys of bodies are made as the bodies are; every object of this bucket is one.",
		})
	}
	return out
}

// The rules of AwsSolutions hold, except where something else is right and the reason is written here.
func TestNag(t *testing.T) {
	stacks := newStacks(t, map[string]any{"stage": "prod"})
	for _, test := range []struct {
		stack    awscdk.Stack
		accepted []accepted
	}{{stacks.Data.Stack, acceptedData()}, {stacks.Compute.Stack, acceptedCompute()}} {
		for _, a := range test.accepted {
			if len(a.reason) < 40 {
				t.Errorf("%s of %s has no reason to speak of: %q", a.rule, a.path, a.reason)
			}
			suppression := &cdknag.NagPackSuppression{Id: &a.rule, Reason: &a.reason}
			if a.about != "" {
				suppression.AppliesTo = &[]any{&cdknag.RegexAppliesTo{Regex: jsii.String("/" + a.about + "/")}}
			}
			cdknag.NagSuppressions_AddResourceSuppressionsByPath(test.stack, jsii.String("/"+*test.stack.StackName()+"/"+a.path),
				&[]*cdknag.NagPackSuppression{suppression}, jsii.Bool(true))
		}
		awscdk.Aspects_Of(test.stack).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	}
	for _, stack := range []awscdk.Stack{stacks.Data.Stack, stacks.Compute.Stack} {
		annotations, every := assertions.Annotations_FromStack(stack), assertions.Match_StringLikeRegexp(jsii.String("AwsSolutions-.*"))
		for _, found := range append(*annotations.FindError(jsii.String("*"), every), *annotations.FindWarning(jsii.String("*"), every)...) {
			t.Errorf("%s: %v", *found.Id, found.Entry.Data) //nolint:staticcheck // it moved to a module that has no Go yet
		}
	}
}
