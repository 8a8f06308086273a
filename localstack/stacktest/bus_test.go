package stacktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bridge "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	queue "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stepwell-dev/stepwell/internal/eventbus"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

// A listener is a queue behind a rule on the stack's bus.
type listener struct {
	*stack

	client *sqs.Client
	url    string
	heard  []eventbus.Event // in the order in which they came
}

// listen puts a queue behind a rule for every event of ours.
func (s *stack) listen() *listener {
	s.Helper()
	ctx, name := s.Context(), emulator.Name(s.T)
	l := &listener{stack: s, client: sqs.NewFromConfig(s.cloud.Config())}
	made, err := l.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		s.Fatal(err)
	}
	l.url = *made.QueueUrl
	has, err := l.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &l.url, AttributeNames: []queue.QueueAttributeName{queue.QueueAttributeNameQueueArn},
	})
	if err != nil {
		s.Fatal(err)
	}
	arn := has.Attributes[string(queue.QueueAttributeNameQueueArn)]
	if _, err := l.client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &l.url, Attributes: map[string]string{
		"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + arn + `"}]}`,
	}}); err != nil {
		s.Fatal(err)
	}
	rules := eventbridge.NewFromConfig(s.cloud.Config())
	if _, err := rules.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: &name, EventBusName: &s.EventBus, EventPattern: aws.String(`{"source":["stepwell"],"detail-type":[{"prefix":"dev.stepwell."}]}`),
	}); err != nil {
		s.Fatal(err)
	}
	if out, err := rules.PutTargets(ctx, &eventbridge.PutTargetsInput{
		Rule: &name, EventBusName: &s.EventBus, Targets: []bridge.Target{{Id: aws.String("queue"), Arn: &arn}},
	}); err != nil || out.FailedEntryCount > 0 {
		s.Fatalf("a target for the rule: %+v, %v", out, err)
	}
	s.Cleanup(func() {
		ctx := context.WithoutCancel(s.Context())
		_, _ = rules.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &name, EventBusName: &s.EventBus, Ids: []string{"queue"}})
		_, _ = rules.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name, EventBusName: &s.EventBus})
		_, _ = l.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &l.url})
	})
	return l
}

// hear takes what is in the queue, for as long as some more comes or until enough is there.
func (l *listener) hear(enough func() bool) {
	l.Helper()
	for end := time.Now().Add(patience); !enough(); {
		out, err := l.client.ReceiveMessage(l.Context(), &sqs.ReceiveMessageInput{QueueUrl: &l.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
		if err != nil {
			l.Fatal(err)
		}
		for _, m := range out.Messages {
			l.take(*m.Body)
			if _, err := l.client.DeleteMessage(l.Context(), &sqs.DeleteMessageInput{QueueUrl: &l.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				l.Fatal(err)
			}
		}
		if time.Now().After(end) {
			l.Fatalf("waiting for events; there were %v", l.types(""))
		}
	}
}

// take holds what the bus delivered to its form.
func (l *listener) take(body string) {
	l.Helper()
	var got struct {
		Source     string          `json:"source"`
		DetailType string          `json:"detail-type"`
		Detail     json.RawMessage `json:"detail"`
	}
	var e eventbus.Event
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		l.Fatalf("%v: %s", err, body)
	}
	if err := json.Unmarshal(got.Detail, &e); err != nil {
		l.Fatalf("%v: %s", err, body)
	}
	subject := "sessions/" + string(e.Data.SessionID)
	if e.Type != eventbus.SessionDeleted {
		subject += "/heads/" + e.Data.Head
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", e.Time); err != nil || got.Source != "stepwell" || e.Source != "stepwell" || e.SpecVersion != "1.0" ||
		got.DetailType != string(e.Type) || e.DataContentType != "application/json" || e.Subject != subject || e.ID == "" || e.Data.Tenant != "acme" {
		l.Errorf("the bus delivered %s, %v", body, err)
	}
	l.heard = append(l.heard, e)
}

// of returns what was heard of a session, by id.
func (l *listener) of(id api.SessionID) map[string]eventbus.Event {
	out := map[string]eventbus.Event{}
	for _, e := range l.heard {
		if e.Data.SessionID == id {
			out[e.ID] = e
		}
	}
	return out
}

// types returns which events were heard of a session, each once and in the order of their numbers.
func (l *listener) types(id api.SessionID) []string {
	events := slices.SortedFunc(maps.Values(l.of(id)), func(a, b eventbus.Event) int { return strings.Compare(order(a), order(b)) })
	var out []string
	for _, e := range events {
		out = append(out, strings.TrimPrefix(string(e.Type), "dev.stepwell."))
	}
	return out
}

// order sorts events of a session; its end has no number.
func order(e eventbus.Event) string {
	if e.Type == eventbus.SessionDeleted {
		return "end"
	}
	return fmt.Sprintf("%020d", e.Data.Seq)
}

// What happens in sessions is told on the bus: once for every id, however often the stream brings it.
func TestBus(t *testing.T) {
	s := up(t, nil)
	l := s.listen()
	c := s.as("acme", "ann")

	id := s.create(c)
	s.send(c, id, "hello", "1")
	s.idle(c, id)
	s.send(c, id, "sleep 2", "2") // waits, and for nobody
	s.idle(c, id)
	s.send(c, id, "ask 3600", "3")
	snap := s.until(c, id, "the question", func(snap api.Snapshot) bool { return len(snap.Parked) == 1 })
	parked := snap.Parked[0]
	l.hear(func() bool { return len(l.of(id)) == 3 })
	waits := slices.Collect(maps.Values(l.of(id)))
	waits = slices.DeleteFunc(waits, func(e eventbus.Event) bool { return e.Type != eventbus.RunWaiting })
	until := time.UnixMilli(int64(parked.Until)).UTC().Format("2006-01-02T15:04:05.000Z")
	if len(waits) != 1 || waits[0].Data.RunID != parked.RunID || !slices.Equal(waits[0].Data.Calls, []string{parked.CallID}) || waits[0].Data.Until != until {
		t.Errorf("heard of the question: %+v; want until %s, call %s of run %s", waits, until, parked.CallID, parked.RunID)
	}
	if out, err := c.Reply(t.Context(), api.ReplyOptions{
		SessionID: id, RunID: parked.RunID, CallID: parked.CallID, WaitID: parked.WaitID, Reply: []byte(`{"picked":["red"]}`),
	}); out != (api.Signalled{}) {
		t.Errorf("the reply is %#v, %v", out, err)
	}
	s.idle(c, id)
	s.send(c, id, "broken", "4")
	s.idle(c, id)
	s.send(c, id, "ask 3600", "5")
	s.until(c, id, "the question", func(snap api.Snapshot) bool { return len(snap.Parked) == 1 })
	if _, err := c.Abort(t.Context(), api.AbortOptions{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	s.idle(c, id)

	want := []string{"run.finished", "run.finished", "run.waiting", "run.finished", "run.failed", "run.waiting", "run.aborted"}
	l.hear(func() bool { return len(l.of(id)) >= len(want) })
	if got := l.types(id); !slices.Equal(got, want) {
		t.Errorf("heard of %v, want %v", got, want)
	}
	for _, e := range l.of(id) {
		if e.Type == eventbus.RunFailed && (e.Data.Error == "" || e.Data.Class != "provider") {
			t.Errorf("heard of the failure: %+v", e.Data)
		}
	}

	// The whole past comes again, as one record whose events are in packs by now.
	first, times := l.of(id), len(l.heard)
	if out := s.invoke("alarm", s.past(id)); strings.Contains(out, "error") || strings.Contains(out, "itemIdentifier") {
		t.Fatalf("the record that brings the past again: %s", out)
	}
	l.hear(func() bool { return len(l.heard) >= times+len(want) })
	for key, e := range l.of(id) {
		if was, ok := first[key]; !ok || was.Time != e.Time || was.Type != e.Type || was.Data.Seq != e.Data.Seq || was.Data.RunID != e.Data.RunID {
			t.Errorf("told again it is %+v, and was %+v", e, was)
		}
	}

	if err := c.DeleteSession(t.Context(), api.DeleteSessionOptions{SessionID: id}); err != nil {
		t.Fatal(err)
	}
	want = append(want, "session.deleted")
	l.hear(func() bool { return len(l.of(id)) == len(want) })
	if got := l.types(id); !slices.Equal(got, want) {
		t.Errorf("in the end heard of %v, want %v", got, want)
	}
	example, err := json.MarshalIndent(l.heard[0], "", "  ")
	t.Logf("%d deliveries of %d events; %v\n%s", len(l.heard), len(l.of(id)), err, example)
}

// past returns a payload of the stream with one record, in which everything that ever happened in a session happens at once.
func (s *stack) past(id api.SessionID) string {
	s.Helper()
	pages := dynamodb.NewScanPaginator(s.cloud.DynamoDB(), &dynamodb.ScanInput{
		TableName: &s.Table, FilterExpression: aws.String("s = :a AND begins_with(p, :p)"),
		ExpressionAttributeValues: map[string]ddb.AttributeValue{
			":a": &ddb.AttributeValueMemberS{Value: "A"}, ":p": &ddb.AttributeValueMemberS{Value: "S#acme#" + string(id) + "#"},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, it := range page.Items {
			now := streamed(it)
			before := maps.Clone(now)
			before["n"], before["t"] = events.NewNumberAttribute("0"), events.NewListAttribute([]events.DynamoDBAttributeValue{})
			payload, err := json.Marshal(events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
				EventName: "MODIFY", EventSource: "aws:dynamodb", Change: events.DynamoDBStreamRecord{
					SequenceNumber: "1", Keys: map[string]events.DynamoDBAttributeValue{"p": now["p"], "s": now["s"]}, OldImage: before, NewImage: now,
				},
			}}})
			if err != nil {
				s.Fatal(err)
			}
			return string(payload)
		}
	}
	s.Fatalf("there is no control item of session %s", id)
	return ""
}

// streamed is an item as the stream has it.
func streamed(it map[string]ddb.AttributeValue) map[string]events.DynamoDBAttributeValue {
	out := map[string]events.DynamoDBAttributeValue{}
	for name, v := range it {
		out[name] = streamedValue(v)
	}
	return out
}

func streamedValue(v ddb.AttributeValue) events.DynamoDBAttributeValue {
	switch v := v.(type) {
	case *ddb.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *ddb.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *ddb.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value)
	case *ddb.AttributeValueMemberM:
		return events.NewMapAttribute(streamed(v.Value))
	case *ddb.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			list[i] = streamedValue(e)
		}
		return events.NewListAttribute(list)
	}
	return events.NewNullAttribute()
}
