package s3objects_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// A bucket is a store whose requests meet faults and whose pauses take no time.
type bucket struct {
	*s3objects.Store
	name   string
	client *s3.Client // without faults
	faults *awsfault.Transport

	mu     sync.Mutex
	pauses []time.Duration
}

const prefix = "objects/"

// newBucket makes a bucket and a store with the full pause every time.
func newBucket(t *testing.T) *bucket {
	t.Helper()
	e := emulator.Start(t)
	b := &bucket{name: emulator.Name(t), client: e.S3(), faults: awsfault.New(e.Transport(), awsfault.Options{})}
	if err := s3objects.CreateBucket(t.Context(), b.client, b.name, e.Config().Region); err != nil {
		t.Fatal(err)
	}
	if !e.Emulated {
		t.Cleanup(func() { b.remove(context.WithoutCancel(t.Context()), t) })
	}
	b.Store = b.with(e.S3(emulator.WithTransport(b.faults)))
	return b
}

// with returns a store of the bucket on another client.
func (b *bucket) with(client s3objects.API) *s3objects.Store {
	return s3objects.New(s3objects.Options{
		Client: client, Bucket: b.name, Prefix: prefix, Rand: func() float64 { return 1 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.pauses = append(b.pauses, d)
			return ctx.Err()
		},
	})
}

// remove deletes a bucket that would outlive the tests, with all versions.
func (b *bucket) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	for {
		page, err := b.client.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &b.name})
		if err != nil || len(page.Versions)+len(page.DeleteMarkers) == 0 {
			break
		}
		for _, v := range page.Versions {
			_, _ = b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: v.Key, VersionId: v.VersionId})
		}
		for _, v := range page.DeleteMarkers {
			_, _ = b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: v.Key, VersionId: v.VersionId})
		}
	}
	if _, err := b.client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &b.name}); err != nil {
		t.Logf("bucket %s is left: %v", b.name, err)
	}
}

func (b *bucket) put(t *testing.T, key, body string) {
	t.Helper()
	if err := b.Put(t.Context(), key, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// has checks what is under key.
func (b *bucket) has(t *testing.T, key, want string) {
	t.Helper()
	got, ok, err := b.Get(t.Context(), key)
	if err != nil || !ok || string(got) != want {
		t.Errorf("%s has %.40q, %t, %v, want %.40q", key, got, ok, err, want)
	}
}

// lacks checks that nothing is under key.
func (b *bucket) lacks(t *testing.T, key string) {
	t.Helper()
	if got, ok, err := b.Get(t.Context(), key); ok || err != nil {
		t.Errorf("%s has %.40q, %t, %v, want nothing", key, got, ok, err)
	}
}

func (b *bucket) keys(t *testing.T, prefix string) []string {
	t.Helper()
	var out []string
	for key, err := range b.Keys(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, key)
	}
	return out
}
