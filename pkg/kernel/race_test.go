package kernel_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// landing returns a process whose step is about to land, held at its compare-and-swap.
func landing(k *kerneltest.Kit, at storetest.Moment) (kerneltest.Process, *storetest.Gate, func() (kernel.StepOutcome, error)) {
	p := k.Process()
	return p, p.Gate(at, update("land")), func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }
}

func TestB32_C233_CancelAgainstLanding(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		a := k.Send(queue, "a")
		_, gate, land := landing(k, at)
		var cancelled kernel.CancelOutcome
		meanwhile(t, gate, land, func() { cancelled = must(k.Cancel(k.Ctx, head, a, nil))(t) })
		k.Settle()
		if at == storetest.Before {
			same(t, "cancel came first", kernel.CancelOutcome(kernel.Cancelled{}), cancelled)
			same(t, "texts", []string{}, k.Texts())
			return
		}
		same(t, "landing came first", kernel.CancelOutcome(kernel.Landed{}), cancelled)
		same(t, "texts", []string{"u:a", "a:re: a"}, k.Texts())
	})
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		a := k.Send(queue, "a")
		p := k.Process()
		gate := p.Gate(at, update("cancel"))
		cancelled := meanwhile(t, gate, func() (kernel.CancelOutcome, error) { return p.Cancel(k.Ctx, head, a, nil) }, func() {
			must(k.Step(k.Ctx, k.Options()))(t)
		})
		k.Settle()
		if _, ok := cancelled.(kernel.Cancelled); ok != (len(k.Texts()) == 0) || ok != (at == storetest.After) {
			t.Errorf("cancel: got %#v with texts %q", cancelled, k.Texts())
		}
	})
}

func TestRedeliverAgainstLanding(t *testing.T) {
	for name, opts := range map[string]kernel.RedeliverOptions{
		"move":    {Lane: steer},
		"edit":    {},
		"reorder": {Place: kernel.Placement{End: true}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
				a := k.Send(queue, "a")
				k.Send(queue, "b")
				opts := opts
				opts.Head, opts.Change = head, a
				if name == "edit" {
					opts.Body = k.User("A")
				}
				_, gate, land := landing(k, at)
				var got kernel.RedeliverOutcome
				meanwhile(t, gate, land, func() { got = must(k.Redeliver(k.Ctx, opts))(t) })
				k.Settle()
				if _, moved := got.(kernel.Redelivered); moved != (at == storetest.Before) {
					t.Errorf("redeliver: got %#v", got)
				}
				users := 0
				for _, text := range k.Texts() {
					if text[0] == 'u' {
						users++
					}
				}
				same(t, "messages", 2, users)
			})
			both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
				a := k.Send(queue, "a")
				k.Send(queue, "b")
				opts := opts
				opts.Head, opts.Change = head, a
				if name == "edit" {
					opts.Body = k.User("A")
				}
				p := k.Process()
				gate := p.Gate(at, update("redeliver"))
				got := meanwhile(t, gate, func() (kernel.RedeliverOutcome, error) { return p.Redeliver(k.Ctx, opts) }, func() { k.StepIs("continue") })
				if _, moved := got.(kernel.Redelivered); moved != (at == storetest.After) {
					t.Errorf("redeliver: got %#v", got)
				}
				k.Settle()
				same(t, "messages", 4, len(k.Texts()))
			})
		})
	}
}

// What a redelivery would go in front of lands before it: there is no such place any more, and nothing lands twice.
func TestRedeliverIntoALandingLane(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		a, s := k.Send(queue, "a"), k.Send(steer, "s")
		p := k.Process()
		gate := p.Gate(at, update("redeliver"))
		got := meanwhile(t, gate, func() (kernel.RedeliverOutcome, error) {
			return p.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: a, Lane: steer, Place: kernel.Placement{Before: s}})
		}, func() { k.StepIs("continue") })
		k.Settle()
		if at == storetest.Before {
			same(t, "redeliver", kernel.RedeliverOutcome(kernel.NotFound{}), got)
			same(t, "texts", []string{"u:s", "a:re: s", "u:a", "a:re: a"}, k.Texts())
			return
		}
		same(t, "texts", []string{"u:a", "a:re: a", "u:s", "a:re: s"}, k.Texts())
	})
}

