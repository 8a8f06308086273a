package openai

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// textOf returns the text of a JSON string without loss: half of a surrogate pair, or of the bytes of a character, stays
// what it is instead of becoming U+FFFD, because its other half may come with the next fragment. A surrogate is encoded
// in three bytes as if it were a character. Of a list of parts it is their texts. Anything else is no text.
func textOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return string(unquote(v[1 : len(v)-1]))
	case '[':
		var parts []struct {
			Text jsontext.Value `json:"text"`
		}
		if err := json.Unmarshal(v, &parts, lenient()); err != nil {
			return ""
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(textOf(p.Text))
		}
		return b.String()
	}
	return ""
}

// unquote returns the bytes that s, the valid inside of a JSON string, stands for.
func unquote(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			unit := hex4(s[i+1:])
			i += 4
			if low := lowSurrogate(s[i+1:]); unit>>10 == 0xD800>>10 && low != 0 {
				unit = 0x10000 + (unit-0xD800)<<10 + (low - 0xDC00)
				i += 6
			}
			out = appendUnit(out, unit)
		default:
			out = append(out, s[i])
		}
	}
	return out
}

// lowSurrogate returns the low surrogate whose escape s starts with, or 0.
func lowSurrogate(s []byte) rune {
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if unit := hex4(s[2:]); unit>>10 == 0xDC00>>10 {
			return unit
		}
	}
	return 0
}

func hex4(s []byte) rune {
	n, err := strconv.ParseUint(string(s[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// appendUnit is utf8.AppendRune that also encodes surrogates.
func appendUnit(b []byte, r rune) []byte {
	if r >= 0xD800 && r <= 0xDFFF {
		return append(b, 0xED, byte(0x80|r>>6&0x3F), byte(0x80|r&0x3F))
	}
	return utf8.AppendRune(b, r)
}
