package dynstore

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Sort keys within a session's partition, by their first letter.
const (
	controlKey   = "A"
	packPrefix   = "E#"
	headPrefix   = "H#"
	objectPrefix = "O#"
	refPrefix    = "R#"
	spillPrefix  = "V#"
	effectPrefix = "X#"
)

// Sort keys within a tenant's directory.
const (
	namePrefix    = "N#"
	listPrefix    = "L#"
	ownedPrefix   = "U#"
	garbagePrefix = "D#"
)

// How many buckets the refs of each family are spread over. The numbers are part of the stored form. All of them with the control item
// leave room for packs in one transaction.
const (
	headBuckets   = 16
	effectBuckets = 16
	spillBuckets  = 32
)

// partition returns the key of one incarnation of a session. No tenant, session or incarnation contains a number sign.
func partition(tenant string, id store.SessionID, incarnation string) string {
	return "S#" + ref.Escape(tenant) + "#" + string(id) + "#" + incarnation
}

func directory(tenant string) string { return "T#" + ref.Escape(tenant) }

// ownerPrefix begins the list of an owner's sessions, or of all when there is no owner.
func ownerPrefix(owner string) string {
	if owner == "" {
		return listPrefix
	}
	return ownedPrefix + ref.Escape(owner) + "#"
}

func listKey(prefix string, created store.Millis, id store.SessionID) string {
	return fmt.Sprintf("%s%016d#%s", prefix, created, id)
}

// packKey orders packs by their last event, so that the pack with the event after a cursor is the first behind it.
func packKey(last store.Seq) string { return fmt.Sprintf("%s%016d", packPrefix, last) }

func objectKey(oid object.OID) string {
	return objectPrefix + base64.RawURLEncoding.EncodeToString(oid[:])
}

func parseObjectKey(s string) (object.OID, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(s, objectPrefix))
	if err != nil || len(raw) != len(object.OID{}) {
		return object.OID{}, fmt.Errorf("stored key %q is not an object's", s)
	}
	return object.OID(raw), nil
}

// A home is where a ref lives: in a bucket with others, or in an item of its own that a bucket's entry overrides.
type home struct {
	bucket string
	single string // empty when there is only the bucket
}

// place returns the home of a ref. All refs of a head share one bucket, all effects of a run another, so that one write moves any
// number of them.
func place(n ref.Name) home {
	s := string(n)
	for _, family := range []string{ref.Heads, ref.Stacks, ref.Runs, ref.Queues} {
		if rest, ok := strings.CutPrefix(s, family); ok {
			head, _, _ := strings.Cut(rest, "/")
			return home{bucket: bucketKey(headPrefix, head, headBuckets)}
		}
	}
	if rest, ok := strings.CutPrefix(s, ref.Effects); ok {
		run, _, _ := strings.Cut(rest, "/")
		return home{bucket: bucketKey(effectPrefix, run, effectBuckets)}
	}
	h := home{bucket: bucketKey(spillPrefix, s, spillBuckets)}
	if len(s) <= maxSortKey-len(refPrefix) {
		h.single = refPrefix + s
	}
	return h
}

// maxSortKey is how many bytes a sort key may have.
const maxSortKey = 1024

func bucketKey(prefix, name string, buckets uint32) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return fmt.Sprintf("%s%02d", prefix, h.Sum32()%buckets)
}

// A bucketSet is which buckets a session has, a bit each.
type bucketSet uint64

// bitOf returns the bit of a bucket, zero for another key.
func bitOf(k string) bucketSet {
	base := 0
	switch {
	case strings.HasPrefix(k, headPrefix):
	case strings.HasPrefix(k, effectPrefix):
		base = headBuckets
	case strings.HasPrefix(k, spillPrefix):
		base = headBuckets + effectBuckets
	default:
		return 0
	}
	n, err := strconv.Atoi(k[len(headPrefix):])
	if err != nil || n < 0 || base+n > 63 {
		return 0
	}
	return 1 << (base + n)
}

// key returns the primary key of an item.
func key(p, s string) item {
	return item{attrPartition: &types.AttributeValueMemberS{Value: p}, attrSort: &types.AttributeValueMemberS{Value: s}}
}
