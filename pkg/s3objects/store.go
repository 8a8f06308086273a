package s3objects

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// API is what a store asks of S3. [s3.Client] has it.
type API interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
}

// Errors that callers can tell apart. A body that is not the one that was put is [object.ErrCorrupt].
var (
	// ErrTaken reports a key that has another body.
	ErrTaken = errors.New("key has another body")
	// ErrNoBucket reports that the bucket does not exist, which is not the same as a body that does not.
	ErrNoBucket = errors.New("bucket does not exist")
	// ErrBusy reports that S3 did not carry out a request in any of many attempts. Whether it happened is not known.
	ErrBusy = errors.New("object storage is busy")
)

// Options configure a [Store].
type Options struct {
	Client API    // required
	Bucket string // required; see [CreateBucket]
	Prefix string // of every key, such as "objects/"; may be empty

	Sleep func(context.Context, time.Duration) error // waits between attempts, or until the context ends; a timer when nil
	Rand  func() float64                             // jitter in [0,1); when nil, random
}

// A Store is the bodies under one prefix of a bucket. It is safe for concurrent use.
type Store struct {
	client API
	bucket string
	prefix string
	sleep  func(context.Context, time.Duration) error
	random func() float64
}

// New returns a store. It makes no request.
func New(opts Options) *Store {
	s := &Store{client: opts.Client, bucket: opts.Bucket, prefix: opts.Prefix, sleep: opts.Sleep, random: opts.Rand}
	if s.sleep == nil {
		s.sleep = sleep
	}
	if s.random == nil {
		s.random = rand.Float64
	}
	return s
}
