package client_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

var errNetwork = errors.New("the network is down")

// A transport is a network of one process, so that time can be played. Its functions, when set, can break it.
type transport struct {
	handler http.Handler
	// before can fail a request before it arrives, after one whose answer is ready.
	before, after func(*http.Request) error
	// cut ends an answer's body after so many bytes; negative: never.
	cut func(*http.Request) int
}

func (n *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.before != nil {
		if err := n.before(r); err != nil {
			return nil, err
		}
	}
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: pw, left: -1, ready: make(chan struct{})}
	if n.cut != nil {
		w.left = n.cut(r)
	}
	go func() {
		n.handler.ServeHTTP(w, in)
		w.WriteHeader(http.StatusOK)
		_ = pw.Close() // cannot fail
	}()
	select {
	case <-w.ready:
	case <-r.Context().Done():
		_ = pr.Close() // cannot fail
		return nil, r.Context().Err()
	}
	if n.after != nil {
		if err := n.after(r); err != nil {
			_ = pr.Close() // cannot fail
			return nil, err
		}
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: &body{pr, r}, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// A body ends with its request, as the real one does.
type body struct {
	*io.PipeReader
	r *http.Request
}

func (b *body) Read(p []byte) (int, error) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-b.r.Context().Done():
			_ = b.CloseWithError(b.r.Context().Err()) // cannot fail
		case <-stop:
		}
	}()
	return b.PipeReader.Read(p)
}

type pipeWriter struct {
	header http.Header
	status int
	pipe   *io.PipeWriter
	left   int
	once   sync.Once
	ready  chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }
func (w *pipeWriter) Flush()              {}

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		w.header = w.header.Clone()
		close(w.ready)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.left < 0 {
		return w.pipe.Write(p)
	}
	n, err := w.pipe.Write(p[:min(w.left, len(p))])
	w.left -= n
	if err == nil && n < len(p) {
		err = errNetwork
		_ = w.pipe.CloseWithError(err) // cannot fail
	}
	return n, err
}

// connect returns a client of a server that serves svc.
func connect(t *testing.T, svc api.Service, n *transport, opts *client.Options) *client.Client {
	t.Helper()
	if n == nil {
		n = &transport{}
	}
	if n.handler == nil {
		n.handler = httpapi.New(svc, nil)
	}
	var o client.Options
	if opts != nil {
		o = *opts
	}
	o.HTTP = &http.Client{Transport: n}
	c, err := client.New("http://stepwell.test", &o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
