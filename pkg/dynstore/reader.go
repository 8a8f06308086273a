package dynstore

import (
	"encoding/binary"
	"unicode/utf8"
)

// A reader takes stored bytes apart. After a shortage bad is set and everything reads as zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) int() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<53 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) text() string {
	b := r.take(r.int())
	if !utf8.Valid(b) {
		r.bad = true
	}
	return string(b)
}
