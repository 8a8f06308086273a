package setting

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
)

// The bounds of a lease. A shorter one would be lost to a slow request, a longer one keeps people waiting.
const (
	minTTL = time.Second
	maxTTL = 10 * time.Minute
)

// ParseTTL returns how long a lease lasts.
func ParseTTL(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < minTTL || d > maxTTL {
		return 0, fmt.Errorf("is %q; want a duration from %v to %v, such as %v", s, minTTL, maxTTL, kernel.DefaultTTL)
	}
	return d, nil
}

// ParseLevel returns the least level that is logged.
func ParseLevel(s string) (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s)); err != nil {
		return 0, fmt.Errorf("is %q; want debug, info, warn or error", s)
	}
	return level, nil
}
