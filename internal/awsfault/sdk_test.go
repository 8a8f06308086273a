package awsfault_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

// A cloud is a table with an index on the attribute i, and a client that reaches it through a transport and never retries.
type cloud struct {
	*dynamodb.Client
	table     string
	transport *awsfault.Transport
}

func newCloud(t *testing.T) cloud {
	t.Helper()
	e := emulator.Start(t)
	tr := awsfault.New(e.Transport(), awsfault.Options{Probe: e.Emulated})
	c := cloud{e.DynamoDB(emulator.WithTransport(tr), func(cfg *aws.Config) {
		cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	}), emulator.Name(t), tr}
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	key := func(name string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &name, KeyType: types.KeyTypeHash}}
	}
	if _, err := c.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &c.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("p"), attribute("i")}, KeySchema: key("p"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("byI"), KeySchema: key("i"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.Play(nil)
		_, _ = c.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &c.table})
	})
	tr.Reset()
	return c
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func (c cloud) put(t *testing.T, attributes ...string) error {
	t.Helper()
	i := map[string]types.AttributeValue{}
	for n := 0; n < len(attributes); n += 2 {
		i[attributes[n]] = s(attributes[n+1])
	}
	_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &c.table, Item: i})
	return err
}

func (c cloud) get(t *testing.T, p string, strong bool) map[string]types.AttributeValue {
	t.Helper()
	out, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &c.table, Key: map[string]types.AttributeValue{"p": s(p)}, ConsistentRead: &strong})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func (c cloud) transact(t *testing.T, ps ...string) error {
	t.Helper()
	var items []types.TransactWriteItem
	for _, p := range ps {
		items = append(items, types.TransactWriteItem{Put: &types.Put{TableName: &c.table, Item: map[string]types.AttributeValue{"p": s(p)}}})
	}
	_, err := c.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items})
	return err
}

// The SDK takes injected errors for what they stand for.
func TestSDK_Errors(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.transport.Play(awsfault.Plan{{What: awsfault.Cancel{Codes: []string{"", "TransactionConflict"}}}})
	var canceled *types.TransactionCanceledException
	if err := c.transact(t, "a", "b"); !errors.As(err, &canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if r := canceled.CancellationReasons; len(r) != 2 || *r[0].Code != "None" || *r[1].Code != "TransactionConflict" {
		t.Errorf("cancelled for %+v", r)
	}
	c.transport.Play(awsfault.Plan{{What: awsfault.InProgress{}}})
	var running *types.TransactionInProgressException
	if err := c.transact(t, "a"); !errors.As(err, &running) {
		t.Errorf("in progress: %v", err)
	}
	c.transport.Play(awsfault.Plan{{What: awsfault.Conflict{}}})
	var conflict *types.TransactionConflictException
	if err := c.put(t, "p", "a"); !errors.As(err, &conflict) {
		t.Errorf("conflict: %v", err)
	}
	c.transport.Play(awsfault.Plan{{What: awsfault.Throttle{}}})
	var throttled *types.ProvisionedThroughputExceededException
	if err := c.put(t, "p", "a"); !errors.As(err, &throttled) {
		t.Errorf("throttled: %v", err)
	}
	if got := c.get(t, "a", true); got != nil {
		t.Errorf("after nothing but refusals there is %v", got)
	}
}

// A lost request did nothing and a lost response did everything, and the SDK sees no difference.
func TestSDK_LostRequestAndResponse(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.transport.Play(awsfault.Plan{{What: awsfault.LoseRequest{}, Op: "PutItem"}, {What: awsfault.LoseResponse{}, Op: "PutItem", Nth: 2}})
	for _, test := range []struct {
		p    string
		done bool
	}{{"request", false}, {"response", true}} {
		if err := c.put(t, "p", test.p); err == nil {
			t.Errorf("lost %s: no error", test.p)
		}
		if got := c.get(t, test.p, true); (got != nil) != test.done {
			t.Errorf("lost %s: there is %v", test.p, got)
		}
	}
}

func TestSDK_StaleReads(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if err := c.put(t, "p", "a"); err != nil {
		t.Fatal(err)
	}
	c.transport.Play(awsfault.Plan{{What: awsfault.Stale{}, Times: awsfault.Always}})
	if got := c.get(t, "a", false); got != nil {
		t.Errorf("an eventual read of a new item found %v", got)
	}
	if got := c.get(t, "a", true); got == nil {
		t.Error("a strong read was stale")
	}
	if got := c.get(t, "a", false); got == nil {
		t.Error("an eventual read went back before an answer that was given")
	}
}

func TestSDK_UnprocessedItems(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if !emulator.Start(t).Emulated {
		t.Skip("a real endpoint checks signatures")
	}
	c.transport.Play(awsfault.Plan{{What: awsfault.Unprocessed{}, Op: "BatchWriteItem"}, {What: awsfault.Unprocessed{}, Op: "BatchGetItem"}})
	var puts []types.WriteRequest
	var keys []map[string]types.AttributeValue
	for _, p := range []string{"a", "b", "c", "d", "e"} {
		key := map[string]types.AttributeValue{"p": s(p)}
		puts, keys = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: key}}), append(keys, key)
	}
	for round, left := range []int{2, 0} {
		out, err := c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{c.table: puts}})
		if err != nil {
			t.Fatal(err)
		}
		if puts = out.UnprocessedItems[c.table]; len(puts) != left {
			t.Fatalf("round %d left %d, want %d", round, len(puts), left)
		}
	}
	found := 0
	for round, left := range []int{2, 0} {
		out, err := c.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{c.table: {Keys: keys}}})
		if err != nil {
			t.Fatal(err)
		}
		found += len(out.Responses[c.table])
		if keys = out.UnprocessedKeys[c.table].Keys; len(keys) != left {
			t.Fatalf("round %d left %d, want %d", round, len(keys), left)
		}
	}
	if found != 5 {
		t.Errorf("found %d of 5", found)
	}
}

