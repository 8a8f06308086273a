package httpapi

import (
	"net/http"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// idempotencyKey fills in the key of the Idempotency-Key header.
func idempotencyKey(r *http.Request, key *string) error {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return nil
	}
	bad := func(detail string) error {
		return problemError{code: "malformed", detail: "Idempotency-Key " + detail, errors: []FieldError{{"Idempotency-Key", detail}}}
	}
	if len(values) > 1 {
		return bad("is given more than once")
	}
	k, ok := parseKey(strings.TrimSpace(values[0]))
	switch {
	case !ok:
		return bad(`is neither one quoted string nor one bare word; mint for example a UUID`)
	case k == "":
		return bad("is empty")
	case len(k) > api.MaxKey:
		return bad("is longer than 255 bytes")
	case *key != "" && *key != k:
		return api.Invalid("/key", "differs from the header Idempotency-Key; give one of them")
	}
	*key = k
	return nil
}

// parseKey reads a structured-field string (RFC 9651), or the bare word that many clients send.
func parseKey(s string) (string, bool) {
	if !strings.HasPrefix(s, `"`) {
		for i := range len(s) {
			if c := s[i]; c <= ' ' || c >= 0x7f || c == ',' || c == '"' || c == ';' {
				return "", false
			}
		}
		return s, true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i == len(s)-1
		case c == '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
			b.WriteByte(s[i])
		case c < ' ' || c >= 0x7f:
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// Unborn is the entity tag of a head without a tip, without its quotes.
const unborn = "unborn"

// ifMatch fills in the expectation of the If-Match header and reports whether there is one.
func ifMatch(r *http.Request, expect *api.Tip) (bool, error) {
	s := strings.TrimSpace(strings.Join(r.Header.Values("If-Match"), ","))
	if s == "" || s == "*" {
		return false, nil
	}
	tag, ok := strings.CutPrefix(s, `"`)
	if ok {
		tag, ok = strings.CutSuffix(tag, `"`)
	}
	var want api.Tip
	switch oid, err := object.ParseOID(tag); {
	case ok && tag == unborn:
		want = api.At(object.OID{})
	case ok && err == nil:
		want = api.At(oid)
	default:
		return false, problemError{
			code: "malformed", detail: `If-Match takes one entity tag: "<oid>" or "unborn"`,
			errors: []FieldError{{"If-Match", "is not one entity tag of a head"}},
		}
	}
	if expect.Given && *expect != want {
		return false, api.Invalid("/expect", "differs from the header If-Match; give one of them")
	}
	*expect = want
	return true, nil
}

// headTag is the entity tag of a head.
func headTag(tip object.OID) string {
	if tip.IsZero() {
		return `"` + unborn + `"`
	}
	return `"` + tip.String() + `"`
}

// noneMatch reports whether If-None-Match names tag, so that the client has it already. It compares weakly.
func noneMatch(r *http.Request, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == opaque {
			return true
		}
	}
	return false
}
