package s3objects

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// maxDelete is how many keys S3 deletes in one request.
const maxDelete = 1000

// Delete removes the bodies of keys. A key without a body is passed over. After an error some may be gone.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for part := range slices.Chunk(keys, maxDelete) {
		left := make([]types.ObjectIdentifier, len(part))
		for i, key := range part {
			left[i].Key = aws.String(s.prefix + key)
		}
		err := s.try(ctx, func() (err error) {
			left, err = s.delete(ctx, left)
			return err
		})
		if err != nil {
			return fmt.Errorf("deleting %d bodies: %w", len(keys), err)
		}
	}
	return nil
}

// delete is one attempt. It returns which keys are left.
func (s *Store) delete(ctx context.Context, keys []types.ObjectIdentifier) (left []types.ObjectIdentifier, err error) {
	out, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &s.bucket, Delete: &types.Delete{Objects: keys, Quiet: aws.Bool(true)},
	}, once)
	if err != nil {
		return keys, err
	}
	for _, e := range out.Errors {
		err := fmt.Errorf("%s: %s: %s", aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message))
		if !transientCode(aws.ToString(e.Code)) {
			return keys, err
		}
		left = append(left, types.ObjectIdentifier{Key: e.Key})
	}
	if len(left) > 0 {
		return left, fmt.Errorf("%d keys are left, the first being %s with %s: %w", len(left), *left[0].Key, aws.ToString(out.Errors[0].Code), errAgain)
	}
	return nil, nil
}

// Keys yields the keys that start with prefix, in order, without the prefix of the store. An error ends it.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix)}
		for {
			var page *s3.ListObjectsV2Output
			err := s.try(ctx, func() (err error) {
				page, err = s.client.ListObjectsV2(ctx, in, once)
				return err
			})
			if err != nil {
				yield("", fmt.Errorf("listing %s: %w", prefix, err))
				return
			}
			for _, o := range page.Contents {
				if !yield(strings.TrimPrefix(aws.ToString(o.Key), s.prefix), nil) {
					return
				}
			}
			if in.ContinuationToken = page.NextContinuationToken; in.ContinuationToken == nil {
				return
			}
		}
	}
}
