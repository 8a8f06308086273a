package kerneltest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A Scenario is something that a process does and may die in.
type Scenario struct {
	Name  string
	Setup func(k *Kit)
	// Act is what the process does. A client that got no answer does it again, in another process.
	Act func(k *Kit, s *kernel.Session) error
	// Texts are the branches that may come of it.
	Texts [][]string
}

// Grace is how long the scenarios keep garbage.
const Grace = time.Hour

// Interrupted is the result of a call that may have run and must not run again.
const Interrupted = "e:interrupted: the outcome is unknown"

// Scenarios returns what a process may die in. Each is played with [Scenario.Play].
func Scenarios() []Scenario {
	used := []string{"u:use look pay", "a:I will look.", "c:look", "c:pay"}
	both := [][]string{
		slices.Concat(used, []string{"r:look ok", "r:pay ok", "a:done: look ok, pay ok"}),
		slices.Concat(used, []string{"r:look ok", Interrupted, "a:done: look ok, " + Interrupted[2:]}),
	}
	asked := [][]string{{"u:use ask", "a:I will look.", "c:ask", "r:yes", "a:done: yes"}}
	var target object.OID // of the scenario being played
	return []Scenario{
		{Name: "submit", Act: func(k *Kit, s *kernel.Session) error { return submit(k, s, "a") }, Texts: [][]string{{"u:a", "a:re: a"}}},
		{Name: "land", Setup: prepared("a", "b"), Act: step, Texts: [][]string{{"u:a", "a:re: a", "u:b", "a:re: b"}}},
		{Name: "respond", Setup: Stepped("a", 1), Act: step, Texts: [][]string{{"u:a", "a:re: a"}}},
		{Name: "tool batch", Setup: Stepped("use look pay", 2), Act: step, Texts: both},
		{Name: "scene 2: a whole run", Act: func(k *Kit, s *kernel.Session) error {
			if err := submit(k, s, "use look pay"); err != nil {
				return err
			}
			return Drive(k, s)
		}, Texts: both},
		{Name: "scene 3: park, answer, carry on", Act: func(k *Kit, s *kernel.Session) error {
			return errors.Join(submit(k, s, "use ask"), Drive(k, s), Reply(k, s), Drive(k, s))
		}, Texts: append(asked, []string{"u:use ask", "a:I will look.", "c:ask", Interrupted, "a:done: " + Interrupted[2:]})},
		{Name: "scene 4: a step per request", Setup: prepared("use look"), Act: func(k *Kit, s *kernel.Session) error {
			return errors.Join(step(k, s), step(k, s), step(k, s), step(k, s))
		}, Texts: [][]string{{"u:use look", "a:I will look.", "c:look", "r:look ok", "a:done: look ok"}}},
		{Name: "reply", Setup: Stepped("use ask", 3), Act: Reply, Texts: asked},
		{Name: "wake", Setup: func(k *Kit) {
			Stepped("use ask", 3)(k)
			if err := Reply(k, k.Session); err != nil {
				k.Fatal(err)
			}
		}, Act: Drive, Texts: asked},
		{Name: "expiry", Setup: func(k *Kit) {
			k.Script.Toolbox["ask"] = Parking(k)
			Stepped("use ask", 3)(k)
			k.Clock.Advance(time.Minute)
		}, Act: Drive, Texts: [][]string{{"u:use ask", "a:I will look.", "c:ask", "e:timed out", "a:done: timed out"}}},
		{Name: "cancel", Setup: func(k *Kit) {
			prepared("a", "b")(k)
			target = k.Oldest()
		}, Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.Cancel(k.Ctx, Head, target, nil)
			return err
		}, Texts: [][]string{{"u:b", "a:re: b"}}},
		{Name: "redeliver to another lane", Setup: func(k *Kit) {
			prepared("a", "b")(k)
			target = Must(k.Pending(k.Ctx, Head))(k)[1].OID
		}, Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: Head, Change: target, Lane: Steer})
			return err
		}, Texts: [][]string{{"u:b", "a:re: b", "u:a", "a:re: a"}}},
		{Name: "reorder", Setup: func(k *Kit) {
			prepared("a", "b", "c")(k)
			target = k.Oldest()
		}, Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: Head, Change: target, Place: kernel.Placement{End: true}})
			return err
		}, Texts: [][]string{{"u:b", "a:re: b", "u:c", "a:re: c", "u:a", "a:re: a"}}},
		{Name: "abort in flight", Setup: Stepped("a", 1), Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.Abort(k.Ctx, Head, nil)
			return errors.Join(err, step(k, s))
		}, Texts: [][]string{{"u:a"}, {"u:a", "a:re: a"}}},
		{Name: "abort while waiting", Setup: Stepped("use ask", 3), Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.Abort(k.Ctx, Head, nil)
			return errors.Join(err, Drive(k, s))
		}, Texts: [][]string{{"u:use ask", "a:I will look.", "c:ask", "e:aborted while waiting"}}},
		{Name: "move under a run", Setup: Stepped("use look", 2), Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.MoveHead(k.Ctx, kernel.MoveHeadOptions{Head: Head})
			return errors.Join(err, step(k, s))
		}, Texts: [][]string{{}}},
		{Name: "delete the head", Setup: Stepped("use ask", 3), Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: Head})
			return err
		}, Texts: [][]string{{}}},
		{Name: "delete the session in a run", Setup: Stepped("use look", 1), Act: func(k *Kit, s *kernel.Session) error {
			if err := s.MarkDeleted(k.Ctx, nil); err != nil {
				return err
			}
			return Drive(k, s)
		}, Texts: [][]string{{"u:use look"}}},
		{Name: "retry", Setup: func(k *Kit) {
			k.Send(Queue, "a")
			k.Script.Say = func(_ context.Context, in kernel.TurnInput, _ int) (kernel.RespondOutcome, error) {
				if _, again := in.Run.Phase.(object.Retry); again {
					return nil, nil
				}
				m := scene.Says("", in.Now)
				m.StopReason = message.StopError
				return kernel.RetryLater{Message: m, At: in.Now + 1000, Retries: 1, Error: "overloaded"}, nil
			}
		}, Act: func(k *Kit, s *kernel.Session) error {
			err := errors.Join(step(k, s), step(k, s))
			k.Clock.Advance(time.Second)
			return errors.Join(err, step(k, s))
		}, Texts: [][]string{{"u:a", "a:re: a"}}},
		{Name: "create, work, merge", Setup: Stepped("a", 2), Act: func(k *Kit, s *kernel.Session) error {
			_, err := s.CreateHead(k.Ctx, kernel.CreateHeadOptions{Head: "side", Parent: Head})
			if err != nil {
				return err
			}
			_, err = s.Submit(k.Ctx, kernel.SubmitOptions{Head: "side", Lane: Queue, Body: k.User("b"), Key: "b"})
			opts := k.Options()
			opts.Head = "side"
			for range 2 {
				outcome, stepErr := s.Step(k.Ctx, opts)
				if busy, ok := outcome.(kernel.StepBusy); ok {
					k.Clock.Advance(time.Duration(busy.Holder.ExpiresAt-k.Now()) * time.Millisecond)
					_, stepErr = s.Step(k.Ctx, opts)
				}
				err = errors.Join(err, stepErr)
			}
			if err == nil {
				err = driveHead(k, s, opts)
			}
			if err != nil {
				return err
			}
			_, err = s.FastForward(k.Ctx, kernel.FastForwardOptions{Head: "side"})
			return err
		}, Texts: [][]string{{"u:a", "a:re: a", "u:b", "a:re: b"}}},
		{Name: "trim and collect", Setup: func(k *Kit) {
			Stepped("use look pay", 4)(k)
			k.Clock.Advance(2 * Grace)
		}, Act: func(k *Kit, s *kernel.Session) error {
			last, err := s.LastSeq(k.Ctx)
			if err != nil {
				return err
			}
			_, err = s.Trim(k.Ctx, last)
			_, collectErr := s.Collect(k.Ctx, Grace)
			return errors.Join(err, collectErr)
		}, Texts: both[:1]},
	}
}
