package awsfault

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// halve splits what a batch asks into a first half, as the body of a request, and the rest by table.
func halve(r Request) (first []byte, rest map[string]jsontext.Value, err error) {
	var body map[string]jsontext.Value
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, nil, err
	}
	left := (r.batchSize() + 1) / 2
	taken := map[string]jsontext.Value{}
	rest = map[string]jsontext.Value{}
	for _, table := range slices.Sorted(maps.Keys(r.call.RequestItems)) {
		list, with, err := open(r.Op, r.call.RequestItems[table])
		if err != nil {
			return nil, nil, err
		}
		n := min(left, len(list))
		left -= n
		for part, of := range map[*map[string]jsontext.Value][]jsontext.Value{&taken: list[:n], &rest: list[n:]} {
			if len(of) == 0 {
				continue
			}
			if (*part)[table], err = with(of); err != nil {
				return nil, nil, err
			}
		}
	}
	if body["RequestItems"], err = json.Marshal(taken, json.Deterministic(true)); err != nil {
		return nil, nil, err
	}
	first, err = json.Marshal(body, json.Deterministic(true))
	return first, rest, err
}

// open returns the list that a batch has of one table, and what that table is asked with another list.
func open(op string, raw jsontext.Value) (list []jsontext.Value, with func([]jsontext.Value) (jsontext.Value, error), err error) {
	if op == "BatchWriteItem" {
		err = json.Unmarshal(raw, &list)
		return list, func(l []jsontext.Value) (jsontext.Value, error) { return json.Marshal(l) }, err
	}
	var asked map[string]jsontext.Value
	if err := json.Unmarshal(raw, &asked); err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(asked["Keys"], &list)
	return list, func(l []jsontext.Value) (jsontext.Value, error) {
		keys, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		other := maps.Clone(asked)
		other["Keys"] = keys
		return json.Marshal(other, json.Deterministic(true))
	}, err
}

// handBack adds what was not done to the answer to a batch.
func handBack(r Request, answer []byte, rest map[string]jsontext.Value) ([]byte, error) {
	var body map[string]jsontext.Value
	if err := json.Unmarshal(answer, &body); err != nil {
		return nil, err
	}
	field := map[string]string{"BatchWriteItem": "UnprocessedItems", "BatchGetItem": "UnprocessedKeys"}[r.Op]
	var already map[string]jsontext.Value
	if raw := body[field]; raw != nil {
		if err := json.Unmarshal(raw, &already); err != nil {
			return nil, err
		}
	}
	left, err := join(r.Op, already, rest)
	if err != nil {
		return nil, err
	}
	if body[field], err = json.Marshal(left, json.Deterministic(true)); err != nil {
		return nil, err
	}
	return json.Marshal(body, json.Deterministic(true))
}

// join merges two lists of what was not done, table by table.
func join(op string, one, two map[string]jsontext.Value) (map[string]jsontext.Value, error) {
	all := maps.Clone(two)
	for table, raw := range one {
		if all[table] == nil {
			all[table] = raw
			continue
		}
		first, with, err := open(op, all[table])
		if err != nil {
			return nil, err
		}
		second, _, err := open(op, raw)
		if err != nil {
			return nil, err
		}
		if all[table], err = with(append(first, second...)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
