package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// The provider's name in a catalog unless Options say otherwise, the protocol its messages carry, and the server it
// talks to unless told otherwise.
const (
	ProviderName   = "openai"
	API            = "openai-completions"
	DefaultBaseURL = "https://api.openai.com/v1"
)

const defaultStallTimeout = 60 * time.Second

// Options configure a client.
type Options struct {
	// Name is the provider's name in a catalog, [ProviderName] by default.
	Name string
	// BaseURL is the address before /chat/completions, [DefaultBaseURL] by default. OPENAI_BASE_URL usually holds it.
	BaseURL string
	// APIKey is sent as a bearer token unless empty; local servers need none. OPENAI_API_KEY usually holds it. It never
	// appears in a message.
	APIKey string
	// Models is what the client offers, the preferred model first. Provider and API are filled in. At least one.
	Models []llm.ModelInfo
	// HTTPClient is used for requests. It should have no overall timeout, because an answer may take long.
	HTTPClient *http.Client
	// StallTimeout is how long the server may be silent, before the response and within it; 60 s by default.
	StallTimeout time.Duration
	// Now is the clock of timestamps and of Retry-After dates, time.Now by default.
	Now func() time.Time
}

// A Client is one such server. It is safe for concurrent use.
type Client struct {
	name     string
	endpoint string
	official bool // OpenAI's own server, which refuses what copies demand
	apiKey   string
	models   []llm.ModelInfo
	http     *http.Client
	stall    time.Duration
	now      func() time.Time
}

var _ llm.Provider = (*Client)(nil)

// New returns a client. It reports the first option that cannot work; it does not contact the server.
func New(opts Options) (*Client, error) {
	base := strings.TrimRight(opts.BaseURL, "/")
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("openai: base URL %q must be like %s", opts.BaseURL, DefaultBaseURL)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("openai: base URL %q must have no query or fragment", opts.BaseURL)
	}
	if strings.ContainsFunc(opts.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("openai: the API key has a space or another character that no header can carry")
	}
	if opts.StallTimeout < 0 {
		return nil, fmt.Errorf("openai: stall timeout %v is negative", opts.StallTimeout)
	}
	c := &Client{
		name:     opts.Name,
		endpoint: base + "/chat/completions",
		official: u.Hostname() == "api.openai.com",
		apiKey:   opts.APIKey,
		models:   slices.Clone(opts.Models),
		http:     opts.HTTPClient,
		stall:    opts.StallTimeout,
		now:      opts.Now,
	}
	if c.name == "" {
		c.name = ProviderName
	}
	if c.http == nil {
		c.http = &http.Client{}
	}
	if c.stall == 0 {
		c.stall = defaultStallTimeout
	}
	if c.now == nil {
		c.now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	if len(c.models) == 0 {
		return nil, errors.New("openai: models is empty; name at least one")
	}
	for i := range c.models {
		if c.models[i].ID == "" {
			return nil, fmt.Errorf("openai: models[%d].id is empty", i)
		}
		c.models[i].Provider, c.models[i].API = c.name, API
		if c.models[i].Name == "" {
			c.models[i].Name = c.models[i].ID
		}
	}
	return c, nil
}

// Name returns the provider's name.
func (c *Client) Name() string { return c.name }

// Models returns the models of the options.
func (c *Client) Models() []llm.ModelInfo { return slices.Clone(c.models) }

// Stream asks the server for one response. A model that is not listed is asked for all the same: the server decides.
func (c *Client) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) message.Assistant {
	b := llm.NewBuilder(ctx, emit)
	b.Message = message.Assistant{
		API: API, Provider: c.name, Model: req.Model.ID, Timestamp: message.MillisOf(c.now()),
	}
	body, err := c.encode(req)
	if err != nil {
		return b.Fail(llm.Failure{Kind: llm.FailureInvalidRequest}, c.text(err.Error()))
	}
	watch, ctx := newWatchdog(ctx, c.stall)
	defer watch.stop()
	res, err := c.post(ctx, watch, body)
	if err != nil {
		return b.Fail(transportFailure(ctx, err), c.text("reaching the server: "+reason(ctx, err)))
	}
	defer func() { _ = res.Body.Close() }()
	stream := watch.reader(res.Body)
	if res.StatusCode != http.StatusOK || !isEventStream(res.Header) {
		f, text := c.refused(ctx, res, stream)
		return b.Fail(f, c.text(text))
	}
	return c.read(ctx, b, stream)
}

// text makes an error text safe to store and show: a server may repeat the key it refuses.
func (c *Client) text(s string) string {
	s = message.CleanText(s)
	if c.apiKey != "" {
		s = strings.ReplaceAll(s, c.apiKey, "[key]")
	}
	return c.name + ": " + s
}
