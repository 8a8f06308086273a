package dynstore

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An item is one row as the SDK has it.
type item = map[string]types.AttributeValue

func number[T ~int | ~int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func binaryValue(b []byte) types.AttributeValue {
	if b == nil {
		b = []byte{} // which the SDK sends as bytes, unlike nil
	}
	return &types.AttributeValueMemberB{Value: b}
}

func intOf(it item, name string) (int64, error) {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("stored attribute %q is not a number", name)
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("stored attribute %q: %w", name, err)
	}
	return v, nil
}

// optionalInt is intOf, with 0 for an attribute that is not there.
func optionalInt(it item, name string) (int64, error) {
	if it[name] == nil {
		return 0, nil
	}
	return intOf(it, name)
}

func textOf(it item, name string) string {
	if s, ok := it[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func binaryOf(it item, name string) []byte {
	if b, ok := it[name].(*types.AttributeValueMemberB); ok {
		return b.Value
	}
	return nil
}

// sizeOf returns the bytes that DynamoDB counts for an item, by its published rules and never less.
func sizeOf(it item) int {
	n := 0
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberL:
		n := 3
		for _, e := range v.Value {
			n += 1 + valueSize(e)
		}
		return n
	case *types.AttributeValueMemberM:
		n := 3
		for name, e := range v.Value {
			n += 1 + len(name) + valueSize(e)
		}
		return n
	}
	return 1
}
