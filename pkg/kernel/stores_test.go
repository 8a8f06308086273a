package kernel_test

import (
	"os"
	"testing"

	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// stores runs a test over every embedded store, or over the cloud's where STEPWELL_KERNEL_STORES is "dynstore".
func stores(t *testing.T, test func(t *testing.T, open storetest.Opener)) {
	t.Helper()
	switch which := os.Getenv("STEPWELL_KERNEL_STORES"); which {
	case "":
		kerneltest.Stores(t, test)
	case "dynstore":
		t.Run(which, func(t *testing.T) { test(t, cloudtest.Open) })
	default:
		t.Fatalf("STEPWELL_KERNEL_STORES=%s: use dynstore, or leave it unset for the embedded stores", which)
	}
}
