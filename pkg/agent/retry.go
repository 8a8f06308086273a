package agent

import (
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// The defaults of [RetryPolicy], and the longest delay of any.
const (
	DefaultRetries   = 3
	DefaultRetryBase = 2 * time.Second
	MaxRetryDelay    = time.Hour
)

// A RetryPolicy says how often, and how long after a transient failure of a provider, a response is asked for again. Retries are a
// phase of the run, so that the count and the deadline outlive the process.
type RetryPolicy struct {
	// Disabled ends a run at its first failure.
	Disabled bool
	// Max is how many consecutive retries there are. Default: [DefaultRetries].
	Max int
	// Base is the delay before the first retry; every further one doubles it, up to [MaxRetryDelay]. A provider that asks for a
	// longer delay gets it, up to the same limit. Default: [DefaultRetryBase].
	Base time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Max <= 0 {
		p.Max = DefaultRetries
	}
	if p.Base <= 0 {
		p.Base = DefaultRetryBase
	}
	return p
}

// delay returns how long to wait before retry n, counted from 1, in milliseconds.
func (p RetryPolicy) delay(n int, minimum time.Duration) object.Millis {
	d := min(p.Base, MaxRetryDelay)
	for range n - 1 {
		if d = min(2*d, MaxRetryDelay); d == MaxRetryDelay {
			break
		}
	}
	return object.Millis(max(d, min(minimum, MaxRetryDelay), time.Millisecond).Milliseconds())
}
