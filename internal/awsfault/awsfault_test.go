package awsfault_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
)

// A backend answers requests and keeps what reached it.
type backend struct {
	answer func(op, body string) string
	status int
	got    []string
}

func (b *backend) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	b.got = append(b.got, op)
	answer := "{}"
	if b.answer != nil {
		answer = b.answer(op, string(body))
	}
	status := b.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
}

// send makes a request to DynamoDB and returns the status and body of its answer.
func send(t *testing.T, through http.RoundTripper, op, body string) (int, string, error) {
	t.Helper()
	return sendWith(t.Context(), t, through, op, body)
}

func sendWith(ctx context.Context, t *testing.T, through http.RoundTripper, op, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	return do(t, through, req)
}

func do(t *testing.T, through http.RoundTripper, req *http.Request) (int, string, error) {
	t.Helper()
	resp, err := through.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer), nil
}

const (
	put      = `{"TableName":"t","Item":{"p":{"S":"a"}}}`
	transact = `{"TransactItems":[{"Put":` + put + `},{"ConditionCheck":{"TableName":"t","Key":{"p":{"S":"b"}}}}]}`
)

// hits plays n puts and returns which of them met the fault.
func hits(t *testing.T, plan awsfault.Plan, n int) []int {
	t.Helper()
	tr := awsfault.New(&backend{}, awsfault.Options{Plan: plan, Seed: 1})
	var hit []int
	for i := range n {
		if status, _, err := send(t, tr, "PutItem", put); err != nil || status != http.StatusOK {
			hit = append(hit, i+1)
		}
	}
	return hit
}

func TestPlan_Counts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		plan awsfault.Plan
		want []int
	}{
		{"none", nil, nil},
		{"first", awsfault.Plan{{What: awsfault.Throttle{}}}, []int{1}},
		{"nth", awsfault.Plan{{What: awsfault.Throttle{}, Nth: 3}}, []int{3}},
		{"burst", awsfault.Plan{{What: awsfault.Throttle{}, Nth: 2, Times: 3}}, []int{2, 3, 4}},
		{"always", awsfault.Plan{{What: awsfault.Throttle{}, Nth: 4, Times: awsfault.Always}}, []int{4, 5, 6}},
		{"another operation", awsfault.Plan{{What: awsfault.Throttle{}, Op: "GetItem"}}, nil},
		{"no match", awsfault.Plan{{What: awsfault.Throttle{}, Match: func(awsfault.Request) bool { return false }}}, nil},
		{"cannot happen to a put", awsfault.Plan{{What: awsfault.Cancel{Codes: []string{"TransactionConflict"}}}, {What: awsfault.S3Busy{}}, {What: awsfault.Stale{}}}, nil},
		{"killed before", awsfault.Kill(3, false), []int{3, 4, 5, 6}},
		{"killed after", awsfault.Kill(3, true), []int{3, 4, 5, 6}},
		{"certain", awsfault.Plan{{What: awsfault.Throttle{}, Probability: 1, Nth: 2, Times: 2}}, []int{2, 3}},
	} {
		if diff := cmp.Diff(test.want, hits(t, test.plan, 6)); diff != "" {
			t.Errorf("%s: requests that were hit (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPlan_Burst(t *testing.T) {
	t.Parallel()
	hit := hits(t, awsfault.Plan{{What: awsfault.Throttle{}, Probability: 0.05, Burst: 4}}, 300)
	if len(hit) < 8 {
		t.Fatalf("%d of 300 requests were hit: %v", len(hit), hit)
	}
	for i := 0; i+3 < len(hit); i += 4 {
		if hit[i+3] != hit[i]+3 {
			t.Errorf("a burst is %v, want 4 in a row", hit[i:i+4])
		}
	}
}

// What its sender gave up arrives after later requests, even if the sender's context is long over.
func TestLate(t *testing.T) {
	t.Parallel()
	b := &backend{}
	tr := awsfault.New(b, awsfault.Options{Plan: awsfault.Plan{{What: awsfault.Late{After: 2}, Op: "PutItem"}}})
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := sendWith(ctx, t, tr, "PutItem", put); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	cancel()
	for _, op := range []string{"GetItem", "DeleteItem", "Query", "Scan"} {
		_, _, _ = send(t, tr, op, "{}")
	}
	if diff := cmp.Diff([]string{"GetItem", "DeleteItem", "PutItem", "Query", "Scan"}, b.got); diff != "" {
		t.Errorf("what reached the service (-want +got):\n%s", diff)
	}
	if c := tr.Counts(); c.Requests["PutItem"] != 1 || c.Faults["late"] != 1 || c.WriteUnits != 2 {
		t.Errorf("counted %+v, want the put once and what it costs", c)
	}
}

func TestPlan_SeedDecides(t *testing.T) {
	t.Parallel()
	plan := awsfault.Plan{{What: awsfault.Throttle{}, Probability: 0.3}}
	one, two := hits(t, plan, 200), hits(t, plan, 200)
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("the same seed hit others:\n%s", diff)
	}
	if len(one) < 30 || len(one) > 90 {
		t.Errorf("%d of 200 requests were hit with a probability of 0.3", len(one))
	}
}

func TestKill_WhatReachesTheService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after bool
		want  int
	}{{false, 1}, {true, 2}} {
		b := &backend{}
		tr := awsfault.New(b, awsfault.Options{Plan: awsfault.Kill(2, test.after)})
		for range 4 {
			_, _, _ = send(t, tr, "PutItem", put)
		}
		if len(b.got) != test.want {
			t.Errorf("after %t: %d requests reached the service, want %d", test.after, len(b.got), test.want)
		}
	}
}

