package dynstore

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// API is what the store asks of DynamoDB. [dynamodb.Client] has it.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Bodies keeps the bodies that are too large for an item. A key is never used for a second body. It retries what can be retried.
type Bodies interface {
	// Put stores body under key. Putting the same body again is harmless.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns the body of key; ok is false when there is none.
	Get(ctx context.Context, key string) (body []byte, ok bool, err error)
	// Delete removes the bodies of keys. A key without a body is passed over.
	Delete(ctx context.Context, keys ...string) error
	// Keys yields the keys that start with prefix.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
}
