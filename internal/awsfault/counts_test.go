package awsfault_test

import (
	"strings"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
)

// Requests that overlap are one round trip, those that wait for each other are not.
func TestCounts_RoundTrips(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	b := &backend{}
	tr := awsfault.New(b, awsfault.Options{Plan: awsfault.Plan{{
		What: awsfault.Gate{Before: func() { close(started); <-finish }}, Op: "PutItem",
	}}})
	_, _, _ = send(t, tr, "GetItem", `{}`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = send(t, tr, "PutItem", put)
	}()
	<-started
	_, _, _ = send(t, tr, "GetItem", `{}`)
	close(finish)
	<-done
	if c := tr.Counts(); c.RoundTrips != 2 || c.Total() != 3 {
		t.Errorf("%d round trips of %d requests, want 2 of 3", c.RoundTrips, c.Total())
	}
	_, _, _ = send(t, tr, "GetItem", `{}`)
	if c := tr.Counts(); c.RoundTrips != 3 {
		t.Errorf("%d round trips, want the last request to wait for all", c.RoundTrips)
	}
	tr.Reset()
	if c := tr.Counts(); c.Total() != 0 || c.RoundTrips != 0 {
		t.Errorf("after a reset: %+v", c)
	}
}

// kb is an item whose size is n KB.
func kb(n int) string {
	return `{"p":{"S":"a"},"b":{"S":"` + strings.Repeat("x", n<<10-3) + `"}}`
}

func TestCounts_Units(t *testing.T) {
	t.Parallel()
	putOf := func(n int) string { return `{"TableName":"t","Item":` + kb(n) + `}` }
	key := `{"TableName":"t","Key":{"p":{"S":"a"}}}`
	failed := `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`
	for _, test := range []struct {
		name, op, body, answer string
		status                 int
		write, read            float64
	}{
		{"put of exactly 2 KB", "PutItem", putOf(2), `{}`, 200, 2, 0},
		{"put of one byte more", "PutItem", strings.Replace(putOf(2), "xx", "xxx", 1), `{}`, 200, 3, 0},
		{"put that fails its condition", "PutItem", putOf(2), failed, 400, 2, 0},
		{"put that is not valid", "PutItem", putOf(2), `{"__type":"ValidationException"}`, 400, 0, 0},
		{"deletion", "DeleteItem", key, `{}`, 200, 1, 0},
		{"transaction with a check", "TransactWriteItems", `{"TransactItems":[{"Put":` + putOf(2) + `},{"ConditionCheck":` + key + `},{"Delete":` + key + `}]}`, `{}`, 200, 8, 0},
		{"batch", "BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":` + putOf(3) + `},{"DeleteRequest":` + key + `}]}}`, `{}`, 200, 4, 0},
		{"eventual read of nothing", "GetItem", key, `{}`, 200, 0, 0.5},
		{"eventual read of 5 KB", "GetItem", key, `{"Item":` + kb(5) + `}`, 200, 0, 1},
		{"strong read of 4 KB", "GetItem", strings.Replace(key, "{", `{"ConsistentRead":true,`, 1), `{"Item":` + kb(4) + `}`, 200, 0, 1},
		{"query rounds up the sum", "Query", `{"TableName":"t","ConsistentRead":true}`, `{"Items":[` + kb(1) + `,` + kb(1) + `,` + kb(3) + `]}`, 200, 0, 2},
		{"batch get rounds up each", "BatchGetItem", `{"RequestItems":{"t":{"ConsistentRead":true,"Keys":[{"p":{"S":"a"}},{"p":{"S":"b"}},{"p":{"S":"c"}}]}}}`, `{"Responses":{"t":[` + kb(1) + `,` + kb(5) + `]}}`, 200, 0, 4},
		{"transactional read", "TransactGetItems", `{"TransactItems":[{"Get":` + key + `},{"Get":` + key + `}]}`, `{"Responses":[{"Item":` + kb(5) + `},{}]}`, 200, 0, 6},
	} {
		tr := awsfault.New(&backend{status: test.status, answer: func(string, string) string { return test.answer }}, awsfault.Options{})
		if _, _, err := send(t, tr, test.op, test.body); err != nil {
			t.Fatal(err)
		}
		if c := tr.Counts(); c.WriteUnits != test.write || c.ReadUnits != test.read {
			t.Errorf("%s: %v write and %v read units, want %v and %v", test.name, c.WriteUnits, c.ReadUnits, test.write, test.read)
		}
	}
}

// The same token again is answered from memory, and billed as reads.
func TestCounts_ReplayedTransaction(t *testing.T) {
	t.Parallel()
	tr := awsfault.New(&backend{}, awsfault.Options{})
	for range 2 {
		_, _, _ = send(t, tr, "TransactWriteItems", strings.Replace(transact, "{", `{"ClientRequestToken":"x",`, 1))
	}
	if c := tr.Counts(); c.WriteUnits != 4 || c.ReadUnits != 4 {
		t.Errorf("%v write and %v read units, want 4 and 4", c.WriteUnits, c.ReadUnits)
	}
}

// What never arrived and what was throttled costs nothing.
func TestCounts_FreeFaults(t *testing.T) {
	t.Parallel()
	for effect, want := range map[awsfault.Effect]float64{
		awsfault.Throttle{}: 0, awsfault.LoseRequest{}: 0, awsfault.InProgress{}: 0, awsfault.LoseResponse{}: 4, awsfault.Conflict{}: 4,
	} {
		tr := awsfault.New(&backend{}, awsfault.Options{Plan: awsfault.Plan{{What: effect}}})
		_, _, _ = send(t, tr, "TransactWriteItems", transact)
		if c := tr.Counts(); c.WriteUnits != want {
			t.Errorf("%T: %v write units, want %v", effect, c.WriteUnits, want)
		}
	}
}
