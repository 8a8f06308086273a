package kerneltest

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// Asking returns a toolbox: "ask" parks for an answer, "pay" runs at most once, "look" may run again.
func Asking() map[string]scene.Tool {
	return map[string]scene.Tool{
		"ask": {Run: func(context.Context, message.ToolCall) scene.Answer {
			return scene.Answer{Park: true, Selection: &message.Selection{
				Title: "Shall I?", Choices: []message.Choice{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}},
			}}
		}},
		"pay":  {Replay: object.ReplayNever},
		"look": {Replay: object.ReplaySafe},
	}
}

// Parking is a tool that parks for a minute.
func Parking(k *Kit) scene.Tool {
	return scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
		return scene.Answer{Park: true, Until: k.Now() + 60_000}
	}}
}

// Drive advances the head in a process until there is nothing to do.
func Drive(k *Kit, s *kernel.Session) error {
	for {
		outcome, err := s.Drive(k.Ctx, k.Options())
		if _, finished := outcome.(kernel.StepFinished); err != nil || !finished {
			return err
		}
	}
}

func step(k *Kit, s *kernel.Session) error {
	_, err := s.Step(k.Ctx, k.Options())
	return err
}

func submit(k *Kit, s *kernel.Session, text string) error {
	_, err := s.Submit(k.Ctx, kernel.SubmitOptions{Head: Head, Lane: Queue, Body: k.User(text), Key: "key of " + text})
	return err
}

// Reply answers the parked calls of the current run, as a phone that reads the open calls does.
func Reply(k *Kit, s *kernel.Session) error {
	run, ok, err := s.CurrentRun(k.Ctx, Head)
	if err != nil || !ok {
		return err
	}
	effects, err := s.Effects(k.Ctx, run.Run.ID)
	if err != nil {
		return err
	}
	for _, e := range effects {
		_, err := s.Signal(k.Ctx, kernel.SignalOptions{RunID: run.Run.ID, CallID: e.Intent.CallID, WaitID: e.OID, Signal: jsontext.Value(`"yes"`)})
		if err != nil {
			return err
		}
	}
	return nil
}

func prepared(texts ...string) func(*Kit) {
	return func(k *Kit) {
		for _, text := range texts {
			k.Send(Queue, text)
		}
	}
}

// Stepped submits a text and takes n steps.
func Stepped(text string, n int) func(*Kit) {
	return func(k *Kit) {
		k.Send(Queue, text)
		for range n {
			Must(k.Step(k.Ctx, k.Options()))(k)
		}
	}
}

// Oldest returns the oldest pending change of the kit's head.
func (k *Kit) Oldest() object.OID {
	k.Helper()
	return Must(k.Pending(k.Ctx, Head))(k)[0].OID
}

func driveHead(k *Kit, s *kernel.Session, opts kernel.StepOptions) error {
	for {
		outcome, err := s.Drive(k.Ctx, opts)
		if err != nil {
			return err
		}
		switch o := outcome.(type) {
		case kernel.StepFinished:
		case kernel.StepBusy:
			k.Clock.Advance(time.Duration(o.Holder.ExpiresAt-k.Now()) * time.Millisecond)
		case kernel.StepContinue, kernel.StepIdle, kernel.StepWaiting, kernel.StepRetry, kernel.StepFenced:
			return nil
		}
	}
}
