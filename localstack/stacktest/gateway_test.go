package stacktest_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/internal/awsfault"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

// A gateway stands between the functions and the emulator: it counts what they ask, and notes which actions of IAM that takes.
type gateway struct {
	*awsfault.Transport

	url string

	mu   sync.Mutex
	used map[string]map[string]int // by function: actions, and how often
	sent map[string]int            // messages by queue
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	cloud := emulator.Start(t)
	to, err := url.Parse(cloud.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{
		Transport: awsfault.New(cloud.Transport(), awsfault.Options{Probe: true}), used: map[string]map[string]int{}, sent: map[string]int{},
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Accept-Encoding")
			g.note(r.Out)
		},
		Transport: g.Transport,
	})
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

// note keeps what a request takes.
func (g *gateway) note(r *http.Request) {
	_, app, _ := strings.Cut(r.Header.Get("User-Agent"), "app/stepwell-")
	app, _, _ = strings.Cut(app, " ")
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.used[app] == nil {
		g.used[app] = map[string]int{}
	}
	for _, action := range actions(r, body) {
		g.used[app][action]++
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "AmazonSQS.SendMessage") {
		var in struct{ QueueUrl string }
		if json.Unmarshal(body, &in) == nil {
			g.sent[in.QueueUrl]++
		}
	}
}

// actions are the actions of IAM that a request is authorised by. A transaction is authorised by those it is made of.
func actions(r *http.Request, body []byte) []string {
	target, op, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service := map[string]string{"DynamoDB_20120810": "dynamodb", "AmazonSQS": "sqs", "AWSEvents": "events", "AmazonSSM": "ssm"}[target]
	switch {
	case strings.HasPrefix(r.URL.Path, "/schedules/"):
		return []string{map[string]string{
			http.MethodPost: "scheduler:CreateSchedule", http.MethodPut: "scheduler:UpdateSchedule", http.MethodDelete: "scheduler:DeleteSchedule",
		}[r.Method], "iam:PassRole"}
	case !ok:
		return []string{s3Action(r)}
	case op == "TransactGetItems":
		return []string{"dynamodb:GetItem"}
	case op != "TransactWriteItems":
		return []string{service + ":" + op}
	}
	var in struct{ TransactItems []map[string]jsontext.Value }
	if json.Unmarshal(body, &in) != nil {
		return []string{"dynamodb:unreadable"}
	}
	of := map[string]string{
		"Put": "dynamodb:PutItem", "Update": "dynamodb:UpdateItem", "Delete": "dynamodb:DeleteItem", "ConditionCheck": "dynamodb:ConditionCheckItem",
	}
	var out []string
	for _, t := range in.TransactItems {
		for kind := range t {
			out = append(out, of[kind])
		}
	}
	return out
}

func s3Action(r *http.Request) string {
	switch {
	case r.URL.Query().Has("delete"), r.Method == http.MethodDelete:
		return "s3:DeleteObject"
	case r.URL.Query().Has("list-type"):
		return "s3:ListBucket"
	case r.Method == http.MethodPut:
		return "s3:PutObject"
	}
	return "s3:GetObject"
}

// usedBy returns the actions that a function took, sorted.
func (g *gateway) usedBy(function string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.used[function]))
}

// messages returns how many messages were sent to a queue so far.
func (g *gateway) messages(queue string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent[queue]
}