func TestB33_AbortAgainstPublish(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(at, update("respond"))
		var got kernel.AbortOutcome
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			got = must(k.Abort(k.Ctx, head, nil))(t)
		})
		k.Settle()
		_, requested := got.(kernel.AbortRequested)
		want := map[bool]string{true: "aborted", false: "done"}[at == storetest.Before]
		same(t, "requested and phase", []any{at == storetest.Before, want}, []any{requested, k.Phase()})
		same(t, "the answer is kept", []string{"u:q", "a:re: q"}, k.Texts())
	})
}

func TestB33_MoveAgainstPublish(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		drawn := kerneltest.Draw(t, k.Session, "A-b other")
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(at, update("respond"))
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() { move(k, head, drawn["b"]) })
		want := map[storetest.Moment]string{storetest.Before: "aborted", storetest.After: "done"}[at]
		same(t, "phase and head", []any{want, drawn["b"]}, []any{k.Phase(), k.Tip()})
	})
}

func TestB33_DeleteHeadAgainstPublish(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(at, update("respond"))
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			_, busy := must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head}))(t).(kernel.HeadBusy)
			same(t, "busy", at == storetest.Before, busy) // the publish frees the lease with its own transaction
		})
	})
}

// The head is deleted between a runner's last look at it and its publish, because its lease had expired.
func TestB33_DeleteExpiredHeadAgainstPublish(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(beforeCall, update("respond"))
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			k.Clock.Advance(kernel.DefaultTTL)
			same(t, "delete", kernel.DeleteHeadOutcome(kernel.HeadDeleted{}), must(k.DeleteHead(k.Ctx, kernel.DeleteHeadOptions{Head: head}))(t))
		})
		same(t, "heads and runs", []object.OID{{}, {}}, []object.OID{k.Tip(), k.Ref(ref.Run(head))})
	})
}

func TestB33_DeleteSessionAgainstPublish(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(at, update("respond"))
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			if err := k.MarkDeleted(k.Ctx, nil); err != nil {
				t.Fatal(err)
			}
		})
		written(k, 0, "a step after the deletion", func() { k.StepIs("idle") })
		same(t, "phase", map[storetest.Moment]string{storetest.Before: "respond", storetest.After: "done"}[at], k.Phase())
	})
}

func TestC072_ReplyAgainstExpiry(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		k.Script.Toolbox["ask"] = parking(k)
		stepped("use ask", 3)(k)
		wait := k.Effects()[0]
		phone := k.Process()
		gate := phone.Gate(at, update("signal"))
		got := meanwhile(t, gate, func() (kernel.SignalOutcome, error) {
			return phone.Signal(k.Ctx, kernel.SignalOptions{RunID: wait.Intent.RunID, CallID: "ask", WaitID: wait.OID, Signal: jsontext.Value(`"yes"`)})
		}, func() {
			k.Clock.Advance(time.Minute)
			k.Settle()
		})
		if at == storetest.After {
			same(t, "the reply won", kernel.SignalOutcome(kernel.Signalled{}), got)
			same(t, "result", "r:yes", k.Texts()[3])
			return
		}
		same(t, "the expiry won, and the call is settled", kernel.SignalOutcome(kernel.NotFound{}), got)
		same(t, "result", "e:timed out", k.Texts()[3])
	})
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		k.Script.Toolbox["ask"] = parking(k)
		stepped("use ask", 3)(k)
		early := k.Process() // whose clock said that there is time left when it read the wait
		wait := k.Effects()[0]
		held := early.Gate(beforeCall, update("signal"))
		replied := make(chan kernel.SignalOutcome, 1)
		go func() {
			o, err := early.Signal(k.Ctx, kernel.SignalOptions{RunID: wait.Intent.RunID, CallID: "ask", WaitID: wait.OID, Signal: jsontext.Value(`"yes"`)})
			if err != nil {
				t.Error(err)
			}
			replied <- o
		}()
		held.Wait()
		k.Clock.Advance(time.Minute)
		p := k.Process()
		gate := p.Gate(at, update("expired"))
		var got kernel.SignalOutcome
		meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			held.Release()
			got = <-replied
		})
		k.Settle()
		want, text := kernel.SignalOutcome(kernel.Signalled{}), "r:yes"
		if at == storetest.After {
			want, text = kernel.NotWaiting{}, "e:timed out"
		}
		same(t, "reply", want, got)
		same(t, "result", text, k.Texts()[3])
	})
}

