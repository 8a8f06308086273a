package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds the delay a server can ask for, so that a wrong header does not park a run for years.
const maxRetryAfter = time.Hour

// retryAfter returns the delay a response asks for in milliseconds, or 0 when it asks for none that makes sense.
func retryAfter(h http.Header, now time.Time) int64 {
	if ms, ok := delay(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return ms
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if ms, ok := delay(value, time.Second); ok {
		return ms
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return clamp(at.Sub(now))
}

// delay reads a number of units. Only plain decimal numbers are numbers here: no sign, exponent, Inf or NaN.
func delay(value string, unit time.Duration) (int64, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil && n == 0 {
		return 0, false
	}
	if n >= float64(maxRetryAfter/unit) {
		return maxRetryAfter.Milliseconds(), true
	}
	return clamp(time.Duration(n * float64(unit))), true
}

func clamp(d time.Duration) int64 {
	// Rounded up: a retry a fraction too early is refused again.
	return (min(max(d, 0), maxRetryAfter) + time.Millisecond - 1).Milliseconds()
}
