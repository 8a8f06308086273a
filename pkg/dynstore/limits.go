package dynstore

import (
	"errors"
	"fmt"
)

// The limits of DynamoDB that the layout lives within, less room for names and for what is not counted in public.
const (
	maxActions   = 100       // actions of one transaction, items of one transactional read, keys of one batch read
	maxBatch     = 25        // puts and deletes of one batch
	maxItem      = 390 << 10 // bytes of one item, of 400 KB
	maxTx        = 3900_000  // bytes of one transaction, of 4 MB
	maxBatchSize = 12 << 20  // bytes of one batch, of 16 MB
)

// The sizes that decide where things go, in stored bytes.
const (
	maxRiding = 1 << 10   // a larger object is put before the transaction, where a kilobyte costs half
	maxInline = 8 << 10   // a larger object goes to Bodies, where it is cheaper to write from here on
	maxPack   = 350 << 10 // events of one pack
	maxCold   = 40        // more cold refs than this in one update go to the overflow buckets
	maxLeases = 96 << 10  // leases of one session, with the tail beside them in one item
	minTail   = 400       // bytes of tail that there is room for at least
	writeUnit = 1 << 10   // bytes that one write unit pays
)

// ErrLimit reports what does not fit. Nothing was written.
var ErrLimit = errors.New("too large for the store")

// A LimitError says what did not fit, and into how much. It is [ErrLimit].
type LimitError struct {
	What      string
	Got, Most int // bytes or, where What says so, items
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: got %d, the limit is %d", e.What, e.Got, e.Most)
}

// Is reports whether target is [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }
