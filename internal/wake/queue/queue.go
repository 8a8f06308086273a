// Package queue sends messages by Amazon SQS.
package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stepwell-dev/stepwell/internal/wake"
)

// An SQS is a queue of Amazon SQS.
type SQS struct {
	Client interface {
		SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	}
	URL string
}

var _ wake.Sender = SQS{}

// Open returns the queue at a URL. It asks nothing of anybody.
func Open(cfg aws.Config, url string) wake.Sender {
	return SQS{Client: sqs.NewFromConfig(cfg), URL: url}
}

// Send implements [wake.Sender]. Delays are whole seconds, rounded up.
func (q SQS) Send(ctx context.Context, body []byte, delay time.Duration) error {
	seconds := int32((min(delay, wake.MaxDelay) + time.Second - 1) / time.Second) //nolint:gosec // at most 900
	if _, err := q.Client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.URL, MessageBody: aws.String(string(body)), DelaySeconds: seconds,
	}); err != nil {
		return fmt.Errorf("sending to %s: %w", q.URL, err)
	}
	return nil
}
