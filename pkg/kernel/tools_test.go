package kernel_test

import (
	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
)

// Shorter names.
const (
	grace   = kerneltest.Grace
	unknown = kerneltest.Interrupted
)

func asking() map[string]scene.Tool { return kerneltest.Asking() }

func parking(k *kerneltest.Kit) scene.Tool { return kerneltest.Parking(k) }

func drive(k *kerneltest.Kit, s *kernel.Session) error { return kerneltest.Drive(k, s) }

func stepped(text string, n int) func(*kerneltest.Kit) { return kerneltest.Stepped(text, n) }

func oldest(k *kerneltest.Kit) object.OID {
	k.Helper()
	return k.Oldest()
}

func reply(k *kerneltest.Kit, s *kernel.Session) error { return kerneltest.Reply(k, s) }
