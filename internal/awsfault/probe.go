package awsfault

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"
)

// A keyAttribute is one attribute of a key.
type keyAttribute struct{ AttributeName string }

// A table is how items are found and indexed.
type table struct {
	KeySchema              []keyAttribute
	GlobalSecondaryIndexes []index
	LocalSecondaryIndexes  []index
}

// key returns the key of an item.
func (t *table) key(i item) item {
	key := item{}
	for _, k := range t.KeySchema {
		key[k.AttributeName] = i[k.AttributeName]
	}
	return key
}

// tables reads items and tables beside the requests that are counted.
type tables struct {
	next http.RoundTripper

	mu    sync.Mutex
	known map[string]*table
}

// describe returns the table of a name, nil when it is not to be had.
func (p *tables) describe(req *http.Request, name string) *table {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.known[name]; t != nil {
		return t
	}
	var out struct{ Table table }
	if p.ask(req, "DescribeTable", map[string]string{"TableName": name}, &out) != nil {
		return nil
	}
	p.known[name] = &out.Table
	return &out.Table
}

// items returns the items of writes as they are now; nil where there is none.
func (p *tables) items(req *http.Request, writes []write) []item {
	type place struct {
		table string
		key   string
	}
	places := make([]place, len(writes))
	asked := map[string]keyList{}
	for i, w := range writes {
		t := p.describe(req, w.table)
		if t == nil {
			continue
		}
		key := w.key
		if key == nil {
			key = t.key(w.item)
		}
		places[i] = place{w.table, text(key)}
		list := asked[w.table]
		asked[w.table] = keyList{Keys: append(list.Keys, key), ConsistentRead: true}
	}
	found := map[place]item{}
	for len(asked) > 0 {
		var out struct {
			Responses       map[string][]item
			UnprocessedKeys map[string]keyList
		}
		if p.ask(req, "BatchGetItem", map[string]any{"RequestItems": asked}, &out) != nil {
			break
		}
		for name, list := range out.Responses {
			for _, i := range list {
				found[place{name, text(p.describe(req, name).key(i))}] = i
			}
		}
		asked = out.UnprocessedKeys
	}
	items := make([]item, len(writes))
	for i, at := range places {
		items[i] = found[at]
	}
	return items
}

// ask makes a request as the client that made req would, if signatures were not checked.
func (p *tables) ask(req *http.Request, op string, in, out any) error {
	body, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		return err
	}
	probe := message(req, body)
	probe.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	resp, err := p.next.RoundTrip(probe)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("probing with %s: %s", op, resp.Status)
	}
	return json.Unmarshal(answer, out)
}

// text is the same for equal items.
func text(i item) string {
	data, err := json.Marshal(i, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(data)
}
