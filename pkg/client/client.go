package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// maxAnswer is the most bytes of an answer that is read into memory.
const maxAnswer = 256 << 20

// Options configure a [Client]. The zero value of each is its default.
type Options struct {
	// Token is sent as bearer token.
	Token string
	// HTTP makes the requests. Its Timeout must be zero, or it would cut streams. Default: a client of its own that follows no
	// redirects.
	HTTP *http.Client
	// Timeout bounds each request that is not a stream. Default: 60 s.
	Timeout time.Duration
	// Idle is how long a stream may be silent before it counts as dead. A server sends something every 15 s. Default: 45 s.
	Idle time.Duration
	// Backoff is the first pause before a stream comes back; it doubles up to MaxBackoff. Defaults: 250 ms, 10 s.
	Backoff, MaxBackoff time.Duration
}

// A Client talks to one server.
type Client struct {
	base string
	opts Options
}

var _ api.Service = (*Client)(nil)

// New returns a client of the server at base, such as http://127.0.0.1:7117. Nil options are the defaults.
func New(base string, opts *Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("server address %q: want http://host:port or https://host", base)
	}
	c := &Client{base: strings.TrimRight(u.String(), "/")}
	if opts != nil {
		c.opts = *opts
	}
	for _, d := range [...]struct {
		to *time.Duration
		v  time.Duration
	}{
		{&c.opts.Timeout, time.Minute},
		{&c.opts.Idle, 45 * time.Second},
		{&c.opts.Backoff, 250 * time.Millisecond},
		{&c.opts.MaxBackoff, 10 * time.Second},
	} {
		if *d.to == 0 {
			*d.to = d.v
		}
	}
	if c.opts.HTTP == nil {
		c.opts.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return c, nil
}

// A call is one request.
type call struct {
	method string
	path   string // after /v1
	query  url.Values
	header http.Header
	body   any // nil: none
}

// do makes the request and returns its answer; whoever gets it closes its body. A problem is an [*Error].
func (c *Client) do(ctx context.Context, q call) (*http.Response, error) {
	var body io.Reader
	if q.body != nil {
		data, err := api.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("encoding the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	address := c.base + "/v1" + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.method, address, body)
	if err != nil {
		return nil, err
	}
	if q.header != nil {
		r.Header = q.header
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	resp, err := c.opts.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close() //nolint:errcheck // nothing more is wanted of it
		return nil, readProblem(resp)
	}
	return resp, nil
}

// bytes makes the request within the timeout and returns the whole answer.
func (c *Client) bytes(ctx context.Context, q call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	resp, err := c.do(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("reading the answer: it has more than %d bytes", maxAnswer)
	}
	return data, nil
}

// ask validates opts, makes the request and decodes its answer.
func ask[T any](ctx context.Context, c *Client, opts interface{ Validate() error }, q call) (T, error) {
	var out, none T
	if opts != nil {
		if err := opts.Validate(); err != nil {
			return none, err
		}
	}
	data, err := c.bytes(ctx, q)
	if err != nil {
		return none, err
	}
	if err := api.Unmarshal(data, &out); err != nil {
		return none, fmt.Errorf("the server's answer to %s %s: %w", q.method, q.path, err)
	}
	return out, nil
}

// items is [ask] for a list.
func items[T any](ctx context.Context, c *Client, opts interface{ Validate() error }, q call) ([]T, error) {
	out, err := ask[struct {
		Items []T `json:"items"`
	}](ctx, c, opts, q)
	return out.Items, err
}

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

func post(path string, body any) call { return call{method: http.MethodPost, path: path, body: body} }

func session(id api.SessionID, rest ...string) string {
	var b strings.Builder
	b.WriteString("/sessions/" + url.PathEscape(string(id)))
	for _, part := range rest {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// params returns the query of pairs of names and values without those that have no value.
func params(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}
