package s3objects_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// Whatever S3 or the network does for a while, every operation does what it says, once.
func TestFaults_Outlasted(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.put(t, "there", "body")
	for _, effect := range []awsfault.Effect{
		awsfault.S3Conflict{}, awsfault.S3Busy{}, awsfault.LoseRequest{}, awsfault.LoseResponse{},
	} {
		b.faults.Play(awsfault.Plan{{What: effect, Times: 3}})
		key := fmt.Sprintf("%T", effect)
		b.put(t, key, key)
		b.faults.Play(awsfault.Plan{{What: effect, Times: 3}})
		b.has(t, key, key)
		b.faults.Play(awsfault.Plan{{What: effect, Times: 3}})
		if diff := cmp.Diff([]string{key, "there"}, b.keys(t, "")); diff != "" {
			t.Errorf("%s: keys (-want +got):\n%s", key, diff)
		}
		b.faults.Play(awsfault.Plan{{What: effect, Times: 3}})
		if err := b.Delete(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		b.lacks(t, key)
	}
	if got := b.faults.Counts().Faults; got["s3Conflict"] != 3 || got["s3Busy"] != 12 || got["loseRequest"] != 12 || got["loseResponse"] < 11 {
		t.Errorf("faults that were met: %v", got)
	}
}

// Put whose answer was lost is tried again, finds the key taken, and says what is true.
func TestPut_LostResponse(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.faults.Play(awsfault.Plan{{What: awsfault.LoseResponse{}, Op: "PutObject"}})
	b.put(t, "k", "mine")
	b.has(t, "k", "mine")
	if got := b.faults.Counts().Requests["PutObject"]; got != 2 {
		t.Errorf("%d attempts, want 2", got)
	}
}

// A body that is deleted between the refusal and the look at it is put.
func TestPut_DeletedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.put(t, "k", "other")
	plain := b.with(b.client)
	b.faults.Play(awsfault.Plan{{What: awsfault.Gate{Before: func() {
		if err := plain.Delete(t.Context(), "k"); err != nil {
			t.Error(err)
		}
	}}, Op: "GetObject"}})
	b.put(t, "k", "mine")
	b.has(t, "k", "mine")
}

// Attempts are bounded, and the pauses between them double up to a longest.
func TestBusy(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.faults.Play(awsfault.Plan{{What: awsfault.S3Busy{}, Times: awsfault.Always}})
	if err := b.Put(t.Context(), "k", []byte("body")); !errors.Is(err, s3objects.ErrBusy) {
		t.Errorf("put: %v, want ErrBusy", err)
	}
	ms := time.Millisecond
	want := []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms, 5000 * ms, 5000 * ms}
	if diff := cmp.Diff(want, b.pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if got := b.faults.Counts().Total(); got != 12 {
		t.Errorf("%d attempts, want 12", got)
	}
	for _, err := range b.Keys(t.Context(), "") {
		if !errors.Is(err, s3objects.ErrBusy) {
			t.Errorf("keys: %v", err)
		}
	}
}

// denied refuses every put.
type denied struct{ s3objects.API }

func (denied) PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return nil, &smithy.GenericAPIError{Code: "AccessDenied"}
}

// What another attempt cannot change is not tried again.
func TestFatal(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	err := b.with(denied{b.client}).Put(t.Context(), "k", []byte("body"))
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "AccessDenied" || errors.Is(err, s3objects.ErrBusy) {
		t.Errorf("got %v, want the refusal", err)
	}
	if len(b.pauses) != 0 {
		t.Errorf("it was tried again after %v", b.pauses)
	}
}

// partly fails for one key of a deletion, the first time.
type partly struct {
	s3objects.API
	code string
	asks *[]int
}

func (p partly) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput, optFns ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error) {
	*p.asks = append(*p.asks, len(in.Delete.Objects))
	if len(*p.asks) > 1 {
		return p.API.DeleteObjects(ctx, in, optFns...)
	}
	most := *in
	most.Delete = &types.Delete{Objects: in.Delete.Objects[1:]}
	out, err := p.API.DeleteObjects(ctx, &most, optFns...)
	if err != nil {
		return nil, err
	}
	out.Errors = []types.Error{{Key: in.Delete.Objects[0].Key, Code: &p.code}}
	return out, nil
}

// Of a deletion that S3 carried out in part only the rest is tried again, if at all.
func TestDelete_Partly(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	for _, key := range []string{"a", "b", "c"} {
		b.put(t, key, key)
	}
	var asks []int
	if err := b.with(partly{b.client, "SlowDown", &asks}).Delete(t.Context(), "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 1}, asks); diff != "" {
		t.Errorf("keys per request (-want +got):\n%s", diff)
	}
	if left := b.keys(t, ""); left != nil {
		t.Errorf("left are %q", left)
	}
	b.put(t, "a", "a")
	asks = nil
	if err := b.with(partly{b.client, "AccessDenied", &asks}).Delete(t.Context(), "a", "b"); err == nil || len(asks) != 1 {
		t.Errorf("a refusal: %v after %d requests", err, len(asks))
	}
	b.has(t, "a", "a")
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.faults.Play(awsfault.Plan{{What: awsfault.S3Busy{}, Times: 2}, {What: awsfault.Gate{Before: cancel}, Nth: 3}})
	if err := b.Put(ctx, "k", []byte("body")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the reason of the context", err)
	}
	if got := b.faults.Counts().Total(); got != 3 {
		t.Errorf("%d attempts, want 3", got)
	}
}

// Under random faults everything that was put can be read, deleted and listed.
func TestStorm(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.faults.Play(awsfault.Storm(0.1))
	var want []string
	for i := range 40 {
		key := fmt.Sprintf("%02d", i)
		b.put(t, key, key)
		b.has(t, key, key)
		if i%2 == 0 {
			want = append(want, key)
		} else if err := b.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, b.keys(t, "")); diff != "" {
		t.Error(diff)
	}
	if got := b.faults.Counts().Faults; len(got) < 4 {
		t.Errorf("only these faults were met: %v", got)
	}
}
