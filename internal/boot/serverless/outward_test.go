package serverless

import (
	"bytes"
	"encoding/json" //nolint:depguard // the types of the events are made for it
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A counter counts the requests that it passes on; one that is made again, since its answer was lost, counts once.
type counter struct {
	http.RoundTripper

	mu   sync.Mutex
	seen map[string]bool
}

func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.Method + " " + req.URL.String() + " " + req.Header.Get("X-Amz-Target")
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		what += " " + string(body)
	}
	c.mu.Lock()
	c.seen[what] = true
	c.mu.Unlock()
	return c.RoundTripper.RoundTrip(req)
}

// begin counts anew.
func (c *counter) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = map[string]bool{}
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// A stream is what a session writes, and the records that the table's stream would have of it.
type stream struct {
	*testing.T

	app     *app
	asked   *counter
	heard   *sink
	client  *dynamodb.Client
	table   string
	session store.Session
	last    object.OID
	items   map[string]map[string]types.AttributeValue // by key, as of the last record
	number  int
}

func newStream(t *testing.T) *stream {
	t.Helper()
	e := emulator.Start(t)
	s := &stream{T: t, asked: &counter{RoundTripper: e.Transport(), seen: map[string]bool{}}, heard: &sink{}, client: e.DynamoDB(), table: emulator.Name(t), items: map[string]map[string]types.AttributeValue{}}
	at := cloud.Location{Table: s.table, Bucket: s.table, Tenant: "acme"}
	writer, err := cloud.New(t.Context(), e.Config(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Init(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	st, err := writer.Open(at, time.Now, cloud.Poll)
	if err != nil {
		t.Fatal(err)
	}
	out, err := st.CreateSession(t.Context(), store.CreateOptions{ID: "s"})
	made, ok := out.(store.SessionCreated)
	if err != nil || !ok {
		t.Fatal(out, err)
	}
	s.session = made.Session
	reader, err := cloud.New(t.Context(), e.Config(emulator.WithTransport(s.asked)), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvStore, at.String())
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	models, model, err := c.Turn.Catalog(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{config: c, clients: reader, log: slog.New(slog.DiscardHandler), now: time.Now}
	a.hosts = &hosts{clients: reader, config: c, models: models, model: model, now: a.now, log: a.log, known: map[string]*tenantHost{}}
	a.publisher = &eventbus.Publisher{Sink: s.heard, Open: a.openIncarnation, Logger: a.log}
	s.app = a
	s.records()
	return s
}

// to moves the run to a phase.
func (s *stream) to(p object.Phase, attempts int) {
	s.Helper()
	enc, err := object.Encode(object.Run{ID: "run_1", Head: "main", Phase: p, StartedAt: 1, Attempts: attempts})
	if err != nil {
		s.Fatal(err)
	}
	out, err := s.session.UpdateRefs(s.Context(), []store.Update{{Name: ref.Run("main"), From: s.last, To: enc.OID}}, store.UpdateOptions{Reason: "test", Objects: []object.Encoded{enc}})
	if _, ok := out.(store.Updated); err != nil || !ok {
		s.Fatal(out, err)
	}
	s.last = enc.OID
}

// flush appends what a model says in half a second.
func (s *stream) flush(i int) {
	s.Helper()
	delta := store.DeltaEvent{RunID: "run_1", Attempt: 1, Part: store.TextPart, Delta: strings.Repeat(fmt.Sprint(i, " words "), 12)}
	if out, err := s.session.AppendEvents(s.Context(), []store.EventBody{delta}, nil); err != nil {
		s.Fatal(out, err)
	}
}

// records returns what has changed in the table, as the stream has it: the items of one transaction come in any order.
func (s *stream) records() (out []events.DynamoDBEventRecord) {
	s.Helper()
	found, err := s.client.Scan(s.Context(), &dynamodb.ScanInput{TableName: aws.String(s.table), ConsistentRead: aws.Bool(true)})
	if err != nil {
		s.Fatal(err)
	}
	now := map[string]map[string]types.AttributeValue{}
	for _, it := range found.Items {
		p, _ := it["p"].(*types.AttributeValueMemberS)
		k, _ := it["s"].(*types.AttributeValueMemberS)
		key := p.Value + " " + k.Value
		now[key] = it
		if was := s.items[key]; !reflect.DeepEqual(was, it) {
			out = append(out, s.record(was, it))
		}
	}
	for key, was := range s.items {
		if now[key] == nil {
			out = append(out, s.record(was, nil))
		}
	}
	s.items = now
	return out
}

func (s *stream) record(before, after map[string]types.AttributeValue) events.DynamoDBEventRecord {
	s.number++
	r := events.DynamoDBEventRecord{EventSource: fromStream, EventName: "MODIFY", Change: events.DynamoDBStreamRecord{
		SequenceNumber: fmt.Sprint(s.number), OldImage: streamed(before), NewImage: streamed(after),
		ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Unix(1_700_000_000, 0)},
	}}
	r.Change.Keys = r.Change.NewImage
	switch {
	case before == nil:
		r.EventName = "INSERT"
	case after == nil:
		r.EventName, r.Change.Keys = "REMOVE", r.Change.OldImage
	}
	return r
}

// tell hands a batch to the function and returns how many requests that took, and what was told.
func (s *stream) tell(batch []events.DynamoDBEventRecord) (requests int, told []string) {
	s.Helper()
	payload, err := json.Marshal(events.DynamoDBEvent{Records: batch})
	if err != nil {
		s.Fatal(err)
	}
	heard := len(s.heard.heard)
	s.asked.begin()
	out, err := s.app.stream(s.Context(), payload, nil)
	if err != nil || len(out.BatchItemFailures) > 0 {
		s.Fatalf("%+v, %v", out, err)
	}
	return s.asked.count(), s.heard.heard[heard:]
}

// A flush of streamed text costs no read, also where it puts events into a pack; the move of a run costs one, and the run is told of once. Without the
// pack's record, its events are read.
func TestOutward(t *testing.T) {
	s := newStream(t)
	s.to(object.Respond{}, 0)
	if n, told := s.tell(s.records()); n != 1 || len(told) > 0 {
		t.Errorf("a run begins: %d requests, told %q", n, told)
	}
	packs, alone := 0, 0
	const flushes = 60
	for i := range flushes {
		s.flush(i)
		batch := s.records()
		if len(batch) > 1 {
			packs++
			n, _ := s.tell(slices.DeleteFunc(slices.Clone(batch), func(r events.DynamoDBEventRecord) bool {
				_, ok := dynstore.ParsePackKey(stringOf(r.Change.Keys, "p"), stringOf(r.Change.Keys, "s"))
				return ok
			}))
			alone = max(alone, n)
		}
		if n, told := s.tell(batch); n != 0 || len(told) > 0 {
			t.Errorf("flush %d: %d requests, told %q", i, n, told)
		}
	}
	if packs == 0 || alone == 0 {
		t.Errorf("%d flushes packed; without their records they took %d requests", packs, alone)
	}
	t.Logf("%d of %d flushes put events into a pack; without the pack's record that takes %d requests, with it none", packs, flushes, alone)

	s.to(object.Failed{Error: "it broke", Class: object.FailedProvider}, 1)
	failed := s.records()
	n, told := s.tell(failed)
	if n != 1 || !slices.Equal(told, []string{"dev.stepwell.run.failed sessions/s/heads/main"}) {
		t.Errorf("a run fails: %d requests, told %q", n, told)
	}
	s.to(object.Failed{Error: "it broke", Class: object.FailedProvider}, 2)
	if n, told := s.tell(s.records()); n != 1 || len(told) > 0 {
		t.Errorf("a run that failed is counted: %d requests, told %q", n, told)
	}
	if _, told := s.tell(failed); len(told) != 1 {
		t.Errorf("again, told %q", told)
	}
	host, err := s.app.hosts.tenant(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := host.store.DeleteSession(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, told := s.tell(s.records()); !slices.Equal(told, []string{"dev.stepwell.session.deleted sessions/s"}) {
		t.Errorf("the session is gone, told %q", told)
	}
	s.app.hosts.known = map[string]*tenantHost{} // another process, which remembers nothing
	if _, told := s.tell(failed); len(told) > 0 {
		t.Errorf("of a session that is gone, told %q", told)
	}
}

// streamed is an item as the stream has it.
func streamed(it map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	if it == nil {
		return nil
	}
	out := map[string]events.DynamoDBAttributeValue{}
	for name, v := range it {
		out[name] = streamedValue(v)
	}
	return out
}

func streamedValue(v types.AttributeValue) events.DynamoDBAttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value)
	case *types.AttributeValueMemberM:
		return events.NewMapAttribute(streamed(v.Value))
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = streamedValue(e)
		}
		return events.NewListAttribute(list)
	}
	return events.NewNullAttribute()
}
