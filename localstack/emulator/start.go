package emulator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// A TB is the part of testing.TB that this package needs.
type TB interface {
	Helper()
	Context() context.Context
	Name() string
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// errNotInstalled is wrapped by errors that say why there is no emulator on this machine.
var errNotInstalled = errors.New("the emulator cannot be installed")

// shared is the one emulator of this process, or why there is none.
//
//nolint:gochecknoglobals // one emulator serves all tests of a binary, and nothing else reaches all of them
var shared = sync.OnceValues(launch)

// Start returns the cloud of this test binary, which it starts if it is the first to ask. It skips the test where there can
// be none, see the package comment.
func Start(tb TB) Endpoint {
	tb.Helper()
	if os.Getenv("STEPWELL_CLOUD_TESTS") == "off" {
		tb.Skipf("no cloud tests: STEPWELL_CLOUD_TESTS=off")
	}
	if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" {
		e, err := external(tb.Context(), strings.TrimSuffix(url, "/"))
		if err != nil {
			tb.Fatalf("AWS_ENDPOINT_URL=%s: %v", url, err)
		}
		return e
	}
	e, err := shared()
	if errors.Is(err, errNotInstalled) && os.Getenv("CI") != "true" {
		tb.Skipf("no cloud tests: %v (install it, or set AWS_ENDPOINT_URL)", err)
	}
	if err != nil {
		tb.Fatalf("starting the emulator: %v", err)
	}
	return e
}

// Name returns a name for a table or bucket that no other test has, nor this one in another run.
func Name(tb TB) string {
	tb.Helper()
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, tb.Name())
	// A bucket's name has at most 63 characters.
	return fmt.Sprintf("%.34s-%s", name, strings.ToLower(rand.Text()))
}
