package lambdahttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pace is how long an answer of the issuer is given again. A token that names an unknown key makes the verifier look for new ones, and anyone can
	// send such tokens: without this each would cost the issuer a request.
	pace = 10 * time.Second
	// maxDocument is how much of an answer is read.
	maxDocument = 1 << 20
)

// A pacer asks an issuer for its documents, and for none of them too often.
type pacer struct {
	next     http.RoundTripper
	now      func() time.Time
	failures atomic.Int64 // how often there was no answer that can be used

	mu   sync.Mutex
	last map[string]document // by URL
}

type document struct {
	at     time.Time
	header http.Header
	data   []byte
}

func newPacer(next http.RoundTripper, now func() time.Time) *pacer {
	if next == nil {
		next = http.DefaultTransport
	}
	return &pacer{next: next, now: now, last: map[string]document{}}
}

// RoundTrip answers from memory what was asked just now.
func (p *pacer) RoundTrip(r *http.Request) (*http.Response, error) {
	name := r.URL.String()
	p.mu.Lock()
	d, ok := p.last[name]
	p.mu.Unlock()
	if ok && p.now().Sub(d.at) < pace {
		return d.response(r), nil
	}
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		p.failures.Add(1)
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		p.failures.Add(1)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxDocument), resp.Body}
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = fmt.Errorf("%s has more than %d bytes", name, maxDocument)
	}
	if err != nil {
		p.failures.Add(1)
		return nil, err
	}
	d = document{at: p.now(), header: resp.Header, data: data}
	p.mu.Lock()
	p.last[name] = d
	p.mu.Unlock()
	return d.response(r), nil
}

func (d document) response(r *http.Request) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: d.header.Clone(), Body: io.NopCloser(bytes.NewReader(d.data)), ContentLength: int64(len(d.data)), Request: r,
	}
}
