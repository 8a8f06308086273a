package httpapi

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// readBody decodes the request's JSON into v. An empty body is an empty object.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.opts.BodyLimit))
	if err != nil {
		return err
	}
	if len(data) == 0 {
		data = []byte(`{}`)
	} else if err := checkType(r); err != nil {
		return err
	}
	if err := api.UnmarshalStrict(cleanContent(data), v); err != nil {
		return unreadable(err)
	}
	return nil
}

func checkType(r *http.Request) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problemError{code: "unsupported-media-type", detail: "send Content-Type: application/json, in UTF-8"}
	}
	return nil
}

// cleanContent replaces what is not Unicode in the member content of a body by U+FFFD: a bad byte costs a character and
// never the message. Everywhere else it stays, and is refused by whoever reads the body.
func cleanContent(body []byte) []byte {
	if utf8.Valid(body) && !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return body
	}
	lenient := []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}
	dec := jsontext.NewDecoder(bytes.NewReader(body), lenient...)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return body
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return body
		}
		if name.String() != "content" {
			if dec.SkipValue() != nil {
				return body
			}
			continue
		}
		dec.PeekKind() // moves past the colon and white space
		raw, err := dec.ReadValue()
		if err != nil {
			return body
		}
		end := dec.InputOffset()
		start := end - int64(len(raw))
		clean, err := unicodeOnly(raw)
		if err != nil {
			return body
		}
		return bytes.Join([][]byte{body[:start], clean, body[end:]}, nil)
	}
	return body
}

// unicodeOnly writes raw again with U+FFFD for what is not Unicode.
func unicodeOnly(raw jsontext.Value) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := dec.ReadToken()
		if err == io.EOF { //nolint:errorlint // the decoder returns it bare
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if tok.Kind() == '"' {
			tok = jsontext.String(tok.String())
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
	}
}

// sessionOf fills in the session of the path; a body that names another is a mistake.
func sessionOf(r *http.Request, id *api.SessionID) error {
	return fromPath(id, api.SessionID(r.PathValue("id")), "/sessionId")
}

// fromPath fills in an option of the path; a body that says otherwise is a mistake.
func fromPath[T comparable](option *T, path T, field string) error {
	var none T
	if *option != none && *option != path {
		return api.Invalid(field, "differs from the path; leave it out")
	}
	*option = path
	return nil
}

func pathOID(r *http.Request, name string) (object.OID, error) {
	oid, err := object.ParseOID(r.PathValue(name))
	if err != nil {
		return object.OID{}, api.Invalid("/"+name, "%v", err)
	}
	return oid, nil
}

// A query reads query parameters. An unknown or repeated one is an error, so that a typo is not taken for a default.
type query struct {
	values map[string][]string
	err    error
}

func newQuery(r *http.Request, known ...string) *query {
	q := &query{}
	values := r.URL.Query()
	q.values = values
	for name, v := range values {
		ok := false
		for _, k := range known {
			ok = ok || k == name
		}
		switch {
		case !ok:
			q.fail(name, "is not a known parameter; known are: "+strings.Join(known, ", "))
		case len(v) > 1:
			q.fail(name, "is given more than once")
		}
	}
	return q
}

func (q *query) fail(name, detail string) {
	if q.err == nil {
		q.err = &api.ValidationError{Field: "/" + name, Detail: detail}
	}
}

func (q *query) text(name string) string {
	if v := q.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (q *query) integer(name string) (n int64, given bool) {
	s := q.text(name)
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 53)
	if err != nil {
		q.fail(name, strconv.Quote(s)+" is not an integer")
	}
	return n, true
}

func (q *query) limit() int {
	n, _ := q.integer("limit")
	if n < 0 || n > api.MaxPage {
		q.fail("limit", "use 1 to "+strconv.Itoa(api.MaxPage))
	}
	return int(n)
}

func (q *query) boolean(name string, missing bool) bool {
	switch s := q.text(name); s {
	case "":
		return missing
	case "true", "1":
		return true
	case "false", "0":
		return false
	default:
		q.fail(name, strconv.Quote(s)+" is not true or false")
		return missing
	}
}

func (q *query) oid(name string) object.OID {
	s := q.text(name)
	if s == "" {
		return object.OID{}
	}
	oid, err := object.ParseOID(s)
	if err != nil {
		q.fail(name, err.Error())
	}
	return oid
}

// headQuery reads the options of a route that takes only a session and ?head.
func headQuery(r *http.Request) (api.HeadOptions, error) {
	q := newQuery(r, "head")
	return api.HeadOptions{SessionID: api.SessionID(r.PathValue("id")), Head: q.text("head")}, q.err
}
