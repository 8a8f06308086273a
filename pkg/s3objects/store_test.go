package s3objects_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// What a table store asks of a place for bodies.
var _ interface {
	Put(ctx context.Context, key string, body []byte) error
	Get(ctx context.Context, key string) (body []byte, ok bool, err error)
	Delete(ctx context.Context, keys ...string) error
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
} = (*s3objects.Store)(nil)

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.lacks(t, "a")
	for _, size := range []int{0, 1, 1 << 10, 8<<10 + 1, 8 << 20} {
		key, body := fmt.Sprintf("s/%d", size), strings.Repeat("x", size)
		b.put(t, key, body)
		b.has(t, key, body)
	}
	if got := b.faults.Counts().Requests["PutObject"]; got != 5 {
		t.Errorf("%d requests put 5 bodies", got)
	}
}

func TestPut_Again(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.put(t, "k", "one")
	b.put(t, "k", "one")
	if err := b.Put(t.Context(), "k", []byte("two")); !errors.Is(err, s3objects.ErrTaken) {
		t.Errorf("another body under the same key: %v, want ErrTaken", err)
	}
	b.has(t, "k", "one")
}

// Of many bodies under one key, one is kept, and only those who put that one are told so.
func TestPut_Race(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	errs := make([]error, 12)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = b.Put(t.Context(), "k", fmt.Appendf(nil, "body %d", i%3)) })
	}
	all.Wait()
	kept, ok, err := b.Get(t.Context(), "k")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for i, err := range errs {
		mine := string(kept) == fmt.Sprintf("body %d", i%3)
		if mine && err != nil || !mine && !errors.Is(err, s3objects.ErrTaken) {
			t.Errorf("body %d while %q was kept: %v", i%3, kept, err)
		}
	}
}

func TestGet_Corrupt(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.put(t, "k", "what was put")
	for name, in := range map[string]*s3.PutObjectInput{
		"replaced":         {Metadata: map[string]string{"sha256": "00"}},
		"without its hash": {},
	} {
		in.Bucket, in.Key, in.Body = &b.name, aws.String(prefix+"k"), strings.NewReader("what is there")
		if _, err := b.client.PutObject(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := b.Get(t.Context(), "k"); !errors.Is(err, object.ErrCorrupt) || ok || got != nil {
			t.Errorf("%s: got %q, %t, %v, want ErrCorrupt", name, got, ok, err)
		}
		if err := b.Put(t.Context(), "k", []byte("what was put")); !errors.Is(err, object.ErrCorrupt) {
			t.Errorf("%s: putting it again: %v, want ErrCorrupt", name, err)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	for _, key := range []string{"a", "b", "c"} {
		b.put(t, key, key)
	}
	if err := b.Delete(t.Context()); err != nil || b.faults.Counts().Requests["DeleteObjects"] != 0 {
		t.Errorf("deleting nothing: %v", err)
	}
	if err := b.Delete(t.Context(), "a", "never there", "c"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b"}, b.keys(t, "")); diff != "" {
		t.Error(diff)
	}
	b.put(t, "a", "a key may be taken anew, though none of ours is")
}

// More keys than one request takes are deleted by several.
func TestDelete_Many(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	keys := make([]string, 2001)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	for _, i := range []int{0, 999, 1000, 2000} {
		b.put(t, keys[i], "body")
	}
	if err := b.Delete(t.Context(), keys...); err != nil {
		t.Fatal(err)
	}
	if left := b.keys(t, ""); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	if got := b.faults.Counts().Requests["DeleteObjects"]; got != 3 {
		t.Errorf("%d requests deleted 2001 keys, want 3", got)
	}
}

// smallPages lists two keys at a time.
type smallPages struct{ s3objects.API }

func (p smallPages) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, optFns ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	small := *in
	small.MaxKeys = aws.Int32(2)
	return p.API.ListObjectsV2(ctx, &small, optFns...)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	want := []string{"s1/a", "s1/b", "s1/c", "s1/d", "s1/e"}
	for _, key := range append([]string{"s0/z", "s10/a"}, want...) {
		b.put(t, key, key)
	}
	if _, err := b.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b.name, Key: aws.String("elsewhere/s1/x"), Body: strings.NewReader("x")}); err != nil {
		t.Fatal(err)
	}
	b.Store = b.with(smallPages{b.client})
	if diff := cmp.Diff(want, b.keys(t, "s1/")); diff != "" {
		t.Error(diff)
	}
	if got := b.keys(t, "none/"); got != nil {
		t.Errorf("got %q", got)
	}
	for key, err := range b.Keys(t.Context(), "") {
		if key != "s0/z" || err != nil {
			t.Errorf("first is %q, %v", key, err)
		}
		break
	}
}

// A bucket that is not there is an error, not a body that is not there.
func TestNoBucket(t *testing.T) {
	t.Parallel()
	e := emulator.Start(t)
	s := s3objects.New(s3objects.Options{Client: e.S3(), Bucket: emulator.Name(t)})
	_, ok, err := s.Get(t.Context(), "k")
	if !errors.Is(err, s3objects.ErrNoBucket) || ok {
		t.Errorf("get: %t, %v", ok, err)
	}
	if err := s.Put(t.Context(), "k", nil); !errors.Is(err, s3objects.ErrNoBucket) {
		t.Errorf("put: %v", err)
	}
	if err := s.Delete(t.Context(), "k"); !errors.Is(err, s3objects.ErrNoBucket) {
		t.Errorf("delete: %v", err)
	}
	for _, err := range s.Keys(t.Context(), "") {
		if !errors.Is(err, s3objects.ErrNoBucket) {
			t.Errorf("keys: %v", err)
		}
	}
}

func TestCreateBucket(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	if err := s3objects.CreateBucket(t.Context(), b.client, b.name, emulator.Start(t).Config().Region); err != nil {
		t.Errorf("again: %v", err)
	}
	versions, err := b.client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &b.name})
	if err != nil || versions.Status != "Enabled" {
		t.Errorf("versions are %+v, %v", versions, err)
	}
	block, err := b.client.GetPublicAccessBlock(t.Context(), &s3.GetPublicAccessBlockInput{Bucket: &b.name})
	if err != nil || !*block.PublicAccessBlockConfiguration.RestrictPublicBuckets {
		t.Errorf("public access: %+v, %v", block, err)
	}
	life, err := b.client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: &b.name})
	if err != nil || len(life.Rules) != 1 || life.Rules[0].NoncurrentVersionExpiration == nil || *life.Rules[0].NoncurrentVersionExpiration.NoncurrentDays != s3objects.NoncurrentDays {
		t.Errorf("lifecycle: %+v, %v", life, err)
	}
}
