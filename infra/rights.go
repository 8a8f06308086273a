package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdadestinations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// What a function may do is written out here and nowhere else: the CDK's own grants are wider, and are dropped.

// newRole makes the role of a function. It may write its own logs besides what rights says.
func (c *Compute) newRole(name string, logs awslogs.LogGroup, rights []awsiam.PolicyStatement) awsiam.IRole {
	rights = append(rights, allow(logs.LogGroupArn(), "logs:CreateLogStream", "logs:PutLogEvents"))
	role := awsiam.NewRole(c.Stack, jsii.String(title(name)+"Role"), &awsiam.RoleProps{
		AssumedBy:      awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"rights": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &rights})},
	})
	return role.WithoutPolicyUpdates(nil)
}

func allow(resource *string, actions ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: jsii.Strings(actions...), Resources: &[]*string{resource}})
}

func (c *Compute) readTable() awsiam.PolicyStatement {
	return allow(c.data.Table.TableArn(), "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
}

// writeTable also allows transactions, which are made of these.
func (c *Compute) writeTable() awsiam.PolicyStatement {
	return allow(c.data.Table.TableArn(), "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
}

func (c *Compute) bodies(actions ...string) awsiam.PolicyStatement {
	return allow(c.data.Bucket.ArnForObjects(jsii.String("*")), actions...)
}

// listBodies is what it takes to be told that a body is not there. Without it, S3 says that reading is forbidden.
func (c *Compute) listBodies() awsiam.PolicyStatement {
	return allow(c.data.Bucket.BucketArn(), "s3:ListBucket")
}

func send(queue awssqs.IQueue) awsiam.PolicyStatement {
	return allow(queue.QueueArn(), "sqs:SendMessage")
}

// receive is what an event source mapping does in a function's name.
func receive(queue awssqs.IQueue) awsiam.PolicyStatement {
	return allow(queue.QueueArn(), "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
}

func (c *Compute) readerRights() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{c.readTable(), c.bodies("s3:GetObject"), c.listBodies()}
}

func (c *Compute) writerRights() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{c.readTable(), c.writeTable(), c.bodies("s3:GetObject", "s3:PutObject"), c.listBodies()}
}

func (c *Compute) submitRights() []awsiam.PolicyStatement {
	return append(c.writerRights(), send(c.queues.steps))
}

func (c *Compute) stepRights() []awsiam.PolicyStatement {
	rights := append(c.writerRights(),
		send(c.queues.steps), receive(c.queues.steps), send(c.queues.alarms),
		allow(c.schedules.each(), "scheduler:CreateSchedule", "scheduler:UpdateSchedule"),
		awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings("iam:PassRole"), Resources: &[]*string{c.schedules.role.RoleArn()},
			Conditions: &map[string]any{"StringEquals": map[string]any{"iam:PassedToService": "scheduler.amazonaws.com"}},
		}))
	if c.config.OpenAIKeyParameter != "" {
		rights = append(rights, allow(c.parameterARN(c.config.OpenAIKeyParameter), "ssm:GetParameter"))
	}
	return rights
}

func (c *Compute) alarmRights() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		c.readTable(), allow(c.data.Table.TableArn(), "dynamodb:UpdateItem"), allow(c.data.indexARN(), "dynamodb:Query"),
		c.bodies("s3:GetObject"), c.listBodies(),
		send(c.queues.steps), send(c.queues.alarms), receive(c.queues.alarms),
		allow(c.bus.EventBusArn(), "events:PutEvents"),
		allow(c.data.Table.TableStreamArn(), "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"),
		// Lambda puts what it gave up there in the function's name.
		send(c.queues.deadRecords), send(c.queues.deadAlarms),
	}
}

// collectRights are the only ones to delete bodies.
func (c *Compute) collectRights() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		c.readTable(), c.writeTable(), c.bodies("s3:GetObject", "s3:DeleteObject"), c.listBodies(),
	}
}

// asyncFailures is where schedules end up that alarm could not handle.
func (c *Compute) asyncFailures() awslambda.IDestination {
	return awslambdadestinations.NewSqsDestination(c.queues.deadAlarms)
}

func (c *Compute) parameterARN(name string) *string {
	if name[0] != '/' {
		name = "/" + name
	}
	return jsii.String("arn:" + *c.Partition() + ":ssm:" + *c.Region() + ":" + *c.Account() + ":parameter" + name)
}
