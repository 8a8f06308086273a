package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

// obeying serves h and fails the test for every request that h accepts and every answer it gives that openapi.json does not
// describe. All requests of this package's tests go through it.
func obeying(t *testing.T, h http.Handler) http.Handler {
	t.Helper()
	c := document(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading the body of %s %s: %v", r.Method, r.URL, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		asked := r.Clone(r.Context())
		copied := &copier{ResponseWriter: w}
		h.ServeHTTP(copied, r)
		asked.Body = io.NopCloser(bytes.NewReader(body))
		answer := &http.Response{StatusCode: copied.status, Header: w.Header(), Request: asked}
		for _, v := range c.violations(asked, answer, copied.body.Bytes()) {
			t.Errorf("%s %s: %d: %s", r.Method, r.URL, copied.status, v)
		}
	})
}

// A copier keeps what is written through it.
type copier struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (w *copier) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *copier) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.body.Write(p[:n])
	return n, err
}

func (w *copier) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// violations says how a request that was accepted, or its answer, is not what the document says.
func (c *contract) violations(r *http.Request, answer *http.Response, body []byte) []string {
	var found []string
	problem := answer.Header.Get("Content-Type") == "application/problem+json"
	switch {
	case answer.StatusCode == 0:
		return nil // the client left before there was an answer
	case r.Method == http.MethodOptions && answer.StatusCode == http.StatusNoContent:
		return nil // a preflight belongs to no operation
	case !problem && answer.StatusCode >= 400:
		return []string{"the answer is not a problem"}
	case problem:
		found = append(found, c.problemViolations(answer.StatusCode, body)...)
	}
	op := c.operation(r)
	if op == nil {
		if !bytes.Contains(body, []byte(`"code":"not-found"`)) && !bytes.Contains(body, []byte(`"code":"method-not-allowed"`)) {
			found = append(found, "there is no such operation")
		}
		return found
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer.StatusCode < 400 {
		if ok, errs := c.validator.ValidateHttpRequestSync(r); !ok {
			found = append(found, "the request was accepted and is not described:\n"+reasons(errs))
		}
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if ok, errs := c.validator.GetResponseBodyValidator().ValidateResponseBody(r, answer); !ok {
		found = append(found, "the answer is not described:\n"+string(body[:min(len(body), 2000)])+"\n"+reasons(errs))
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		found = append(found, c.streamViolations(string(body))...)
	}
	return found
}

// problemViolations holds the status to the code, also in answers that belong to no operation.
func (c *contract) problemViolations(status int, body []byte) []string {
	var p httpapi.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		return []string{err.Error()}
	}
	var found []string
	if want, ok := httpapi.ProblemStatus(p.Code); !ok || want != status {
		found = append(found, "the status does not belong to the code "+p.Code)
	}
	if why := c.mismatch("Problem", body); why != "" {
		found = append(found, why)
	}
	return found
}

// streamViolations holds every event of a stream to its schema, its name to its kind and its id to its seq.
func (c *contract) streamViolations(stream string) []string {
	schema := c.model.Components.Schemas.GetOrZero("StreamEvent").Schema()
	var found []string
	for frame := range strings.SplitSeq(stream, "\n\n") {
		var id, name, data string
		for line := range strings.SplitSeq(frame, "\n") {
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "id":
				id = value
			case "event":
				name = value
			case "data":
				data = value
			case "", "retry": // the former is a comment
			default:
				found = append(found, "the stream has the line "+strconv.Quote(line))
			}
		}
		if data == "" || strings.Contains(data, unheardOf) {
			continue
		}
		var event struct {
			Seq  int64  `json:"seq"`
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			found = append(found, data+": "+err.Error())
			continue
		}
		if name != "" && name != event.Kind || id != "" && id != strconv.FormatInt(event.Seq, 10) {
			found = append(found, "event "+name+" with id "+id+" is "+data)
		}
		if why := c.against(schema, []byte(data)); why != "" {
			found = append(found, "the event "+data+" is not described:\n"+why)
		}
	}
	return found
}

// unheardOf is in the data of an event that stands for one of a later version.
const unheardOf = `"kind":"a\nb"`
