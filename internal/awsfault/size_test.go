package awsfault

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestItemSize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		item string
		want int
	}{
		{`{}`, 0},
		{`{"name":{"S":"é"}}`, 6},
		{`{"n":{"N":"0"}}`, 2},
		{`{"n":{"N":"7"}}`, 3},
		{`{"n":{"N":"123"}}`, 4},
		{`{"n":{"N":"-123"}}`, 5},
		{`{"n":{"N":"12000"}}`, 3},
		{`{"n":{"N":"0.0012"}}`, 3},
		{`{"n":{"N":"1.5e10"}}`, 3},
		{`{"b":{"B":"AAECAw=="}}`, 5},
		{`{"b":{"BOOL":false}}`, 2},
		{`{"b":{"NULL":true}}`, 2},
		{`{"l":{"L":[]}}`, 4},
		{`{"l":{"L":[{"S":"ab"},{"BOOL":true}]}}`, 9},
		{`{"m":{"M":{}}}`, 4},
		{`{"m":{"M":{"key":{"S":"ab"}}}}`, 10},
		{`{"s":{"SS":["ab","c"]}}`, 4},
		{`{"s":{"NS":["1","22"]}}`, 5},
		{`{"s":{"BS":["AAE=","AA=="]}}`, 4},
	} {
		var i item
		if err := json.Unmarshal([]byte(test.item), &i); err != nil {
			t.Fatal(err)
		}
		if got := i.size(); got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.item, got, test.want)
		}
	}
}