func TestEffects_OnTheWire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		effect     awsfault.Effect
		op, body   string
		want       []string // parts of the answer
		reaches    int
		connection error
	}{
		{awsfault.Conflict{}, "PutItem", put, []string{`"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"`}, 0, nil},
		{awsfault.Conflict{}, "TransactWriteItems", transact, []string{"TransactionCanceledException", "[TransactionConflict, None]", `{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"},{"Code":"None"}`}, 0, nil},
		{awsfault.Cancel{Codes: []string{"", "ThrottlingError", "ignored"}}, "TransactWriteItems", transact, []string{"[None, ThrottlingError]"}, 0, nil},
		{awsfault.InProgress{}, "TransactWriteItems", transact, []string{"TransactionInProgressException"}, 0, nil},
		{awsfault.Throttle{}, "PutItem", put, []string{"ProvisionedThroughputExceededException"}, 0, nil},
		{awsfault.LoseRequest{}, "PutItem", put, nil, 0, syscall.ECONNREFUSED},
		{awsfault.LoseResponse{}, "PutItem", put, nil, 1, syscall.ECONNRESET},
	} {
		b := &backend{}
		tr := awsfault.New(b, awsfault.Options{Plan: awsfault.Plan{{What: test.effect}}})
		status, answer, err := send(t, tr, test.op, test.body)
		if !errors.Is(err, test.connection) {
			t.Errorf("%T: connection error %v, want %v", test.effect, err, test.connection)
		}
		if test.connection == nil && status != http.StatusBadRequest {
			t.Errorf("%T: status %d", test.effect, status)
		}
		for _, part := range test.want {
			if !strings.Contains(answer, part) {
				t.Errorf("%T: answered %s, want %s in it", test.effect, answer, part)
			}
		}
		if len(b.got) != test.reaches {
			t.Errorf("%T: %d requests reached the service, want %d", test.effect, len(b.got), test.reaches)
		}
	}
}

