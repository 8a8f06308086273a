package fetch

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
)

// details is what clients get beside the text.
type details struct {
	URL         string `json:"url"` // after redirects
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitzero"`
	Bytes       int    `json:"bytes"` // of the body, as given to the model
	Cut         bool   `json:"cut,omitzero"`
}

// result turns a response into the call's result. A status of 400 or more is an error result that still shows the body,
// since it often says what to do.
func (f *fetcher) result(resp *http.Response) (tool.Done, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, f.options.MaxBytes+1))
	if err != nil {
		return tool.Done{}, fmt.Errorf("reading the body: %w", err)
	}
	declared := resp.Header.Get("Content-Type")
	if declared == "" {
		declared = http.DetectContentType(body)
	}
	where := resp.Request.URL.Redacted()
	if len(body) > 0 && !isText(declared) {
		return tool.Errorf("%s is %s, which is not text", where, message.CleanText(declared)), nil
	}
	kept, cut := cutText(body, f.options.MaxBytes)
	text := fmt.Sprintf("HTTP %s, %s, %s", strings.TrimSpace(resp.Status), declared, where)
	if len(kept) == 0 {
		text += ", without a body"
	} else {
		text += "\n\n" + message.CleanText(string(kept))
	}
	if cut {
		text += fmt.Sprintf("\n\n[cut after %d bytes; the body is longer]", len(kept))
	}
	done := tool.Text(text)
	done.IsError = resp.StatusCode >= http.StatusBadRequest
	done.Title = message.CleanText(where)
	done.Details, err = json.Marshal(details{
		URL: done.Title, Status: resp.StatusCode, ContentType: message.CleanText(declared), Bytes: len(kept), Cut: cut,
	})
	if err != nil {
		return tool.Done{}, fmt.Errorf("writing the details: %w", err)
	}
	return done, nil
}

// cutText returns at most limit bytes of body, and whether that is less than all. It cuts between code points, so that no
// half of a character becomes a U+FFFD that nobody sent.
func cutText(body []byte, limit int64) ([]byte, bool) {
	if int64(len(body)) <= limit {
		return body, false
	}
	end := int(limit)
	for end > 0 && int(limit)-end < utf8.UTFMax-1 && !utf8.RuneStart(body[end]) {
		end--
	}
	if !utf8.RuneStart(body[end]) {
		end = int(limit) // not UTF-8 at all
	}
	return body[:end], true
}

// isText reports whether a content type is one that a model can read.
func isText(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
		kind = strings.TrimSpace(kind)
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/yaml",
		"application/x-yaml", "application/toml", "application/graphql", "application/sql", "application/x-ndjson",
		"application/jsonl", "application/x-www-form-urlencoded", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+yaml")
}
