package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// functionNames are all functions, as they are called in dist.
var functionNames = []string{"submit", "step", "snapshot", "events", "alarm", "collect"}

// The functions.
type functions struct {
	submit, step, snapshot, events, alarm, collect awslambda.Function
}

func (f functions) all() map[string]awslambda.Function {
	return map[string]awslambda.Function{
		"submit": f.submit, "step": f.step, "snapshot": f.snapshot, "events": f.events, "alarm": f.alarm, "collect": f.collect,
	}
}

// findCode returns where the code of each function is.
func findCode(dist string) (map[string]string, error) {
	code := map[string]string{}
	var missing []error
	for _, name := range functionNames {
		archive := filepath.Join(dist, name+".zip")
		if _, err := os.Stat(archive); err == nil {
			code[name] = archive
			continue
		}
		dir := filepath.Join(dist, name)
		if _, err := os.Stat(filepath.Join(dir, "bootstrap")); err != nil {
			missing = append(missing, fmt.Errorf("there is neither %s nor %s/bootstrap: build the functions first (make functions)", archive, dir))
		}
		code[name] = dir
	}
	return code, errors.Join(missing...)
}

// A functionSpec is what makes a function different from the others.
type functionSpec struct {
	name        string
	description string
	seconds     float64
	memory      float64
	rights      []awsiam.PolicyStatement
	env         map[string]string
	recursive   bool
	failures    awslambda.IDestination
}

func (c *Compute) newFunctions(code map[string]string) functions {
	steps, alarms := *c.queues.steps.QueueUrl(), *c.queues.alarms.QueueUrl()
	var f functions
	f.submit = c.newFunction(code, functionSpec{
		name: "submit", description: "Takes messages, replies, aborts and the like", seconds: 30, memory: 256,
		rights: c.submitRights(), env: map[string]string{"STEPWELL_STEPS_QUEUE": steps, "STEPWELL_WAKE_OFF": c.config.WakeOff},
	})
	f.alarm = c.newFunction(code, functionSpec{
		name: "alarm", description: "Wakes sessions: by the table's stream, by delayed messages, by schedules and by a sweep", seconds: 30, memory: 256,
		rights: c.alarmRights(), failures: c.asyncFailures(),
		env: map[string]string{
			"STEPWELL_STEPS_QUEUE": steps, "STEPWELL_ALARMS_QUEUE": alarms, "STEPWELL_EVENT_BUS": *c.bus.EventBusName(),
			"STEPWELL_WAKE_OFF": c.config.WakeOff,
		},
	})
	f.step = c.newFunction(code, functionSpec{
		name: "step", description: "Runs agents step by step", seconds: float64(c.config.StepSeconds), memory: 512,
		rights: c.stepRights(), recursive: true, env: c.stepEnv(f.alarm),
	})
	f.snapshot = c.newFunction(code, functionSpec{
		name: "snapshot", description: "Answers what only reads", seconds: 30, memory: 256, rights: c.readerRights(),
	})
	f.events = c.newFunction(code, functionSpec{
		name: "events", description: "Sends events, as pages and as a stream", seconds: 900, memory: 256, rights: c.readerRights(),
		env: map[string]string{"STEPWELL_JWT_ISSUER": c.config.JWTIssuer, "STEPWELL_JWT_AUDIENCE": strings.Join(c.config.JWTAudience, ",")},
	})
	f.collect = c.newFunction(code, functionSpec{
		name: "collect", description: "Deletes sessions and what nothing needs any more", seconds: 30, memory: 256, rights: c.collectRights(),
	})
	return f
}

// stepEnv is what step is told besides what all are.
func (c *Compute) stepEnv(alarm awslambda.Function) map[string]string {
	return map[string]string{
		"STEPWELL_STEPS_QUEUE": *c.queues.steps.QueueUrl(), "STEPWELL_ALARMS_QUEUE": *c.queues.alarms.QueueUrl(),
		"STEPWELL_SCHEDULE_GROUP": *c.schedules.group.ScheduleGroupName(), "STEPWELL_SCHEDULE_ROLE": *c.schedules.role.RoleArn(),
		"STEPWELL_SCHEDULE_TARGET": *alarm.FunctionArn(), "STEPWELL_WAKE_OFF": c.config.WakeOff,
		"STEPWELL_LEASE_TTL": c.config.LeaseTTL, "STEPWELL_STEPS_PER_INVOCATION": c.config.StepsPerInvocation,
		"STEPWELL_MODEL": c.config.Model, "STEPWELL_PACE": c.config.Pace, "STEPWELL_FETCH_ALLOW": c.config.FetchAllow,
		"OPENAI_API_KEY": c.config.OpenAIKey, "STEPWELL_OPENAI_KEY_PARAMETER": c.config.OpenAIKeyParameter, "OPENAI_BASE_URL": c.config.OpenAIBaseURL,
	}
}

func (c *Compute) newFunction(code map[string]string, spec functionSpec) awslambda.Function {
	env := map[string]string{
		"STEPWELL_STORE":        "dynamodb://" + *c.data.Table.TableName() + "?bucket=" + *c.data.Bucket.BucketName(),
		"STEPWELL_TENANT_CLAIM": c.config.TenantClaim,
		"STEPWELL_LOG_LEVEL":    c.config.LogLevel,
		"STEPWELL_LOG_FORMAT":   "json",
		"AWS_ENDPOINT_URL":      c.config.EndpointURL,
		"AWS_SDK_UA_APP_ID":     "stepwell-" + spec.name, // which function asked, in the trail of the account
	}
	for name, value := range spec.env {
		env[name] = value
	}
	logs := c.newLogs(title(spec.name) + "Logs")
	arch := awslambda.Architecture_ARM_64()
	if c.config.Arch == "amd64" {
		arch = awslambda.Architecture_X86_64()
	}
	props := &awslambda.FunctionProps{
		Description: &spec.description, Runtime: awslambda.Runtime_PROVIDED_AL2023(), Architecture: arch, Handler: jsii.String("bootstrap"),
		Code: awslambda.Code_FromAsset(jsii.String(code[spec.name]), nil), Environment: given(env),
		Timeout: awscdk.Duration_Seconds(&spec.seconds), MemorySize: &spec.memory,
		Role: c.newRole(spec.name, logs, spec.rights), LogGroup: logs,
	}
	if spec.recursive {
		// A run calls itself by way of a queue for as long as it has something to do; its own limit of steps ends it.
		props.RecursiveLoop = awslambda.RecursiveLoop_ALLOW
	}
	if spec.failures != nil {
		props.OnFailure, props.RetryAttempts, props.MaxEventAge = spec.failures, jsii.Number(1), awscdk.Duration_Minutes(jsii.Number(5))
	}
	return awslambda.NewFunction(c.Stack, jsii.String(title(spec.name)), props)
}

// given leaves out what has no value, so that a function uses its own default.
func given(env map[string]string) *map[string]*string {
	out := map[string]*string{}
	for name, value := range env {
		if value != "" {
			out[name] = &value
		}
	}
	return &out
}

// title is a name as the ids of constructs have it.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
