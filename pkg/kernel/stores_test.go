package kernel_test

import (
	"os"
	"testing"

	"github.com/stepwell-dev/stepwell/localstack/cloudtest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// stores runs a test over every embedded store, or over the cloud's where STEPWELL_KERNEL_STORES is "dynstore", and there under faults where
// it is "dynstore-faults".
func stores(t *testing.T, test func(t *testing.T, open storetest.Opener)) {
	t.Helper()
	switch which := os.Getenv("STEPWELL_KERNEL_STORES"); which {
	case "":
		kerneltest.Stores(t, test)
	case "dynstore":
		t.Run(which, func(t *testing.T) { test(t, cloudtest.Open) })
	case "dynstore-faults":
		t.Run(which, func(t *testing.T) { test(t, cloudtest.OpenUnderFaults) })
	default:
		t.Fatalf("STEPWELL_KERNEL_STORES=%s: use dynstore or dynstore-faults, or leave it unset for the embedded stores", which)
	}
}
