package cloudtest

import (
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
)

// A cloud is a table and a bucket. Both have the name.
type cloud struct {
	emulator.Endpoint

	name string
}

// A keeper makes a cloud once.
type keeper struct {
	mu   sync.Mutex
	made *cloud
}

// shared is the one cloud of this process.
//
//nolint:gochecknoglobals // making a table costs more than most tests, and nothing else reaches all tests of a binary
var shared keeper

// start returns the cloud of this test binary, or skips the test where there is none.
func start(t testing.TB) *cloud {
	t.Helper()
	e := emulator.Start(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.made != nil {
		return shared.made
	}
	c := &cloud{Endpoint: e, name: emulator.Name(t)}
	if err := dynstore.CreateTable(t.Context(), e.DynamoDB(), c.name); err != nil {
		t.Fatal(err)
	}
	if err := s3objects.CreateBucket(t.Context(), e.S3(), c.name, e.Config().Region); err != nil {
		t.Fatal(err)
	}
	shared.made = c
	return c
}
