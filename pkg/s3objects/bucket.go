package s3objects

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// What every bucket of bodies has, however it is made. No rule lets a live body expire.
const (
	// NoncurrentDays is how long a deleted body can be brought back.
	NoncurrentDays = 30
	// AbandonedUploadDays is how long the parts of an upload that nobody finished are kept.
	AbandonedUploadDays = 7
)

// BucketAPI is what [CreateBucket] asks of S3. [s3.Client] has it.
type BucketAPI interface {
	CreateBucket(context.Context, *s3.CreateBucketInput, ...func(*s3.Options)) (*s3.CreateBucketOutput, error)
	PutPublicAccessBlock(context.Context, *s3.PutPublicAccessBlockInput, ...func(*s3.Options)) (*s3.PutPublicAccessBlockOutput, error)
	PutBucketVersioning(context.Context, *s3.PutBucketVersioningInput, ...func(*s3.Options)) (*s3.PutBucketVersioningOutput, error)
	PutBucketLifecycleConfiguration(context.Context, *s3.PutBucketLifecycleConfigurationInput, ...func(*s3.Options)) (*s3.PutBucketLifecycleConfigurationOutput, error)
}

// CheckBucket reports whether there is a bucket that the caller may use.
func CheckBucket(ctx context.Context, client s3.HeadBucketAPIClient, bucket string) (exists bool, err error) {
	_, err = client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	switch code(err) {
	case "NotFound", "NoSuchBucket":
		return false, nil
	case "Forbidden", "AccessDenied":
		return true, fmt.Errorf("bucket %s is closed to these credentials: it may be another account's, since bucket names are shared by all; "+
			"use another name, or credentials that may use it: %w", bucket, err)
	case "MovedPermanently", "PermanentRedirect":
		return true, fmt.Errorf("bucket %s is in another region: name that region, or use another bucket: %w", bucket, err)
	}
	if err != nil {
		return false, fmt.Errorf("looking for bucket %s: %w", bucket, err)
	}
	return true, nil
}

// CreateBucket makes a bucket for bodies in a region, closed to the public and with versions, or gives one that the caller
// already owns that shape.
func CreateBucket(ctx context.Context, client BucketAPI, bucket, region string) error {
	in := &s3.CreateBucketInput{Bucket: &bucket}
	if region != "us-east-1" { // which S3 refuses to be told
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	if _, err := client.CreateBucket(ctx, in); err != nil && code(err) != "BucketAlreadyOwnedByYou" {
		return fmt.Errorf("creating bucket %s: %w", bucket, err)
	}
	if _, err := client.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
		Bucket: &bucket,
		PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true), IgnorePublicAcls: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
		},
	}); err != nil {
		return fmt.Errorf("closing bucket %s to the public: %w", bucket, err)
	}
	if _, err := client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}); err != nil {
		return fmt.Errorf("keeping versions in bucket %s: %w", bucket, err)
	}
	if _, err := client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &bucket,
		LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID: aws.String("deleted"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
			NoncurrentVersionExpiration:    &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(NoncurrentDays)},
			AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(AbandonedUploadDays)},
			Expiration:                     &types.LifecycleExpiration{ExpiredObjectDeleteMarker: aws.Bool(true)},
		}}},
	}); err != nil {
		return fmt.Errorf("setting how long bucket %s keeps deleted bodies: %w", bucket, err)
	}
	return nil
}
