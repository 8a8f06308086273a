package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/scene"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// A scenario is something that a process does and may die in.
type scenario struct {
	name  string
	setup func(k *kerneltest.Kit)
	// act is what the process does. A client that got no answer does it again, in another process.
	act func(k *kerneltest.Kit, s *kernel.Session) error
	// texts are the branches that may come of it.
	texts [][]string
	after func(t testing.TB, k *kerneltest.Kit)
}

const unknown = "e:interrupted: the outcome is unknown"

// parking is a tool that parks for a minute.
func parking(k *kerneltest.Kit) scene.Tool {
	return scene.Tool{Run: func(context.Context, message.ToolCall) scene.Answer {
		return scene.Answer{Park: true, Until: k.Now() + 60_000}
	}}
}

func drive(k *kerneltest.Kit, s *kernel.Session) error {
	for {
		outcome, err := s.Drive(k.Ctx, k.Options())
		if _, finished := outcome.(kernel.StepFinished); err != nil || !finished {
			return err
		}
	}
}

func step(k *kerneltest.Kit, s *kernel.Session) error {
	_, err := s.Step(k.Ctx, k.Options())
	return err
}

func submit(k *kerneltest.Kit, s *kernel.Session, text string) error {
	_, err := s.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User(text), Key: "key of " + text})
	return err
}

// reply answers the first parked call, as a phone that reads the open calls does.
func reply(k *kerneltest.Kit, s *kernel.Session) error {
	run, ok, err := s.CurrentRun(k.Ctx, head)
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

func prepared(texts ...string) func(*kerneltest.Kit) {
	return func(k *kerneltest.Kit) {
		for _, text := range texts {
			k.Send(queue, text)
		}
	}
}

// stepped submits a text and takes n steps.
func stepped(text string, n int) func(*kerneltest.Kit) {
	return func(k *kerneltest.Kit) {
		k.Send(queue, text)
		for range n {
			must(k.Step(k.Ctx, k.Options()))(k)
		}
	}
}

func oldest(k *kerneltest.Kit) object.OID {
	k.Helper()
	return must(k.Pending(k.Ctx, head))(k)[0].OID
}

func scenarios() []scenario {
	used := []string{"u:use look pay", "a:I will look.", "c:look", "c:pay"}
	both := [][]string{
		slices.Concat(used, []string{"r:look ok", "r:pay ok", "a:done: look ok, pay ok"}),
		slices.Concat(used, []string{"r:look ok", unknown, "a:done: look ok, " + unknown[2:]}),
	}
	asked := [][]string{{"u:use ask", "a:I will look.", "c:ask", "r:yes", "a:done: yes"}}
	var target object.OID // of the scenario being played
	return []scenario{
		{name: "submit", act: func(k *kerneltest.Kit, s *kernel.Session) error { return submit(k, s, "a") }, texts: [][]string{{"u:a", "a:re: a"}}},
		{name: "land", setup: prepared("a", "b"), act: step, texts: [][]string{{"u:a", "a:re: a", "u:b", "a:re: b"}}},
		{name: "respond", setup: stepped("a", 1), act: step, texts: [][]string{{"u:a", "a:re: a"}}},
		{name: "tool batch", setup: stepped("use look pay", 2), act: step, texts: both},
		{name: "scene 2: a whole run", act: func(k *kerneltest.Kit, s *kernel.Session) error {
			if err := submit(k, s, "use look pay"); err != nil {
				return err
			}
			return drive(k, s)
		}, texts: both},
		{name: "scene 3: park, answer, carry on", act: func(k *kerneltest.Kit, s *kernel.Session) error {
			return errors.Join(submit(k, s, "use ask"), drive(k, s), reply(k, s), drive(k, s))
		}, texts: append(asked, []string{"u:use ask", "a:I will look.", "c:ask", unknown, "a:done: " + unknown[2:]})},
		{name: "scene 4: a step per request", setup: prepared("use look"), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			return errors.Join(step(k, s), step(k, s), step(k, s), step(k, s))
		}, texts: [][]string{{"u:use look", "a:I will look.", "c:look", "r:look ok", "a:done: look ok"}}},
		{name: "reply", setup: stepped("use ask", 3), act: reply, texts: asked},
		{name: "wake", setup: func(k *kerneltest.Kit) {
			stepped("use ask", 3)(k)
			if err := reply(k, k.Session); err != nil {
				k.Fatal(err)
			}
		}, act: drive, texts: asked},
		{name: "expiry", setup: func(k *kerneltest.Kit) {
			k.Script.Toolbox["ask"] = parking(k)
			stepped("use ask", 3)(k)
			k.Clock.Advance(time.Minute)
		}, act: drive, texts: [][]string{{"u:use ask", "a:I will look.", "c:ask", "e:timed out", "a:done: timed out"}}},
		{name: "cancel", setup: func(k *kerneltest.Kit) {
			prepared("a", "b")(k)
			target = oldest(k)
		}, act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.Cancel(k.Ctx, head, target, nil)
			return err
		}, texts: [][]string{{"u:b", "a:re: b"}}},
		{name: "redeliver to another lane", setup: func(k *kerneltest.Kit) {
			prepared("a", "b")(k)
			target = must(k.Pending(k.Ctx, head))(k)[1].OID
		}, act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: target, Lane: steer})
			return err
		}, texts: [][]string{{"u:b", "a:re: b", "u:a", "a:re: a"}}},
		{name: "reorder", setup: func(k *kerneltest.Kit) {
			prepared("a", "b", "c")(k)
			target = oldest(k)
		}, act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: target, Place: kernel.Placement{End: true}})
			return err
		}, texts: [][]string{{"u:b", "a:re: b", "u:c", "a:re: c", "u:a", "a:re: a"}}},
		{name: "abort in flight", setup: stepped("a", 1), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.Abort(k.Ctx, head, nil)
			return errors.Join(err, step(k, s))
		}, texts: [][]string{{"u:a"}, {"u:a", "a:re: a"}}},
		{name: "abort while waiting", setup: stepped("use ask", 3), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.Abort(k.Ctx, head, nil)
			return errors.Join(err, drive(k, s))
		}, texts: [][]string{{"u:use ask", "a:I will look.", "c:ask", "e:aborted while waiting"}}},
		{name: "move under a run", setup: stepped("use look", 2), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.MoveHead(k.Ctx, kernel.MoveHeadOptions{Head: head})
			return errors.Join(err, step(k, s))
		}, texts: [][]string{{}}},
		{name: "delete the head", setup: stepped("use ask", 3), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head})
			return err
		}, texts: [][]string{{}}},
		{name: "delete the session in a run", setup: stepped("use look", 1), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			if err := s.MarkDeleted(k.Ctx, nil); err != nil {
				return err
			}
			return drive(k, s)
		}, texts: [][]string{{"u:use look"}}},
		{name: "retry", setup: func(k *kerneltest.Kit) {
			k.Send(queue, "a")
			k.Script.Say = func(_ context.Context, in kernel.TurnInput, _ int) (kernel.RespondOutcome, error) {
				if _, again := in.Run.Phase.(object.Retry); again {
					return nil, nil
				}
				m := scene.Says("", in.Now)
				m.StopReason = message.StopError
				return kernel.RetryLater{Message: m, At: in.Now + 1000, Retries: 1, Error: "overloaded"}, nil
			}
		}, act: func(k *kerneltest.Kit, s *kernel.Session) error {
			err := errors.Join(step(k, s), step(k, s))
			k.Clock.Advance(time.Second)
			return errors.Join(err, step(k, s))
		}, texts: [][]string{{"u:a", "a:re: a"}}},
		{name: "create, work, merge", setup: stepped("a", 2), act: func(k *kerneltest.Kit, s *kernel.Session) error {
			_, err := s.CreateHead(k.Ctx, kernel.CreateHeadOptions{Head: "side", Parent: head})
			if err != nil {
				return err
			}
			_, err = s.Submit(k.Ctx, kernel.SubmitOptions{Head: "side", Lane: queue, Body: k.User("b"), Key: "b"})
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
		}, texts: [][]string{{"u:a", "a:re: a", "u:b", "a:re: b"}}},
		{name: "trim and collect", setup: func(k *kerneltest.Kit) {
			stepped("use look pay", 4)(k)
			k.Clock.Advance(2 * grace)
		}, act: func(k *kerneltest.Kit, s *kernel.Session) error {
			last, err := s.LastSeq(k.Ctx)
			if err != nil {
				return err
			}
			_, err = s.Trim(k.Ctx, last)
			_, collectErr := s.Collect(k.Ctx, grace)
			return errors.Join(err, collectErr)
		}, texts: both[:1]},
	}
}

