package s3objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// hashName is the metadata that has the SHA-256 of a body in hexadecimal.
const hashName = "sha256"

// Put stores body under key. Putting the same body again is harmless; a key that has another one is [ErrTaken].
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	err := s.try(ctx, func() error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &s.bucket, Key: aws.String(s.prefix + key), IfNoneMatch: aws.String("*"),
			Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
			Metadata: map[string]string{hashName: hash(body)},
		}, once)
		if code(err) == "PreconditionFailed" {
			return s.same(ctx, key, body)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("putting %s: %w", key, err)
	}
	return nil
}

// same makes sure that key has body: an earlier attempt, or another writer, was here first.
func (s *Store) same(ctx context.Context, key string, body []byte) error {
	there, ok, err := s.get(ctx, key)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("it was deleted meanwhile: %w", errAgain)
	case !bytes.Equal(there, body):
		return ErrTaken
	}
	return nil
}

// Get returns the body of key; ok is false when there is none. A body that is not what was put is [object.ErrCorrupt].
func (s *Store) Get(ctx context.Context, key string) (body []byte, ok bool, err error) {
	err = s.try(ctx, func() error {
		body, ok, err = s.get(ctx, key)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("getting %s: %w", key, err)
	}
	return body, ok, nil
}

// get is one attempt at Get.
func (s *Store) get(ctx context.Context, key string) (body []byte, ok bool, err error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)}, once, unchecked)
	if code(err) == "NoSuchKey" {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	body, err = io.ReadAll(out.Body)
	if closed := out.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: reading the body: %w", errAgain, err)
	}
	if want := out.Metadata[hashName]; want != hash(body) {
		return nil, false, fmt.Errorf("%w: %d bytes do not have the SHA-256 that they were put with, %q", object.ErrCorrupt, len(body), want)
	}
	return body, true, nil
}

// unchecked turns off the SDK's own checksum of what is read, whose failure could not be told from a broken connection.
func unchecked(o *s3.Options) {
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