// A runner whose lease is taken at any of its writes changes nothing (the takeover comes in front of the write).
func TestC225_B51_TakeoverFencesEveryWrite(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		fenced := 0
		for _, reason := range []string{"land", "respond", "effect", "tools", "wait"} {
			k.Send(queue, "use look ask")
			var held bool
			for !held {
				p := k.Process()
				var last store.Seq
				p.Hook(beforeCall, func(c storetest.Call) {
					if c.Op == storetest.OpUpdateRefs && c.Reason == reason && !held {
						held = true
						k.Clock.Advance(10 * kernel.DefaultTTL)
						acquire(k) // by one who dies at once: the next one takes over from it
						last = must(k.LastSeq(k.Ctx))(t)
					}
				})
				outcome := must(p.Step(k.Ctx, k.Options()))(t)
				if held {
					same(t, reason, kernel.StepOutcome(kernel.StepFenced{}), outcome)
					same(t, "events after the takeover", last, must(k.LastSeq(k.Ctx))(t))
					k.Clock.Advance(kernel.DefaultTTL)
					fenced++
				}
				if _, waits := outcome.(kernel.StepWaiting); waits {
					answer(k, "ask", "yes")
				}
			}
			for k.Settle(); len(k.Effects()) > 0; k.Settle() {
				answer(k, "ask", "yes")
			}
		}
		same(t, "fenced", 5, fenced)
	})
}

// The lease is lost between a renewal and an append: the deltas of the stale runner stay out of the stream.
func TestB51_PausedRunnerAppendsNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		p := k.Process()
		gate := p.Gate(beforeCall, appending)
		var last store.Seq
		got := meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() {
			k.Clock.Advance(10 * kernel.DefaultTTL)
			k.Settle()
			last = must(k.LastSeq(k.Ctx))(t)
		})
		same(t, "step", kernel.StepOutcome(kernel.StepFenced{}), got)
		same(t, "events", last, must(k.LastSeq(k.Ctx))(t))
		same(t, "texts", []string{"u:q", "a:re: q"}, k.Texts())
		same(t, "the successor has a number of its own", 2, k.Run().Attempts)
	})
}

func TestC223_SubmitDuringStreamingStaysPending(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "q")
		k.StepIs("continue")
		says(k, answers(func() { k.Send(steer, "meanwhile") }))
		k.StepIs("finished")
		same(t, "pending", []string{"meanwhile"}, k.PendingTexts())
	})
}

func TestC228_TwoCursorsFoldToTheSameState(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "use look ask")
		k.Settle()
		answer(k, "ask", "yes")
		k.Settle()
		last := must(k.LastSeq(k.Ctx))(t)
		fold := func(state map[ref.Name]object.OID, from, to store.Seq) map[ref.Name]object.OID {
			ctx, cancel := context.WithCancel(k.Ctx)
			defer cancel()
			for e, err := range k.WatchEvents(ctx, from) {
				if err != nil {
					t.Fatal(err)
				}
				if r, ok := e.Body.(store.RefEvent); ok {
					if state[r.Name] = r.To; r.To.IsZero() {
						delete(state, r.Name)
					}
				}
				if e.Seq >= to {
					break
				}
			}
			return state
		}
		want := map[ref.Name]object.OID{}
		for _, r := range must(k.ListRefs(k.Ctx, ""))(t) {
			want[r.Name] = r.OID
		}
		for cut := store.Seq(1); cut < last; cut++ {
			same(t, "the refs", want, fold(fold(map[ref.Name]object.OID{}, 0, cut), cut, last))
			// A client that reads a page twice gets the same.
			same(t, "with an overlap", want, fold(fold(map[ref.Name]object.OID{}, 0, cut), cut-1, last))
		}
	})
}

// A batch that parks again leaves the run as it was, so that the run's own ref does not tell who won.
func TestMoveWhileABatchParksAgain(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		at := kerneltest.Draw(t, k.Session, "A-b other")
		stepped("use ask:a ask:b", 3)(k)
		answer(k, "a", "A")
		p := k.Process()
		gate := p.Gate(beforeCall, func(c storetest.Call) bool { return update("wait")(c) && slices.Contains(c.Names, ref.Run(head)) })
		got := meanwhile(t, gate, func() (kernel.StepOutcome, error) { return p.Step(k.Ctx, k.Options()) }, func() { move(k, head, at["b"]) })
		same(t, "step", "finished", kernel.StepName(got))
		same(t, "phase, head and calls", []any{"aborted", at["b"], 0}, []any{k.Phase(), k.Tip(), len(must(k.ListRefs(k.Ctx, ref.Effects))(t))})
	})
}
