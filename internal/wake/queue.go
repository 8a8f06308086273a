package wake

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// An SQS is a queue of Amazon SQS.
type SQS struct {
	Client interface {
		SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	}
	URL string
}

var _ Sender = SQS{}

// Send implements [Sender]. Delays are whole seconds, rounded up.
func (q SQS) Send(ctx context.Context, body []byte, delay time.Duration) error {
	seconds := int32((min(delay, MaxDelay) + time.Second - 1) / time.Second) //nolint:gosec // at most 900
	if _, err := q.Client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.URL, MessageBody: aws.String(string(body)), DelaySeconds: seconds,
	}); err != nil {
		return fmt.Errorf("sending to %s: %w", q.URL, err)
	}
	return nil
}
