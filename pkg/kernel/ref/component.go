package ref

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkComponent holds the rules of one slash-separated part, which are those of git.
func checkComponent(s string) error {
	switch {
	case s == "":
		return errors.New("a component is empty")
	case s == "@":
		return errors.New(`a component is "@"`)
	case strings.HasPrefix(s, "."):
		return errors.New("a component starts with a dot")
	case strings.HasSuffix(s, "."):
		return errors.New("a component ends with a dot")
	case strings.HasSuffix(s, ".lock"):
		return errors.New(`a component ends with ".lock"`)
	case strings.Contains(s, ".."):
		return errors.New(`it contains ".."`)
	case strings.Contains(s, "@{"):
		return errors.New(`it contains "@{"`)
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) {
			return fmt.Errorf("it contains %q", r)
		}
	}
	return nil
}

const upperHex = "0123456789ABCDEF"

// Escape encodes s as one component: letters, digits, "-" and "_" stay, every other byte becomes %XX, and the empty string
// becomes "%_". It is injective.
func Escape(s string) string {
	if s == "" {
		return "%_"
	}
	plain := true
	for i := range len(s) {
		if !literal(s[i]) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if literal(c) {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
	}
	return b.String()
}

// Unescape inverts [Escape]. What Escape never returns is an error, the empty string included, so that two names cannot
// stand for one value.
func Unescape(s string) (string, error) {
	switch s {
	case "":
		return "", fmt.Errorf("%w: a component is empty", ErrBadName)
	case "%_":
		return "", nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' {
			if !literal(c) {
				return "", fmt.Errorf("%w: component %q is not encoded", ErrBadName, s)
			}
			b.WriteByte(c)
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%w: component %q ends inside an escape", ErrBadName, s)
		}
		hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
		if hi < 0 || lo < 0 || literal(byte(hi<<4|lo)) {
			return "", fmt.Errorf("%w: component %q has a bad escape", ErrBadName, s)
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	return b.String(), nil
}

func literal(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
