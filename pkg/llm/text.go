package llm

import (
	"unicode/utf8"

	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A textBuffer joins fragments of one text whose borders may lie inside a character: inside the bytes of one, or between
// the two surrogates of one, where a whole surrogate is encoded in three bytes as if it were a character.
type textBuffer struct {
	held []byte // the start of a character whose rest is still to come
}

// next returns the clean text that is complete after fragment s.
func (t *textBuffer) next(s string) string {
	if len(t.held) == 0 && utf8.ValidString(s) {
		return s
	}
	pending := joinSurrogates(append(t.held, s...))
	n := completePrefix(pending)
	ready := message.CleanText(string(pending[:n]))
	t.held = append([]byte(nil), pending[n:]...)
	return ready
}

// rest returns the clean text of what is still held; no more fragments come.
func (t *textBuffer) rest() string {
	ready := message.CleanText(string(t.held))
	t.held = nil
	return ready
}

// completePrefix returns how much of b does not depend on what comes next.
func completePrefix(b []byte) int {
	n := len(b)
	if n >= 3 && isSurrogate(b[n-3:], 0xA0) {
		return n - 3
	}
	for i := n - 1; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return n
}

// joinSurrogates replaces each pair of encoded surrogates in b by the character they stand for.
func joinSurrogates(b []byte) []byte {
	for i := 0; i+6 <= len(b); i++ {
		if isSurrogate(b[i:], 0xA0) && isSurrogate(b[i+3:], 0xB0) {
			high := rune(b[i+1]&0x0F)<<6 | rune(b[i+2]&0x3F)
			low := rune(b[i+4]&0x0F)<<6 | rune(b[i+5]&0x3F)
			joined := utf8.AppendRune(nil, 0x10000+high<<10|low)
			b = append(b[:i], append(joined, b[i+6:]...)...)
		}
	}
	return b
}

// isSurrogate reports whether b starts with an encoded surrogate: a high one for half 0xA0, a low one for 0xB0.
func isSurrogate(b []byte, half byte) bool {
	return b[0] == 0xED && b[1]&0xF0 == half && b[2]&0xC0 == 0x80
}
