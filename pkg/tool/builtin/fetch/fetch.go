package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// The defaults of [Options].
const (
	DefaultMaxBytes     = 256 << 10
	DefaultTimeout      = 30 * time.Second
	DefaultMaxRedirects = 5
)

const parameters = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["url"],
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 8192, "description": "An absolute http or https URL."}
  }
}`

// A Resolver finds the addresses of a host; [net.Resolver] is one. Network is "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A DialFunc connects to an address whose host is an IP address, as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Options say what may be fetched and how much of it.
type Options struct {
	// Allow lists the hosts that may be asked, redirects included: "example.com" is that host alone, "*.example.com" every
	// host below it, "*" every host. It must not be empty.
	Allow []string
	// Ports lists ports that may be asked beside 80 and 443.
	Ports []uint16
	// MaxBytes is how much of a body is given to the model, [DefaultMaxBytes] when 0.
	MaxBytes int64
	// Timeout bounds a whole call, redirects and body included, [DefaultTimeout] when 0.
	Timeout time.Duration
	// MaxRedirects is how many redirects are followed, [DefaultMaxRedirects] when 0, none when negative.
	MaxRedirects int
	// Resolver resolves hosts, [net.DefaultResolver] when nil.
	Resolver Resolver
	// Dial connects to a checked address, a [net.Dialer] when nil.
	Dial DialFunc
	// AllowLoopback permits 127.0.0.0/8 and ::1. It is for tests and development only: on a server it opens whatever
	// trusts its own machine.
	AllowLoopback bool
}

// New returns the tool "fetch". It only reads, so its replay policy is safe. The error names the option that is wrong.
func New(o Options) (tool.Tool, error) {
	hosts, err := parseAllow(o.Allow)
	if err != nil {
		return tool.Tool{}, err
	}
	switch {
	case o.MaxBytes < 0:
		return tool.Tool{}, fmt.Errorf("fetch: maxBytes is %d; use 0 for the default", o.MaxBytes)
	case o.Timeout < 0:
		return tool.Tool{}, fmt.Errorf("fetch: timeout is %v; use 0 for the default", o.Timeout)
	}
	o = o.withDefaults()
	f := &fetcher{
		options: o,
		gate:    gate{hosts: hosts, ports: o.Ports},
	}
	f.client = f.newClient(guard{resolver: o.Resolver, dial: o.Dial, allowLoopback: o.AllowLoopback})
	return tool.Tool{
		Name: "fetch",
		Description: "Fetch a text resource from the web by HTTP GET and return its body. " +
			"Only hosts that the operator allows can be reached.",
		Parameters: jsontext.Value(parameters),
		Replay:     tool.ReplaySafe,
		Execute:    f.execute,
	}, nil
}

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxRedirects == 0 {
		o.MaxRedirects = DefaultMaxRedirects
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	return o
}

type fetcher struct {
	options Options
	gate    gate
	client  *http.Client
}

func (f *fetcher) newClient(g guard) *http.Client {
	const maxHeader = 64 << 10
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            g.dialContext,
			DisableKeepAlives:      true, // a kept connection would skip the check of the next call's addresses
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > f.options.MaxRedirects {
				return refusedf("more than %d redirects", max(f.options.MaxRedirects, 0))
			}
			return f.gate.check(req.URL)
		},
	}
}

func (f *fetcher) execute(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	in, err := tool.Decode[struct {
		URL string `json:"url"`
	}](call.Arguments)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	target, err := url.Parse(in.URL)
	if err != nil {
		return tool.Errorf("arguments.url is not a URL: %v", errors.Unwrap(err)), nil
	}
	if err := f.gate.check(target); err != nil {
		return tool.Errorf("%v", err), nil
	}
	call.Progress(tool.Progress{Text: "Fetching " + target.Redacted()})
	done, err := f.get(ctx, target)
	if err == nil {
		return done, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("fetching %s: %w", target.Redacted(), context.Cause(ctx))
	}
	return failure(target, f.options.Timeout, err), nil
}

func (f *fetcher) get(ctx context.Context, target *url.URL) (tool.Done, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return tool.Done{}, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("User-Agent", "stepwell-fetch")
	req.Header.Set("Accept", "text/*, application/json;q=0.9, application/xml;q=0.8, */*;q=0.1")
	resp, err := f.client.Do(req)
	if err != nil {
		return tool.Done{}, err // the *url.Error says what was being fetched
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	return f.result(resp)
}

// failure says why nothing was fetched. The text is for a model, so it holds the reason and no address of ours.
func failure(target *url.URL, timeout time.Duration, err error) tool.Done {
	if r, ok := errors.AsType[*refusal](err); ok {
		return tool.Errorf("%v", r)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return tool.Errorf("%s gave no complete answer within %v", target.Redacted(), timeout)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return tool.Errorf("%s cannot be fetched: %v", target.Redacted(), err)
}