func TestStale(t *testing.T) {
	t.Parallel()
	version := "1"
	b := &backend{answer: func(string, string) string { return `{"Item":{"v":{"N":"` + version + `"}}}` }}
	tr := awsfault.New(b, awsfault.Options{})
	get, strong := `{"TableName":"t","Key":{"p":{"S":"a"}}}`, `{"TableName":"t","Key":{"p":{"S":"a"}},"ConsistentRead":true}`
	_, _, _ = send(t, tr, "GetItem", strong)
	version = "2"
	tr.Play(awsfault.Plan{{What: awsfault.Stale{}, Times: awsfault.Always}})
	for _, test := range []struct{ op, body, want string }{
		{"GetItem", get, `{"Item":{"v":{"N":"1"}}}`},
		{"GetItem", strong, `{"Item":{"v":{"N":"2"}}}`},
		{"GetItem", strings.ReplaceAll(get, `"a"`, `"b"`), `{}`},
		{"Query", `{"TableName":"t"}`, `{"Items":[],"Count":0,"ScannedCount":0}`},
		{"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"}}]}}}`, `{"Responses":{"t":[]},"UnprocessedKeys":{}}`},
	} {
		if _, got, err := send(t, tr, test.op, test.body); err != nil || got != test.want {
			t.Errorf("%s %s: got %s, %v, want %s", test.op, test.body, got, err, test.want)
		}
	}
}

func TestUnprocessed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ op, body, sent, want string }{
		{
			"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"}},{"p":{"S":"b"}},{"p":{"S":"c"}}],"ConsistentRead":true}}}`,
			`{"RequestItems":{"t":{"ConsistentRead":true,"Keys":[{"p":{"S":"a"}},{"p":{"S":"b"}}]}}}`,
			`{"UnprocessedKeys":{"t":{"ConsistentRead":true,"Keys":[{"p":{"S":"c"}}]}}}`,
		},
		{
			"BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"a"}}}},{"PutRequest":{"Item":{"p":{"S":"b"}}}}]}}`,
			`{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"a"}}}}]}}`,
			`{"UnprocessedItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"b"}}}}]}}`,
		},
	} {
		var sent string
		b := &backend{answer: func(_, body string) string { sent = body; return "{}" }}
		tr := awsfault.New(b, awsfault.Options{Plan: awsfault.Plan{{What: awsfault.Unprocessed{}}}})
		_, got, err := send(t, tr, test.op, test.body)
		if err != nil || sent != test.sent || got != test.want {
			t.Errorf("%s: sent %s and answered %s, %v, want %s and %s", test.op, sent, got, err, test.sent, test.want)
		}
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	late := errors.New("too late")
	var slept []time.Duration
	b := &backend{}
	tr := awsfault.New(b, awsfault.Options{
		Plan: awsfault.Plan{{What: awsfault.Slow{Before: 1, After: 2}}},
		Sleep: func(_ context.Context, d time.Duration) error {
			if slept = append(slept, d); d == 2 {
				return late
			}
			return nil
		},
	})
	if _, _, err := send(t, tr, "PutItem", put); !errors.Is(err, late) || len(b.got) != 1 {
		t.Errorf("got %v after %d requests, want the caller to give up on one that was carried out", err, len(b.got))
	}
	if diff := cmp.Diff([]time.Duration{1, 2}, slept); diff != "" {
		t.Error(diff)
	}
	// Without another clock, waiting ends with the caller.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tr = awsfault.New(b, awsfault.Options{Plan: awsfault.Plan{{What: awsfault.Slow{Before: time.Hour}}}})
	if _, _, err := sendWith(ctx, t, tr, "PutItem", put); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestS3_OnTheWire(t *testing.T) {
	t.Parallel()
	tr := awsfault.New(&backend{}, awsfault.Options{Plan: awsfault.Plan{{What: awsfault.S3Conflict{}}, {What: awsfault.S3Busy{}, Nth: 2}}})
	for _, want := range []struct {
		status int
		part   string
	}{{409, "<Code>ConditionalRequestConflict</Code>"}, {503, "<Code>SlowDown</Code>"}, {200, ""}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://cloud/bucket/a/key", bytes.NewReader([]byte("body")))
		if err != nil {
			t.Fatal(err)
		}
		if status, answer, err := do(t, tr, req); err != nil || status != want.status || !strings.Contains(answer, want.part) {
			t.Errorf("got %d %s, %v, want %d with %s", status, answer, err, want.status, want.part)
		}
	}
	if diff := cmp.Diff(awsfault.Counts{
		Requests: map[string]int{"PutObject": 3}, RoundTrips: 3, Faults: map[string]int{"s3Conflict": 1, "s3Busy": 1},
	}, tr.Counts()); diff != "" {
		t.Error(diff)
	}
}
