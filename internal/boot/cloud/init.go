package cloud

import (
	"context"

	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// A Made says what [Clients.Init] did.
type Made struct {
	Table         string `json:"table"`
	TableCreated  bool   `json:"tableCreated"` // false: it was there
	Bucket        string `json:"bucket"`
	BucketCreated bool   `json:"bucketCreated"`
	Region        string `json:"region"`
	Endpoint      string `json:"endpoint,omitzero"` // empty: AWS itself
	Store         string `json:"store"`             // the value of STEPWELL_STORE
}

// Init makes the table and the bucket of a location where they are missing, and gives a bucket that is there the shape that every one has.
// Doing it again is harmless. A table with other keys is an error, and then nothing is made. After an error, what was made stays.
func (c Clients) Init(ctx context.Context, at Location) (Made, error) {
	if err := at.validate(); err != nil {
		return Made{}, err
	}
	made := Made{Table: at.Table, Bucket: at.Bucket, Region: c.region, Endpoint: c.endpoint, Store: at.String()}
	table, err := dynstore.CheckTable(ctx, c.DynamoDB, at.Table)
	if err != nil {
		return made, err
	}
	bucket, err := s3objects.CheckBucket(ctx, c.s3, at.Bucket)
	if err != nil {
		return made, err
	}
	// It also waits for a table that someone else is making.
	if err := dynstore.CreateTable(ctx, c.DynamoDB, at.Table); err != nil {
		return made, err
	}
	made.TableCreated = !table
	if err := s3objects.CreateBucket(ctx, c.s3, at.Bucket, c.region); err != nil {
		return made, err
	}
	made.BucketCreated = !bucket
	return made, nil
}
