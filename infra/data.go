package main

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
)

// A Data is the stack of everything that keeps something.
type Data struct {
	awscdk.Stack
	Table  awsdynamodb.TableV2
	Bucket awss3.Bucket
}

func newData(scope constructs.Construct, config Config) *Data {
	name := "stepwell-" + config.Stage + "-data"
	d := &Data{Stack: awscdk.NewStack(scope, &name, &awscdk.StackProps{
		Description:           jsii.String(fmt.Sprintf("Stepwell %s: the table and the bucket with all sessions", config.Stage)),
		TerminationProtection: jsii.Bool(!config.Destroyable()),
	})}
	removal := awscdk.RemovalPolicy_RETAIN
	if config.Destroyable() {
		removal = awscdk.RemovalPolicy_DESTROY
	}
	d.Table = d.newTable(config, removal)
	d.Bucket = d.newBucket(config, removal)
	return d
}

// newTable makes the table as the store defines it. The stream wakes sessions; the index finds those whose wake-up was lost.
func (d *Data) newTable(config Config, removal awscdk.RemovalPolicy) awsdynamodb.TableV2 {
	def := dynstore.Definition()
	props := &awsdynamodb.TablePropsV2{
		PartitionKey: &awsdynamodb.Attribute{Name: &def.PartitionKey, Type: awsdynamodb.AttributeType_STRING},
		SortKey:      &awsdynamodb.Attribute{Name: &def.SortKey, Type: awsdynamodb.AttributeType_STRING},
		Billing:      awsdynamodb.Billing_OnDemand(nil),
		DynamoStream: awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES,
		GlobalSecondaryIndexes: &[]*awsdynamodb.GlobalSecondaryIndexPropsV2{{
			IndexName:      &def.Index.Name,
			PartitionKey:   &awsdynamodb.Attribute{Name: &def.Index.PartitionKey, Type: awsdynamodb.AttributeType_STRING},
			SortKey:        &awsdynamodb.Attribute{Name: &def.Index.SortKey, Type: awsdynamodb.AttributeType_NUMBER},
			ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
		}},
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(true)},
		DeletionProtection:               jsii.Bool(!config.Destroyable()),
		RemovalPolicy:                    removal,
	}
	if config.Named {
		props.TableName = jsii.String("stepwell-" + config.Stage)
	}
	return awsdynamodb.NewTableV2(d.Stack, jsii.String("Table"), props)
}

// newBucket makes the bucket of large bodies. What was deleted or written over stays for a while, as the table's backups do.
func (d *Data) newBucket(config Config, removal awscdk.RemovalPolicy) awss3.Bucket {
	props := &awss3.BucketProps{
		Versioned:         jsii.Bool(true),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		RemovalPolicy:     removal,
		LifecycleRules: &[]*awss3.LifecycleRule{{
			NoncurrentVersionExpiration:         awscdk.Duration_Days(jsii.Number(30)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
	}
	if config.Named {
		// Names of buckets are shared by everybody.
		props.BucketName = jsii.String("stepwell-" + config.Stage + "-" + *d.Account() + "-" + *d.Region())
	}
	return awss3.NewBucket(d.Stack, jsii.String("Bucket"), props)
}

// indexARN is the ARN of the index of the sessions that somebody should look at.
func (d *Data) indexARN() *string {
	return jsii.String(*d.Table.TableArn() + "/index/" + dynstore.Definition().Index.Name)
}
