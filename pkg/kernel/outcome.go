package kernel

import (
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A StepOutcome is what one step did, and what the host arranges next: [StepContinue], [StepIdle], [StepBusy], [StepWaiting],
// [StepRetry], [StepFinished] or [StepFenced].
//
//sumtype:decl
type StepOutcome interface{ stepOutcome() }

func (StepContinue) stepOutcome() {}
func (StepIdle) stepOutcome()     {}
func (StepBusy) stepOutcome()     {}
func (StepWaiting) stepOutcome()  {}
func (StepRetry) stepOutcome()    {}
func (StepFinished) stepOutcome() {}
func (StepFenced) stepOutcome()   {}

type (
	// StepContinue: take the next step at once.
	StepContinue struct{}
	// StepIdle: nothing to do until something is submitted.
	StepIdle struct{}
	// StepBusy: someone else holds the lease.
	StepBusy struct{ Holder store.Lease }
	// StepWaiting: calls are parked. Until is the nearest deadline, zero when there is none.
	StepWaiting struct{ Until object.Millis }
	// StepRetry: step again at this time.
	StepRetry struct{ At object.Millis }
	// StepFinished: the run has ended. More may be pending.
	StepFinished struct{ Run object.Run }
	// StepFenced: the lease was lost; whoever has it carries on.
	StepFenced struct{}
)

// StepName returns the wire word of o.
func StepName(o StepOutcome) string {
	switch o.(type) {
	case StepContinue:
		return "continue"
	case StepIdle:
		return "idle"
	case StepBusy:
		return "busy"
	case StepWaiting:
		return "waiting"
	case StepRetry:
		return "retry"
	case StepFinished:
		return "finished"
	case StepFenced:
		return "fenced"
	}
	panic("unreachable")
}
