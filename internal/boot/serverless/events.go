package serverless

import (
	"context"
	"encoding/json" //nolint:depguard // the types of the events are made for it
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepwell-dev/stepwell/internal/wake"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// maxSweep is how many sessions one sweep looks at, at most; the next one goes on.
const maxSweep = 400

func apiID(id store.SessionID) api.SessionID { return api.SessionID(id) }

// A trigger is what an invocation may be, seen from its payload.
type trigger struct {
	Records []struct {
		EventSource string `json:"eventSource"`
	} `json:"Records"` //nolint:tagliatelle // the platform's name
	Sweep          bool            `json:"sweep"`
	Session        string          `json:"session"`
	RequestContext json.RawMessage `json:"requestContext"`
}

func (t trigger) source() string {
	switch {
	case len(t.Records) > 0:
		return t.Records[0].EventSource
	case len(t.RequestContext) > 0:
		return "http"
	case t.Sweep:
		return "sweep"
	case t.Session != "":
		return "message"
	}
	return ""
}

const (
	fromSQS    = "aws:sqs"
	fromStream = "aws:dynamodb"
)

// errPayload reports a payload that no trigger of ours sends. Sending it again would not help, and it changes nothing.
var errPayload = errors.New("the payload is of no known trigger")

// messages hands each message of a batch to do and answers with those that failed, which alone are delivered again.
func (a *app) messages(ctx context.Context, payload []byte, do func(context.Context, wake.Message) error) (events.SQSEventResponse, error) {
	var batch events.SQSEvent
	if err := json.Unmarshal(payload, &batch); err != nil {
		return events.SQSEventResponse{}, fmt.Errorf("%w: %w", errPayload, err)
	}
	var out events.SQSEventResponse
	for _, r := range batch.Records {
		m, err := wake.ParseMessage([]byte(r.Body))
		if err == nil {
			err = do(ctx, m)
		}
		switch {
		case err == nil:
		case errors.Is(err, wake.ErrMessage): // it will not get better, and there is nothing behind it
			a.log.LogAttrs(ctx, slog.LevelWarn, "a message was dropped", slog.String("messageId", r.MessageId), slog.Any("error", err))
		default:
			a.log.LogAttrs(ctx, slog.LevelError, "a message failed", slog.String("messageId", r.MessageId), slog.Any("error", err))
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
		}
	}
	return out, nil
}

// stream has the sessions looked at that a batch of stream records tells of, if there is a look, and then what happened in them published, if there
// is a bus. It answers with the records to come back to, of which the platform takes the first.
func (a *app) stream(ctx context.Context, payload []byte, look func(context.Context, wake.Message) error) (events.DynamoDBEventResponse, error) {
	var batch events.DynamoDBEvent
	if err := json.Unmarshal(payload, &batch); err != nil {
		return events.DynamoDBEventResponse{}, fmt.Errorf("%w: %w", errPayload, err)
	}
	var back []string
	if look != nil {
		back = a.wakeAll(ctx, batch.Records, look)
	}
	if a.publisher != nil {
		if record := a.outward(ctx, batch.Records); record != "" {
			back = append(back, record)
		}
	}
	var out events.DynamoDBEventResponse
	for _, record := range back {
		out.BatchItemFailures = append(out.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: record})
	}
	return out, nil
}

// wakeAll has each session looked at once that is marked as of its last record and held by nobody. It returns the records of those that could not be
// looked at, which keep no other from it.
func (a *app) wakeAll(ctx context.Context, batch []events.DynamoDBEventRecord, look func(context.Context, wake.Message) error) (back []string) {
	now := object.Millis(a.now().UnixMilli())
	last := map[wake.Message]string{} // the record that told of each last
	var order []wake.Message
	for _, r := range batch {
		k, ok := dynstore.ParseControlKey(stringOf(r.Change.Keys, "p"), stringOf(r.Change.Keys, "s"))
		if !ok || len(r.Change.NewImage) == 0 {
			continue
		}
		image, err := dynstore.ReadImage(attributes(r.Change.NewImage))
		if err != nil {
			a.passOver(ctx, r, err)
			continue
		}
		m := wake.Message{Tenant: k.Tenant, Session: apiID(k.Session)}
		delete(last, m)
		if image.Mark.At != 0 && image.Mark.At <= now && image.Mark.HeldUntil <= now {
			last[m] = r.Change.SequenceNumber
			order = append(order, m)
		}
	}
	for _, m := range order {
		record, ok := last[m]
		if !ok {
			continue
		}
		delete(last, m)
		if err := look(ctx, m); err != nil {
			a.log.LogAttrs(ctx, slog.LevelError, "a stream record failed", slog.String("session", string(m.Session)), slog.Any("error", err))
			back = append(back, record)
		}
	}
	return back
}

func stringOf(image map[string]events.DynamoDBAttributeValue, name string) string {
	if v, ok := image[name]; ok && v.DataType() == events.DataTypeString {
		return v.String()
	}
	return ""
}

// attributes turns an image of a stream record into what the SDK has for items.
func attributes(image map[string]events.DynamoDBAttributeValue) map[string]types.AttributeValue {
	if image == nil {
		return nil
	}
	out := make(map[string]types.AttributeValue, len(image))
	for name, v := range image {
		out[name] = attribute(v)
	}
	return out
}

func attribute(v events.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case events.DataTypeMap:
		return &types.AttributeValueMemberM{Value: attributes(v.Map())}
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(v.List()))
		for i, e := range v.List() {
			list[i] = attribute(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case events.DataTypeNull:
	}
	return &types.AttributeValueMemberNULL{Value: true}
}
