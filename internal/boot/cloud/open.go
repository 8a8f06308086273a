package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// SkewMargin is how far the clocks of the processes of one store may differ. Clocks that are further apart cost work, never a fenced write.
const SkewMargin = 500 * time.Millisecond

// Flush is how long streamed text waits for more of it: five appends in three seconds, at a write unit or two each.
const Flush = 600 * time.Millisecond

// Poll is how often somebody looks for what is in no event.
const Poll = 250 * time.Millisecond

// ErrMissing reports a table or bucket that does not exist.
var ErrMissing = errors.New("is missing")

// Open returns the store at a location. It asks nothing of DynamoDB or S3: see [Clients.Check]. Now is the clock. Poll is how often a watch looks for what other processes write.
func (c Clients) Open(at Location, now func() time.Time, poll time.Duration) (*dynstore.Store, error) {
	return dynstore.New(dynstore.Options{
		Client: c.DynamoDB, Table: at.Table, Tenant: at.Tenant, SkewMargin: SkewMargin, Now: now, Poll: poll,
		// The keys of bodies start with the tenant.
		Bodies: s3objects.New(s3objects.Options{Client: c.s3, Bucket: at.Bucket}),
	})
}

// Check returns an error when the store at a location cannot be used: a table or bucket that does not exist is [ErrMissing]. A process that
// lives long does well to check before it opens.
func (c Clients) Check(ctx context.Context, at Location) error {
	table, err := dynstore.CheckTable(ctx, c.DynamoDB, at.Table)
	if err != nil {
		return err
	}
	bucket, err := s3objects.CheckBucket(ctx, c.s3, at.Bucket)
	if err != nil {
		return err
	}
	hint := fmt.Sprintf("in %s: `stepwell aws init --table %s --bucket %s` makes it", c.where(), at.Table, at.Bucket)
	switch {
	case !table:
		return fmt.Errorf("table %s %w %s", at.Table, ErrMissing, hint)
	case !bucket:
		return fmt.Errorf("bucket %s %w %s", at.Bucket, ErrMissing, hint)
	}
	return nil
}

// where says which cloud the clients ask.
func (c Clients) where() string {
	if c.endpoint != "" {
		return c.region + " at " + c.endpoint
	}
	return c.region
}
