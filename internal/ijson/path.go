package ijson

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxPath is how many bytes of a path are shown; a deeper path keeps its two ends.
const maxPath = 240

// path writes p, which leads to where dec stands, as $.name[index]. A JSON pointer alone does not tell an index from a
// name made of digits, so the kinds come from dec's stack.
func path(dec *jsontext.Decoder, p jsontext.Pointer) string {
	var b strings.Builder
	b.WriteByte('$')
	level := 1
	for token := range p.Tokens() {
		kind := jsontext.Kind('{')
		if level <= dec.StackDepth() {
			kind, _ = dec.StackIndex(level)
		}
		switch {
		case kind == '[':
			b.WriteString("[" + token + "]")
		case plainName(token):
			b.WriteString("." + token)
		default:
			b.WriteString("[" + strconv.Quote(token) + "]")
		}
		level++
	}
	return shorten(b.String())
}

func shorten(s string) string {
	if len(s) <= maxPath {
		return s
	}
	head, tail := maxPath/2, len(s)-maxPath/2
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "…" + s[tail:]
}

func plainName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
