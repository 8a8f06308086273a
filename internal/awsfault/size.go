package awsfault

import "strings"

// An item is a DynamoDB item as it is sent.
type item map[string]value

// A value is a DynamoDB value as it is sent: one of the fields is set.
type value struct {
	S    *string          `json:"S,omitzero"`
	N    *string          `json:"N,omitzero"`
	B    []byte           `json:"B,omitzero"`
	BOOL *bool            `json:"BOOL,omitzero"`
	NULL *bool            `json:"NULL,omitzero"`
	L    []value          `json:"L,omitzero"`
	M    map[string]value `json:"M,omitzero"`
	SS   []string         `json:"SS,omitzero"`
	NS   []string         `json:"NS,omitzero"`
	BS   [][]byte         `json:"BS,omitzero"`
}

// size is how many bytes DynamoDB counts for i: the names and values of its attributes.
func (i item) size() int {
	n := 0
	for name, v := range i {
		n += len(name) + v.size()
	}
	return n
}

func (v value) size() int {
	n := 0
	switch {
	case v.S != nil:
		n = len(*v.S)
	case v.N != nil:
		n = numberSize(*v.N)
	case v.BOOL != nil, v.NULL != nil:
		n = 1
	case v.L != nil:
		n = 3
		for _, e := range v.L {
			n += 1 + e.size()
		}
	case v.M != nil:
		n = 3
		for name, e := range v.M {
			n += 1 + len(name) + e.size()
		}
	default:
		n = len(v.B)
		for _, s := range v.SS {
			n += len(s)
		}
		for _, s := range v.NS {
			n += numberSize(s)
		}
		for _, b := range v.BS {
			n += len(b)
		}
	}
	return n
}

// numberSize is a byte for two significant digits, one more, and one for a minus.
func numberSize(s string) int {
	n := 1
	if strings.HasPrefix(s, "-") {
		n++
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(s, "+-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + strings.TrimRight(fraction, "0")
	if strings.TrimRight(fraction, "0") == "" {
		digits = strings.TrimRight(whole, "0")
	}
	return min(n+(len(strings.TrimLeft(digits, "0"))+1)/2, 21)
}

// units is how many units of a size are paid for bytes; nothing is free.
func units(bytes, unit int) float64 {
	return float64(max(1, (bytes+unit-1)/unit))
}
