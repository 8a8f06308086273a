package dynstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"pgregory.net/rapid"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	cancelled := func(codes ...string) error {
		e := &types.TransactionCanceledException{}
		for _, c := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(c)})
		}
		return fmt.Errorf("operation error: %w", e)
	}
	api := func(code string, fault smithy.ErrorFault) error {
		return &smithy.GenericAPIError{Code: code, Fault: fault}
	}
	for _, tc := range []struct {
		err  error
		want failure
	}{
		{cancelled("None", "ValidationError", "ThrottlingError"), fatal},
		{cancelled("ItemCollectionSizeLimitExceeded"), fatal},
		{cancelled("ConditionalCheckFailed", "ThrottlingError"), throttled},
		{cancelled("TransactionConflict", "ProvisionedThroughputExceeded"), throttled},
		{cancelled("ConditionalCheckFailed", "TransactionConflict"), refused},
		{cancelled("None", "TransactionConflict"), contended},
		{cancelled("None", "None"), unknown},
		{&types.ConditionalCheckFailedException{}, refused},
		{&types.TransactionConflictException{}, contended},
		{&types.TransactionInProgressException{}, contended},
		{&types.ProvisionedThroughputExceededException{}, throttled},
		{&types.RequestLimitExceeded{}, throttled},
		{api("ThrottlingException", smithy.FaultClient), throttled},
		{&types.InternalServerError{}, unknown},
		{api("Whatever", smithy.FaultServer), unknown},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, unknown},
		{context.DeadlineExceeded, unknown}, // of one request: the call's own context is alive
		{api("ValidationException", smithy.FaultClient), fatal},
		{&types.ResourceNotFoundException{}, fatal},
		{api("AccessDeniedException", smithy.FaultClient), fatal},
		{&types.IdempotentParameterMismatchException{}, fatal},
	} {
		if got := classify(t.Context(), tc.err); got != tc.want {
			t.Errorf("%v is %d, want %d", tc.err, got, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := classify(ctx, cancelled("TransactionConflict")); got != fatal {
		t.Errorf("after the end of the context a conflict is %d, want fatal", got)
	}
}

// TestLinks proves that reading what is listed, level by level, reaches every ancestor in few rounds and few bytes.
func TestLinks(t *testing.T) {
	t.Parallel()
	const n = 5000
	oids := make([]object.OID, n)
	links := make([]link, n)
	at := map[object.OID]int{}
	for g := range n {
		oids[g] = object.Hash(fmt.Append(nil, g))
		at[oids[g]] = g
		if g > 0 {
			links[g] = follow(oids[g-1], links[g-1])
		}
		if links[g].generation != g || len(links[g].ancestors) != len(listed(g)) {
			t.Fatalf("generation %d is linked as %d with %d of %d", g, links[g].generation, len(links[g].ancestors), len(listed(g)))
		}
		for i, want := range listed(g) {
			if links[g].ancestors[i] != oids[want] || links[g].distance(i) != g-want {
				t.Fatalf("generation %d lists another as %d", g, want)
			}
		}
		if size := len(links[g].encode()); size > 40*len(object.OID{}) {
			t.Fatalf("generation %d has %d bytes of links", g, size)
		}
	}
	for _, tip := range []int{1, 7, 8, 9, 63, 64, 65, 511, 513, 4095, 4096, 4999} {
		seen := map[int]bool{tip: true}
		rounds := 0
		for frontier := []int{tip}; len(frontier) > 0; rounds++ {
			var next []int
			for _, g := range frontier {
				for _, oid := range links[g].ancestors {
					if !seen[at[oid]] {
						seen[at[oid]] = true
						next = append(next, at[oid])
					}
				}
			}
			frontier = next
		}
		if len(seen) != tip+1 || rounds > 9 {
			t.Errorf("from %d, %d rounds reach %d", tip, rounds, len(seen))
		}
	}
	if l := begin(oids[5]); l.distance(0) != 1 || len(follow(oids[6], l).ancestors) != 1 {
		t.Error("a chain that begins anew lists more than it knows")
	}
}

func TestBucketsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &bucket{stamp: store.Seq(rapid.IntRange(0, 1<<40).Draw(t, "stamp")), refs: map[ref.Name]object.OID{}}
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			name := ref.Name(rapid.StringMatching(`(refs/[ab]{0,3}/)?[a-z\x{80}-\x{300}]{1,8}`).Draw(t, "name"))
			b.refs[name] = object.Hash(rapid.SliceOf(rapid.Byte()).Draw(t, "oid"))
		}
		got, err := decodeBucket(b.item("p", "s"))
		if err != nil || got.stamp != b.stamp || len(got.refs) != len(b.refs) {
			t.Fatalf("%v came back as %v, %v", b, got, err)
		}
		for name, oid := range b.refs {
			if got.refs[name] != oid {
				t.Fatalf("%q came back as %s", name, got.refs[name])
			}
		}
	})
}

func TestMalformedItemsAreErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		it := item{attrSort: text(packKey(9)), attrStamp: number(1), attrRefs: binaryValue(data), attrBody: binaryValue(data), attrAncestors: binaryValue(data)}
		_, _ = decodeBucket(it) // none of these may panic
		decodeLink(it)
		c, err := newCodec()
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.unpackItem(it)
		for _, r := range list {
			_, _ = r.event()
		}
		if err == nil && len(data) > 0 && len(data) < len(txID{}) {
			t.Fatalf("%d bytes are a pack", len(data))
		}
	})
}

// TestSessionsDoNotShareKeys proves that no two sessions of any tenants share a partition or a directory.
func TestSessionsDoNotShareKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tenant := rapid.StringMatching(`[a-c#%/_]{0,4}`)
		id := rapid.Map(rapid.StringMatching(`[a-c_-]{1,3}`), func(s string) store.SessionID { return store.SessionID(s) })
		t1, t2, i1, i2 := tenant.Draw(t, "t1"), tenant.Draw(t, "t2"), id.Draw(t, "i1"), id.Draw(t, "i2")
		p1, p2 := partition(t1, i1, "X"), partition(t2, i2, "X")
		if same := t1 == t2 && i1 == i2; (p1 == p2) != same || (bodyPrefix(p1) == bodyPrefix(p2)) != same {
			t.Fatalf("%q %q and %q %q have %q and %q", t1, i1, t2, i2, p1, p2)
		}
		if (directory(t1) == directory(t2)) != (t1 == t2) || p1 == directory(t1) {
			t.Fatalf("%q and %q share a directory", t1, t2)
		}
	})
}