// With probes, an update costs what the item is, not what the request says, and a deletion what it deletes.
func TestSDK_ProbedUnits(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	if !emulator.Start(t).Emulated {
		t.Skip("a real endpoint checks signatures")
	}
	big := strings.Repeat("x", 3000)
	update := func(set string, values map[string]types.AttributeValue) error {
		_, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &c.table, Key: map[string]types.AttributeValue{"p": s("a")},
			UpdateExpression: &set, ExpressionAttributeValues: values,
		})
		return err
	}
	for _, step := range []struct {
		name         string
		do           func() error
		write, index float64
	}{
		{"put of 3 KB that is not indexed", func() error { return c.put(t, "p", "a", "b", big) }, 3, 0},
		{"small update", func() error {
			return update("SET n = :n", map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "1"}})
		}, 3, 0},
		{"update that enters the index", func() error { return update("SET i = :i", map[string]types.AttributeValue{":i": s("x")}) }, 3, 1},
		{"update that does not show in the index", func() error { return update("SET m = :m", map[string]types.AttributeValue{":m": s("x")}) }, 3, 0},
		{"update that moves in the index", func() error { return update("SET i = :i", map[string]types.AttributeValue{":i": s("y")}) }, 3, 2},
		{"update that shrinks the item", func() error { return update("REMOVE b", nil) }, 3, 0},
		{"update of what is small now", func() error { return update("SET m = :m", map[string]types.AttributeValue{":m": s("z")}) }, 1, 0},
		{"put over it of 3 KB", func() error { return c.put(t, "p", "a", "b", big, "i", "y") }, 3, 0},
		{"deletion", func() error {
			_, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &c.table, Key: map[string]types.AttributeValue{"p": s("a")}})
			return err
		}, 3, 1},
	} {
		c.transport.Reset()
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := c.transport.Counts(); got.WriteUnits != step.write || got.IndexUnits != step.index || got.Total() != 1 {
			t.Errorf("%s: %v write and %v index units in %d requests, want %v and %v in 1", step.name, got.WriteUnits, got.IndexUnits, got.Total(), step.write, step.index)
		}
	}
}

func TestSDK_S3Errors(t *testing.T) {
	t.Parallel()
	e := emulator.Start(t)
	tr := awsfault.New(e.Transport(), awsfault.Options{})
	client := e.S3(emulator.WithTransport(tr), func(cfg *aws.Config) { cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} } })
	bucket := emulator.Name(t)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	tr.Play(awsfault.Plan{{What: awsfault.S3Conflict{}}, {What: awsfault.S3Busy{}, Nth: 2}})
	for _, want := range []string{"ConditionalRequestConflict", "SlowDown", ""} {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("k"), Body: strings.NewReader("x")})
		var api smithy.APIError
		if code := ""; errors.As(err, &api) {
			if code = api.ErrorCode(); code != want {
				t.Errorf("got %s, want %s", code, want)
			}
		} else if err != nil || want != "" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("k")}); err != nil {
		t.Error(err)
	}
	if _, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket}); err != nil {
		t.Error(err)
	}
	if _, err := client.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &bucket}); err != nil {
		t.Error(err)
	}
	for _, op := range []string{"CreateBucket", "PutObject", "DeleteObject", "ListObjectsV2", "DeleteBucket"} {
		if tr.Counts().Requests[op] == 0 {
			t.Errorf("%s was not counted: %v", op, tr.Counts().Requests)
		}
	}
}
