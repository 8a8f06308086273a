package dynstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The attributes of the primary key.
const (
	attrPartition = "p"
	attrSort      = "s"
)

// tableWait is how long a new table may take to be ready.
const tableWait = 5 * time.Minute

// A TableDefinition is what a table must be like to hold a store. Whoever makes tables reads it, so that names stand in one place.
type TableDefinition struct {
	PartitionKey string // of type string
	SortKey      string // of type string
	Index        IndexDefinition
}

// An IndexDefinition is the global secondary index of the sessions that somebody should look at. It has the keys alone, and only those few
// sessions: a store works without it, and [Store.Due] does not.
type IndexDefinition struct {
	Name         string
	PartitionKey string // of type string
	SortKey      string // of type number
}

// Definition returns the table's shape. Billing is on demand. Its stream has new and old images, for those who want one; its backups are the
// deployment's choice.
func Definition() TableDefinition {
	return TableDefinition{
		PartitionKey: attrPartition, SortKey: attrSort,
		Index: IndexDefinition{Name: "wake", PartitionKey: attrWakeList, SortKey: attrWake},
	}
}

// A TableAPI is what [CreateTable] asks of DynamoDB. [dynamodb.Client] has it.
type TableAPI interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	dynamodb.DescribeTableAPIClient
}

// CheckTable reports whether there is a table, and returns an error when its keys are not those of [Definition].
func CheckTable(ctx context.Context, client dynamodb.DescribeTableAPIClient, table string) (exists bool, err error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for table %s: %w", table, err)
	}
	def := Definition()
	want := []string{def.PartitionKey + " (HASH, S)", def.SortKey + " (RANGE, S)"}
	if have := keysOf(out.Table); !slices.Equal(have, want) {
		return true, fmt.Errorf("table %s has the key %s and not %s: it was made for something else, so use another table",
			table, strings.Join(have, ", "), strings.Join(want, ", "))
	}
	return true, nil
}

// keysOf describes the primary key of a table, the partition key first.
func keysOf(t *types.TableDescription) []string {
	var keys []string
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		var kind types.ScalarAttributeType
		for _, a := range t.AttributeDefinitions {
			if aws.ToString(a.AttributeName) == name {
				kind = a.AttributeType
			}
		}
		keys = append(keys, fmt.Sprintf("%s (%s, %s)", name, k.KeyType, kind))
	}
	return keys
}

// CreateTable makes a table as [Definition] has it and waits until it is ready. One that is there already is left as it is.
func CreateTable(ctx context.Context, client TableAPI, table string) error {
	def := Definition()
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &table,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(def.PartitionKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(def.SortKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(def.Index.PartitionKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(def.Index.SortKey), AttributeType: types.ScalarAttributeTypeN},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  &def.Index.Name,
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String(def.Index.PartitionKey), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String(def.Index.SortKey), KeyType: types.KeyTypeRange},
			},
		}},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(def.PartitionKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(def.SortKey), KeyType: types.KeyTypeRange},
		},
	})
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("creating table %s: %w", table, err)
	}
	if err := dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, tableWait); err != nil {
		return fmt.Errorf("waiting for table %s: %w", table, err)
	}
	return nil
}
