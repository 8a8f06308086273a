package scene

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// threePhones: every submission succeeds, one chain, the oldest lands first, the rest stay pending until later boundaries.
func threePhones(ctx context.Context, s *stage) error {
	const phones = 3
	var together sync.WaitGroup
	errs := make([]error, phones)
	start := make(chan struct{})
	for i := range phones {
		phone, _, err := s.process(ctx)
		if err != nil {
			return err
		}
		together.Go(func() {
			<-start
			errs[i] = s.submit(ctx, phone, fmt.Sprintf("hello from phone %d", i+1), fmt.Sprintf("key-%d", i+1))
		})
	}
	close(start)
	together.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("phone %d: %w", i+1, err)
		}
	}
	pending, err := s.session.Pending(ctx, head)
	if err != nil {
		return err
	}
	if len(pending) != phones {
		return fmt.Errorf("%d are pending, want %d", len(pending), phones)
	}
	var order []string
	for _, p := range pending {
		if body, ok := p.Change.Change.Body.(object.MessageBody); ok {
			if u, ok := body.Message.(message.User); ok {
				order = append(order, message.PlainText(u.Content))
			}
		}
	}
	s.say("All three are accepted, in one chain: %q.", order)
	turn := &Script{}
	var want []string
	for i, text := range order {
		if _, err := s.session.Step(ctx, options(turn)); err != nil {
			return err
		}
		left, err := s.session.Pending(ctx, head)
		if err != nil {
			return err
		}
		if len(left) != phones-i-1 {
			return fmt.Errorf("%d are pending after landing %d, want %d", len(left), i+1, phones-i-1)
		}
		s.say("%q landed; %d wait for the next boundary.", text, len(left))
		if _, err := s.session.Step(ctx, options(turn)); err != nil {
			return err
		}
		want = append(want, "user: "+text, "assistant: re: "+text)
	}
	return s.want(ctx, want...)
}

// killedRunner: another process takes the expired lease over, runs the safe call again, settles the other as interrupted, and carries on.
func killedRunner(ctx context.Context, s *stage) error {
	for _, call := range []struct{ tool, result string }{
		{"look", "look ok"},
		{"pay", "interrupted: the outcome is unknown"},
	} {
		if err := s.submit(ctx, s.session, "use "+call.tool, ""); err != nil {
			return err
		}
		if err := s.dieIn(ctx, call.tool); err != nil {
			return err
		}
		s.say("The runner died inside %q: its intent is written, its result is not.", call.tool)
		after := &Script{Toolbox: tools(nil)}
		outcome, err := s.session.Step(ctx, options(after))
		if err != nil {
			return err
		}
		if busy, ok := outcome.(kernel.StepBusy); ok {
			wait := busy.Holder.ExpiresAt.Time().Sub(s.clock.Now())
			s.say("Another process finds the head busy and waits %v for the lease to expire.", wait)
			s.clock.Advance(wait)
		}
		if outcome, err = s.drive(ctx, s.session, after); err != nil {
			return err
		}
		if _, idle := outcome.(kernel.StepIdle); !idle {
			return fmt.Errorf("the successor ended %s, want idle", kernel.StepName(outcome))
		}
		runs := after.Runs(call.tool)
		if safe := call.tool == "look"; safe != (runs == 1) || !safe && runs != 0 {
			return fmt.Errorf("the successor ran %q %d times", call.tool, runs)
		}
		s.say("It took over, ran %q %d more times, and carried on.", call.tool, runs)
	}
	return s.want(ctx,
		"user: use look", "assistant: I will look.", "assistant calls look", "tool look: look ok", "assistant: done: look ok",
		"user: use pay", "assistant: I will look.", "assistant calls pay", "tool pay: interrupted: the outcome is unknown",
		"assistant: done: interrupted: the outcome is unknown")
}

// tools are a safe and a never tool; die, if given, is called inside each.
func tools(die func()) map[string]Tool {
	run := func(_ context.Context, call message.ToolCall) Answer {
		if die != nil {
			die()
		}
		return Answer{Text: call.ID + " ok"}
	}
	return map[string]Tool{"look": {Replay: object.ReplaySafe, Run: run}, "pay": {Replay: object.ReplayNever, Run: run}}
}

