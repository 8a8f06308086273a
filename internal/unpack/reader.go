// Package unpack takes apart the bytes that stores pack: counts as unsigned varints, texts behind their length.
package unpack

import (
	"encoding/binary"
	"unicode/utf8"
)

// maxInt is the largest count that JSON numbers hold exactly.
const maxInt = 1 << 53

// A Reader reads from the front of Rest. After a shortage Bad is set and everything reads as zero, so that a caller checks
// once, at the end.
type Reader struct {
	Rest []byte
	Bad  bool
}

// Take returns the next n bytes, not copied.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.Rest) {
		r.Bad, r.Rest = true, nil
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Byte returns the next byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Int returns the next count, at most 2^53.
func (r *Reader) Int() int {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 || v > maxInt {
		r.Bad, r.Rest = true, nil
		return 0
	}
	r.Rest = r.Rest[n:]
	return int(v)
}

// Text returns the next text. One that is not UTF-8 sets Bad.
func (r *Reader) Text() string {
	b := r.Take(r.Int())
	if !utf8.Valid(b) {
		r.Bad = true
	}
	return string(b)
}