func driveHead(k *kerneltest.Kit, s *kernel.Session, opts kernel.StepOptions) error {
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

// numbered reports whether a call counts as a place to cut: watching changes nothing, and when it begins is not determined.
func numbered(c storetest.Call) bool {
	return c.Op != storetest.OpWatchEvents && c.Op != storetest.OpReadEvents
}

// killAt plans the death of p at its nth numbered call.
func killAt(p kerneltest.Process, n int, at storetest.Moment) (count *atomic.Int64) {
	count = new(atomic.Int64)
	p.Hook(at, func(c storetest.Call) {
		if numbered(c) && count.Add(1) == int64(n) {
			p.KillNow()
		}
	})
	return count
}

// failAt plans one error at p's nth numbered call, and reports which call it was.
func failAt(p kerneltest.Process, n int, at storetest.Moment) (count *atomic.Int64) {
	count = new(atomic.Int64)
	p.FailNext(at, func(c storetest.Call) bool {
		return numbered(c) && count.Add(1) == int64(n)
	})
	return count
}

// play brings one scenario to its end after one cut: others repeat what got no answer and carry on until nothing is left to do. It reports
// whether the cut was reached.
func (sc scenario) play(t testing.TB, open storetest.Opener, cut func(p kerneltest.Process) *atomic.Int64, n int) bool {
	t.Helper()
	k := kerneltest.New(t, open)
	k.Script.Toolbox = asking()
	if sc.setup != nil {
		sc.setup(k)
	}
	p := k.Process()
	count := cut(p)
	if err := sc.act(k, p.Session); err != nil {
		settleBusy(k)
		if err := sc.act(k, k.Session); err != nil {
			t.Errorf("doing it again: %v", err)
		}
	}
	k.Settle()
	if err := reply(k, k.Session); err != nil { // a call that was parked meanwhile
		t.Error(err)
	}
	last := k.Settle()
	if _, waits := last.(kernel.StepWaiting); waits {
		t.Error("the session still waits")
	}
	if runs := k.Script.Runs("pay"); runs > 1 {
		t.Errorf("a never tool ran %d times", runs)
	}
	if deleted := !k.Ref(ref.Deleted).IsZero(); len(k.PendingTexts()) > 0 && !deleted {
		t.Errorf("still pending: %q", k.PendingTexts())
	}
	if texts := k.Texts(); !slices.ContainsFunc(sc.texts, func(want []string) bool { return slices.Equal(want, texts) }) {
		t.Errorf("the branch says %q, want one of %q", texts, sc.texts)
	}
	if sc.after != nil {
		sc.after(t, k)
	}
	return count.Load() >= int64(n)
}

// settleBusy lets the lease of a dead process expire.
func settleBusy(k *kerneltest.Kit) {
	k.Helper()
	if l, held, err := k.ReadLease(k.Ctx, ref.Head(head)); err == nil && held {
		k.Clock.Advance(time.Duration(l.ExpiresAt-k.Now()) * time.Millisecond)
	}
}

// Whatever call a process dies in, before or after it took effect, others carry on: nothing is lost, done twice or left behind.
func TestCrash_EveryCallEveryCut(t *testing.T) {
	cuts := 0
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			n, before := 1, cuts
			for reached := true; reached; n++ {
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					t.Run(fmt.Sprintf("%d %v", n, at), func(t *testing.T) {
						reached = sc.play(t, kerneltest.Memory, func(p kerneltest.Process) *atomic.Int64 { return killAt(p, n, at) }, n)
						if reached {
							cuts++
						}
					})
				}
				if n > 1000 {
					t.Fatal("a scenario of a thousand calls")
				}
			}
			t.Logf("%d cuts", cuts-before)
		})
	}
	t.Logf("%d cuts in %d scenarios", cuts, len(scenarios()))
}

