package ijson

import (
	"math"
	"strconv"
	"strings"
)

// maxShown is how many bytes of an offending literal an error repeats.
const maxShown = 48

// checkNumber says why no double keeps the JSON number literal, or "".
func checkNumber(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) {
		return "number " + show(literal) + " is too large for a double"
	}
	want, ok := decimalOf(literal)
	if f == 0 {
		if want.digits != "" {
			return "number " + show(literal) + " is too small for a double"
		}
		return ""
	}
	got, _ := decimalOf(strconv.FormatFloat(f, 'e', -1, 64))
	if !ok || want != got {
		return "number " + show(literal) + " does not survive as a double (it becomes " +
			strconv.FormatFloat(f, 'g', -1, 64) + ")"
	}
	return ""
}

// A decimal is the value 0.digits × 10^exp without its sign, digits having no zero at either end. Equal values are equal
// structs; zero has no digits and no exponent.
type decimal struct {
	digits string
	exp    int
}

// decimalOf reads a JSON number. It reports false when the exponent does not fit an int.
func decimalOf(literal string) (decimal, bool) {
	s := strings.TrimPrefix(literal, "-")
	mantissa, exponent := s, "0"
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	point := len(whole) - (len(digits) - len(trimmed))
	trimmed = strings.TrimRight(trimmed, "0")
	if trimmed == "" {
		return decimal{}, true
	}
	exp, err := strconv.Atoi(exponent)
	if err != nil || exp > math.MaxInt/2 || exp < math.MinInt/2 {
		return decimal{digits: trimmed}, false
	}
	return decimal{digits: trimmed, exp: point + exp}, true
}

func show(literal string) string {
	if len(literal) <= maxShown {
		return literal
	}
	return literal[:maxShown] + "…"
}
