package awsfault

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reads is what a read cost. It goes by the items of the answer, so what a filter or projection left out is not counted.
func reads(r Request, answer []byte) bill {
	var a struct {
		Item            item
		Items           []item
		Responses       jsontext.Value
		UnprocessedKeys map[string]keyList
	}
	if json.Unmarshal(answer, &a) != nil {
		return bill{}
	}
	switch r.Op {
	case "GetItem":
		return bill{read: rate(r.call.ConsistentRead) * units(a.Item.size(), readUnit)}
	case "Query", "Scan":
		size := 0
		for _, i := range a.Items {
			size += i.size()
		}
		return bill{read: rate(r.call.ConsistentRead) * units(size, readUnit)}
	case "BatchGetItem":
		return batchRead(r, a.Responses, a.UnprocessedKeys)
	case "TransactGetItems":
		var found []struct{ Item item }
		if json.Unmarshal(a.Responses, &found) != nil {
			return bill{}
		}
		var b bill
		for _, f := range found {
			b.read += 2 * units(f.Item.size(), readUnit)
		}
		return b
	}
	return bill{}
}

// batchRead rounds up every item by itself; one that is not there costs a unit.
func batchRead(r Request, responses jsontext.Value, left map[string]keyList) bill {
	var found map[string][]item
	if json.Unmarshal(responses, &found) != nil {
		return bill{}
	}
	var b bill
	for table, asked := range r.reads() {
		missing := len(asked.Keys) - len(left[table].Keys) - len(found[table])
		sum := float64(max(missing, 0))
		for _, i := range found[table] {
			sum += units(i.size(), readUnit)
		}
		b.read += rate(asked.ConsistentRead) * sum
	}
	return b
}

// rate is what a read unit counts.
func rate(consistent bool) float64 {
	if consistent {
		return 1
	}
	return 0.5
}