// The same on a file, for the scene about dying.
func TestCrash_Scene2OnSQLite(t *testing.T) {
	cuts := 0
	for _, sc := range scenarios() {
		if !strings.HasPrefix(sc.name, "scene 2") {
			continue
		}
		for n, reached := 1, true; reached; n++ {
			for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
				t.Run(fmt.Sprintf("%s/%d %v", sc.name, n, at), func(t *testing.T) {
					reached = sc.play(t, kerneltest.SQLite, func(p kerneltest.Process) *atomic.Int64 { return killAt(p, n, at) }, n)
				})
				if reached {
					cuts++
				}
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// One call fails and the process lives on. Pieces of the stream may be missing, and the publish says so: the commit has it all.
func TestCrash_EverySingleFault(t *testing.T) {
	faults := 0
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			n, before := 1, faults
			for reached := true; reached; n++ {
				for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
					t.Run(fmt.Sprintf("%d %v", n, at), func(t *testing.T) {
						reached = sc.play(t, kerneltest.Memory, func(p kerneltest.Process) *atomic.Int64 { return failAt(p, n, at) }, n)
						if reached {
							faults++
						}
					})
				}
			}
			t.Logf("%d faults", faults-before)
		})
	}
	t.Logf("%d faults in %d scenarios", faults, len(scenarios()))
}

// A second process dies too, while it recovers from the death of the first.
func TestCrash_PairsOfCuts(t *testing.T) {
	pairs := 0
	for _, sc := range scenarios() {
		if sc.name != "tool batch" && sc.name != "expiry" {
			continue
		}
		for n, reached := 1, true; reached; n++ {
			for _, at := range []storetest.Moment{storetest.Before, storetest.After} {
				for m, again := 1, true; again; m++ {
					t.Run(fmt.Sprintf("%s/%d and %d %v", sc.name, n, m, at), func(t *testing.T) {
						var second *atomic.Int64
						twice := sc
						twice.act = func(k *kerneltest.Kit, s *kernel.Session) error {
							if s != k.Session { // the first process
								return sc.act(k, s)
							}
							p := k.Process()
							second = killAt(p, m, at)
							if err := sc.act(k, p.Session); err == nil {
								return nil
							}
							settleBusy(k)
							return sc.act(k, s)
						}
						reached = twice.play(t, kerneltest.Memory, func(p kerneltest.Process) *atomic.Int64 { return killAt(p, n, at) }, n)
						again = second != nil && second.Load() >= int64(m)
					})
					if again {
						pairs++
					}
				}
			}
		}
	}
	t.Logf("%d pairs of cuts", pairs)
}