// dieIn drives the head in a process that dies inside its first tool call.
func (s *stage) dieIn(ctx context.Context, tool string) error {
	runner, process, err := s.process(ctx)
	if err != nil {
		return err
	}
	turn := &Script{Toolbox: tools(process.die)}
	if _, err := runner.Drive(ctx, options(turn)); err == nil {
		return fmt.Errorf("the runner of %q outlived its death", tool)
	}
	if turn.Runs(tool) != 1 {
		return fmt.Errorf("the runner ran %q %d times before its death", tool, turn.Runs(tool))
	}
	return nil
}

// answerLater: the first signal wins, and whichever runner comes next settles the call.
func answerLater(ctx context.Context, s *stage) error {
	ask := map[string]Tool{"ask": {Run: func(context.Context, message.ToolCall) Answer {
		return Answer{Park: true, Selection: &message.Selection{
			Title: "Shall I?", Choices: []message.Choice{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}},
		}}
	}}}
	if err := s.submit(ctx, s.session, "use ask", ""); err != nil {
		return err
	}
	host, process, err := s.process(ctx)
	if err != nil {
		return err
	}
	outcome, err := s.drive(ctx, host, &Script{Toolbox: ask})
	if err != nil {
		return err
	}
	if _, waits := outcome.(kernel.StepWaiting); !waits {
		return fmt.Errorf("the host ended %s, want waiting", kernel.StepName(outcome))
	}
	process.die()
	s.say("The call is parked and the host has exited. Nothing runs.")
	s.clock.Advance(time.Hour)
	run, _, err := s.session.CurrentRun(ctx, head)
	if err != nil {
		return err
	}
	effects, err := s.session.Effects(ctx, run.Run.ID)
	if err != nil {
		return err
	}
	if len(effects) != 1 {
		return fmt.Errorf("%d calls are open, want 1", len(effects))
	}
	for i, answer := range []string{`"yes"`, `"no"`} {
		outcome, err := s.session.Signal(ctx, kernel.SignalOptions{
			RunID: run.Run.ID, CallID: "ask", WaitID: effects[0].OID, Signal: jsontext.Value(answer),
		})
		if err != nil {
			return err
		}
		if _, won := outcome.(kernel.Signalled); won != (i == 0) {
			return fmt.Errorf("answer %d came to %#v", i+1, outcome)
		}
		s.say("An hour later a phone answers %s: won is %t.", answer, i == 0)
	}
	if _, err := s.drive(ctx, s.session, &Script{Toolbox: ask}); err != nil {
		return err
	}
	return s.want(ctx, "user: use ask", "assistant: I will look.", "assistant calls ask", "tool ask: yes", "assistant: done: yes")
}

// stepPerRequest: every request opens the session anew, takes one step, and leaves nothing behind in memory.
func stepPerRequest(ctx context.Context, s *stage) error {
	handler, process, err := s.process(ctx)
	if err != nil {
		return err
	}
	if err := s.submit(ctx, handler, "use look", "request-1"); err != nil {
		return err
	}
	for request := 1; ; request++ {
		outcome, err := handler.Step(ctx, options(&Script{Toolbox: tools(nil)}))
		if err != nil {
			return err
		}
		process.die()
		last, err := s.session.LastSeq(ctx)
		if err != nil {
			return err
		}
		s.say("Request %d took one step (%s), and left %d events and no process behind.", request, kernel.StepName(outcome), last)
		if _, held, err := s.session.ReadLease(ctx, ref.Head(head)); err != nil {
			return err
		} else if held {
			return fmt.Errorf("request %d left the lease held", request)
		}
		if _, idle := outcome.(kernel.StepIdle); idle {
			break
		}
		if request == 10 {
			return errors.New("ten requests did not finish")
		}
		if handler, process, err = s.process(ctx); err != nil {
			return err
		}
	}
	return s.want(ctx, "user: use look", "assistant: I will look.", "assistant calls look", "tool look: look ok", "assistant: done: look ok")
}
