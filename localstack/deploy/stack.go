package deploy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

// A Stack is a stage that was deployed.
type Stack struct {
	Stage string
	// APIURL and EventsURL are where the HTTP API and the function that streams events answer, without a final slash.
	APIURL, EventsURL string
	Table, Bucket     string
	StepsQueue        string // its URL, as those of the other queues
	AlarmsQueue       string
	DeadSteps         string
	DeadAlarms        string
	DeadRecords       string // of the table's stream
	EventBus          string
	ScheduleGroup     string
	ScheduleRole      string // its ARN
	// Functions has the name of each function in the cloud by the name that it has here: submit, step, snapshot, events, alarm, collect.
	Functions map[string]string
	// Outputs are the outputs of the stack as they are.
	Outputs map[string]string

	endpoint emulator.Endpoint
	tools    *tools
	dir      string
}

// Store is the value of STEPWELL_STORE for somebody who works on the same sessions.
func (s *Stack) Store() string { return "dynamodb://" + s.Table + "?bucket=" + s.Bucket }

// FunctionARN returns the ARN of a function by the name that it has here.
func (s *Stack) FunctionARN(name string) string {
	return "arn:aws:lambda:" + s.tools.region + ":" + account + ":function:" + s.Functions[name]
}

// Template returns the template of the functions and all that has no state, as the CDK wrote it.
func (s *Stack) Template() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.assembly(), "stepwell-"+s.Stage+".template.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the template of the stack: %w", err)
	}
	return text, nil
}

// read takes the outputs of the stack.
func (s *Stack) read(outputs map[string]string) error {
	s.Outputs = outputs
	var missing []error
	out := func(name string) string {
		if outputs[name] == "" {
			missing = append(missing, fmt.Errorf("the stack has no output %s", name))
		}
		return outputs[name]
	}
	s.Table, s.Bucket = out("TableName"), out("BucketName")
	s.StepsQueue, s.AlarmsQueue = out("StepsQueueUrl"), out("AlarmsQueueUrl")
	s.DeadSteps, s.DeadAlarms, s.DeadRecords = out("DeadStepsQueueUrl"), out("DeadAlarmsQueueUrl"), out("DeadStreamQueueUrl")
	s.EventBus, s.ScheduleGroup, s.ScheduleRole = out("EventBusName"), out("ScheduleGroupName"), out("ScheduleRoleArn")
	s.Functions = map[string]string{}
	for _, name := range []string{"submit", "step", "snapshot", "events", "alarm", "collect"} {
		s.Functions[name] = out(strings.ToUpper(name[:1]) + name[1:] + "FunctionName")
	}
	// Both names have subdomains that only AWS has; an emulator also answers by path.
	s.APIURL = s.endpoint.URL + "/_aws/execute-api/" + label(out("ApiUrl")) + "/$default"
	s.EventsURL = s.endpoint.URL + "/_aws/lambda-url/" + label(out("EventsUrl"))
	return errors.Join(missing...)
}

// label is the first label of the host of a URL.
func label(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(u.Hostname(), ".")
	return first
}

// redrive gives the queues their dead letters where they came up without: the emulator's CloudFormation drops them.
func (s *Stack) redrive(ctx context.Context) error {
	client := sqs.NewFromConfig(s.endpoint.Config())
	for queue, dead := range map[string]string{s.StepsQueue: s.DeadSteps, s.AlarmsQueue: s.DeadAlarms} {
		name := string(types.QueueAttributeNameRedrivePolicy)
		has, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameRedrivePolicy},
		})
		if err != nil {
			return fmt.Errorf("looking for the dead letters of %s: %w", queue, err)
		}
		if has.Attributes[name] != "" {
			continue
		}
		arn := "arn:aws:sqs:" + s.tools.region + ":" + account + ":" + dead[strings.LastIndex(dead, "/")+1:]
		_, err = client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: &queue, Attributes: map[string]string{name: `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":"5"}`},
		})
		if err != nil {
			return fmt.Errorf("setting the dead letters of %s: %w", queue, err)
		}
	}
	return nil
}

// root returns the directory of the repository, which is above that of the package under test.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "infra", "cdk.json")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the repository: infra/cdk.json is in no directory above this package")
		}
		dir = parent
	}
}
