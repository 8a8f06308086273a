package awsfault

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The services whose requests are understood.
const (
	DynamoDB = "DynamoDB"
	S3       = "S3"
)

// A Request is what one HTTP request asks of a service. A retry is another one.
type Request struct {
	// Service is DynamoDB, S3, or what the target header names.
	Service string
	// Op is the operation as the service's documentation calls it.
	Op string
	// Path is the bucket and key of a request to S3.
	Path string
	// Body is what was sent. It must not be changed.
	Body []byte

	call call
}

// A call is the part of a request to DynamoDB that faults and units depend on, over all its operations.
type call struct {
	TableName                 string
	IndexName                 string
	Key                       item
	Item                      item
	ConsistentRead            bool
	ClientRequestToken        string
	ExpressionAttributeValues map[string]value
	TransactItems             []struct{ Put, Update, Delete, ConditionCheck, Get *call }
	RequestItems              map[string]jsontext.Value
}

// read takes a request apart and leaves it without a body.
func read(req *http.Request) (Request, error) {
	var r Request
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return r, fmt.Errorf("reading the request: %w", err)
		}
		if err := req.Body.Close(); err != nil {
			return r, fmt.Errorf("reading the request: %w", err)
		}
		r.Body = body
	}
	target, op, ok := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	switch {
	case !ok:
		r.Service, r.Op, r.Path = S3, s3Op(req), strings.TrimPrefix(req.URL.Path, "/")
		return r, nil
	case !strings.HasPrefix(target, "DynamoDB_"):
		r.Service, r.Op = target, op
		return r, nil
	}
	r.Service, r.Op = DynamoDB, op
	if err := json.Unmarshal(r.Body, &r.call); err != nil {
		return r, fmt.Errorf("reading the %s: %w", op, err)
	}
	return r, nil
}

func s3Op(req *http.Request) string {
	_, key, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/")
	query := req.URL.Query()
	switch {
	case req.Method == http.MethodPost && query.Has("delete"):
		return "DeleteObjects"
	case req.Method == http.MethodGet && query.Has("list-type"):
		return "ListObjectsV2"
	}
	verb := map[string]string{http.MethodGet: "Get", http.MethodHead: "Head", http.MethodPut: "Put", http.MethodDelete: "Delete"}[req.Method]
	switch {
	case verb == "":
		return req.Method
	case key != "":
		return verb + "Object"
	case verb == "Put":
		return "CreateBucket"
	}
	return verb + "Bucket"
}

func (r Request) transaction() bool {
	return r.Op == "TransactWriteItems" || r.Op == "TransactGetItems"
}

// eventual reports whether r is a read that may be answered from the past.
func (r Request) eventual() bool {
	switch r.Op {
	case "GetItem", "Query", "Scan":
		return !r.call.ConsistentRead
	case "BatchGetItem":
		for _, keys := range r.reads() {
			if keys.ConsistentRead {
				return false
			}
		}
		return true
	}
	return false
}

// A keyList is what a BatchGetItem asks of one table.
type keyList struct {
	Keys           []item
	ConsistentRead bool
}

// reads returns what a BatchGetItem asks, by table.
func (r Request) reads() map[string]keyList {
	out := map[string]keyList{}
	if r.Op != "BatchGetItem" {
		return out
	}
	for table, raw := range r.call.RequestItems {
		var keys keyList
		if json.Unmarshal(raw, &keys) == nil {
			out[table] = keys
		}
	}
	return out
}

// A write is one change that a request asks for.
type write struct {
	table string
	// key is nil for a put, whose key is in its item.
	key   item
	item  item // of a put
	check bool
	// values are what an update brings.
	update bool
	values map[string]value
}

// writes returns the changes that r asks for, in order.
func (r Request) writes() []write {
	c := &r.call
	switch r.Op {
	case "PutItem":
		return []write{{table: c.TableName, item: c.Item}}
	case "DeleteItem":
		return []write{{table: c.TableName, key: c.Key}}
	case "UpdateItem":
		return []write{{table: c.TableName, key: c.Key, update: true, values: c.ExpressionAttributeValues}}
	case "TransactWriteItems":
		var out []write
		for _, t := range c.TransactItems {
			switch {
			case t.Put != nil:
				out = append(out, write{table: t.Put.TableName, item: t.Put.Item})
			case t.Delete != nil:
				out = append(out, write{table: t.Delete.TableName, key: t.Delete.Key})
			case t.Update != nil:
				out = append(out, write{table: t.Update.TableName, key: t.Update.Key, update: true, values: t.Update.ExpressionAttributeValues})
			case t.ConditionCheck != nil:
				out = append(out, write{table: t.ConditionCheck.TableName, key: t.ConditionCheck.Key, check: true})
			}
		}
		return out
	case "BatchWriteItem":
		var out []write
		for table, raw := range c.RequestItems {
			var requests []struct{ PutRequest, DeleteRequest *call }
			if json.Unmarshal(raw, &requests) != nil {
				continue
			}
			for _, w := range requests {
				switch {
				case w.PutRequest != nil:
					out = append(out, write{table: table, item: w.PutRequest.Item})
				case w.DeleteRequest != nil:
					out = append(out, write{table: table, key: w.DeleteRequest.Key})
				}
			}
		}
		return out
	}
	return nil
}

func (r Request) batchSize() int {
	n := 0
	switch r.Op {
	case "BatchWriteItem":
		n = len(r.writes())
	case "BatchGetItem":
		for _, keys := range r.reads() {
			n += len(keys.Keys)
		}
	}
	return n
}

// message returns a copy of req that carries body.
func message(req *http.Request, body []byte) *http.Request {
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if len(body) == 0 {
		out.Body, out.GetBody = http.NoBody, func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	return out
}
