package unpack_test

import (
	"encoding/binary"
	"testing"

	"github.com/stepwell-dev/stepwell/internal/unpack"
)

func TestReaderTakesRowsApart(t *testing.T) {
	row := append(binary.AppendUvarint([]byte{7}, 300), 3, 'a', 'b', 'c', 'x')
	r := &unpack.Reader{Rest: row}
	if b, n, s := r.Byte(), r.Int(), r.Text(); b != 7 || n != 300 || s != "abc" || r.Bad || string(r.Rest) != "x" {
		t.Errorf("read %d, %d, %q, bad %v, rest %q", b, n, s, r.Bad, r.Rest)
	}
}

func TestReaderIsBadAfterAShortage(t *testing.T) {
	for name, row := range map[string][]byte{
		"nothing":             {},
		"a short text":        {5, 'a'},
		"not UTF-8":           {1, 0xff},
		"an unfinished count": {0x80},
		"too large a count":   binary.AppendUvarint(nil, 1<<53+1),
	} {
		r := &unpack.Reader{Rest: row}
		if s := r.Text(); !r.Bad {
			t.Errorf("%s: read %q, not bad", name, s)
		}
		if r.Take(-1); !r.Bad || r.Byte() != 0 || r.Int() != 0 {
			t.Errorf("%s: something was read after the shortage", name)
		}
	}
}
