package kernel_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

func TestC052_InvalidNamesWriteNothing(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("first"), Key: "known"})
		objects := len(must(k.ListObjects(k.Ctx))(t))
		for _, bad := range []string{"", "a/b", ".a", "a.", "a..b", "a@{b", "@", "a.lock", "a b", "a\nb", "a\x00b", "a~b", "a:b", "\xff", strings.Repeat("x", 201)} {
			for _, key := range []string{"", "known", "new"} {
				for _, opts := range []kernel.SubmitOptions{{Head: bad, Lane: queue}, {Head: head, Lane: bad}} {
					opts.Body, opts.Key = k.User("x"), key
					written(k, 0, fmt.Sprintf("%q", bad), func() {
						if _, err := k.Submit(k.Ctx, opts); !errors.Is(err, kernel.ErrInvalid) {
							t.Errorf("submit to head %q lane %q: got error %v, want %v", opts.Head, opts.Lane, err, kernel.ErrInvalid)
						}
					})
				}
			}
		}
		for _, key := range []string{"a\nb", "a\x00", "\x7f", strings.Repeat("k", kernel.MaxKey+1), "\xff"} {
			if _, err := k.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("x"), Key: key}); !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("submit with key %.20q: got error %v, want %v", key, err, kernel.ErrInvalid)
			}
		}
		if _, err := k.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: queue}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("submit without a body: got error %v, want %v", err, kernel.ErrInvalid)
		}
		same(t, "objects after refused calls", objects, len(must(k.ListObjects(k.Ctx))(t)))
	})
}

func TestC053_UnusualHeadNames(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		for _, name := range []string{"会話", "🙂", "a!$&'()+,;=b", "a\u2028b", "-", "100%", "é"} {
			k.Submitted(kernel.SubmitOptions{Head: name, Lane: queue, Body: k.User("hello"), Key: name})
			opts := k.Options()
			opts.Head = name
			for range 2 {
				must(k.Step(k.Ctx, opts))(t)
			}
			oid := k.Ref(ref.Head(name))
			same(t, name, []string{"u:hello", "a:re: hello"}, kerneltest.Texts(must(view.Branch(k.Ctx, k.Session, oid, 0))(t)))
		}
		same(t, "heads", 7, len(must(k.ListRefs(k.Ctx, ref.Heads))(t)))
	})
}

func TestC054_C222_HundredSubmittersOneChain(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) { submitters(t, k, []*kernel.Session{k.Session}) })
}

func TestC055_TwoConnectionsOneChain(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		submitters(t, k, []*kernel.Session{k.Process().Session, k.Process().Session})
	})
}

// submitters lets a hundred submit at once to two lanes, through the given handles.
func submitters(t *testing.T, k *kerneltest.Kit, handles []*kernel.Session) {
	t.Helper()
	const n = 100
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			_, errs[i] = handles[i%len(handles)].Submit(k.Ctx, kernel.SubmitOptions{
				Head: head, Lane: []string{steer, queue}[i/(n/2)], Body: k.User(fmt.Sprint(i)), Key: fmt.Sprint("key", i),
			})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	same(t, "pending", n, len(k.PendingTexts()))
	same(t, "receipts", n, len(must(k.ListRefs(k.Ctx, ref.Keys))(t)))
	for _, lane := range must(view.LoadLanes(k.Ctx, k.Session, head))(t) {
		same(t, "chain of lane "+lane.Lane, n/2, len(lane.Changes))
		var previous object.OID
		for _, c := range lane.Changes {
			same(t, "previous", previous, c.Change.Previous)
			previous = c.OID
		}
	}
}

func TestC056_SameKeyIsDuplicate(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		opts := kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("once"), Key: "k"}
		first := k.Submitted(opts)
		retry := func(when string) {
			written(k, 0, when, func() {
				opts.Body = k.User("another text")
				for _, s := range []*kernel.Session{k.Session, k.Process().Session} {
					same(t, when, kernel.SubmitOutcome(kernel.Duplicate{Change: first}), must(s.Submit(k.Ctx, opts))(t))
				}
			})
		}
		retry("while pending")
		k.StepIs("continue")
		retry("once landed")
		k.Settle()
		retry("once answered")
		same(t, "branch", []string{"u:once", "a:re: once"}, k.Texts())
	})
}

func TestC057_KeySurvivesRedelivery(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		actor := &object.Actor{UserID: "ann", Device: "phone"}
		first := k.Submitted(kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("hi"), Key: "k", Author: actor})
		moved := must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: first, Lane: steer}))(t)
		r, ok := moved.(kernel.Redelivered)
		if !ok {
			t.Fatalf("redeliver: got %#v", moved)
		}
		again := must(k.Submit(k.Ctx, kernel.SubmitOptions{Head: head, Lane: queue, Body: k.User("hi"), Key: "k"}))(t)
		same(t, "the receipt", kernel.SubmitOutcome(kernel.Duplicate{Change: first}), again)
		k.StepIs("continue")
		landed := k.Branch()[0].Commit
		same(t, "key, author and change of the commit", object.Commit{Key: "k", Author: actor, Change: r.Change},
			object.Commit{Key: landed.Key, Author: landed.Author, Change: landed.Change})
	})
}

func TestC058_LanesAreIndependent(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send("low", "l1")
		k.Send("high", "h1")
		k.Send("low", "l2")
		k.Send("high", "h2")
		k.Landing.Lanes = []kernel.LandingLane{{Lane: "high", Lands: kernel.WhenIdle}, {Lane: "low", Lands: kernel.WhenIdle}}
		k.StepIs("continue")
		k.Settle()
		same(t, "branch", []string{"u:h1", "a:re: h1", "u:h2", "a:re: h2", "u:l1", "a:re: l1", "u:l2", "a:re: l2"}, k.Texts())
	})
}

func TestC059_IdleLaneIsInvisibleAtBoundaries(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(queue, "idle only")
		lanes := must(view.LoadLanes(k.Ctx, k.Session, head))(t)
		if b := k.Landing.Next(lanes, true); len(b.Changes) > 0 {
			t.Errorf("at a boundary %v lands", b.Changes)
		}
		if b := k.Landing.Next(lanes, false); len(b.Changes) != 1 || b.Lane != queue {
			t.Errorf("on an idle head %#v lands", b)
		}
	})
}

func TestC060_CancelLeavesNeighboursAlone(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		a, b, c := k.Send(queue, "a"), k.Send(queue, "b"), k.Send(queue, "c")
		for i := range 2 {
			written(k, 1-i, "cancel", func() {
				same(t, "cancel", kernel.CancelOutcome(kernel.Cancelled{}), must(k.Cancel(k.Ctx, head, b, nil))(t))
			})
		}
		same(t, "unknown", kernel.CancelOutcome(kernel.NotFound{}), must(k.Cancel(k.Ctx, head, object.Hash([]byte("x")), nil))(t))
		var left []object.OID
		for _, p := range must(k.Pending(k.Ctx, head))(t) {
			left = append(left, p.OID)
		}
		same(t, "neighbours", []object.OID{a, c}, left)
	})
}

func TestC061_LandingSkipsWithdrawn(t *testing.T) {
	for drain, want := range map[kernel.Drain][]string{kernel.DrainOne: {"u:b"}, kernel.DrainAll: {"u:b", "u:d"}} {
		over(t, func(t *testing.T, k *kerneltest.Kit) {
			k.Landing.Drain = drain
			a, _, c, _, e := k.Send(queue, "a"), k.Send(queue, "b"), k.Send(queue, "c"), k.Send(queue, "d"), k.Send(queue, "e")
			for _, x := range []object.OID{a, c, e} {
				must(k.Cancel(k.Ctx, head, x, nil))(t)
			}
			b := k.Landing.Next(must(view.LoadLanes(k.Ctx, k.Session, head))(t), false)
			same(t, "skipped", map[kernel.Drain]int{kernel.DrainOne: 1, kernel.DrainAll: 2}[drain], len(b.Skipped))
			k.StepIs("continue")
			same(t, "branch", want, k.Texts())
			k.Settle()
			same(t, "pending", []string{}, k.PendingTexts())
		})
	}
}

func TestC062_LandedAnswersLanded(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		a := k.Send(queue, "a")
		k.StepIs("continue")
		written(k, 0, "calls on a landed change", func() {
			same(t, "cancel", kernel.CancelOutcome(kernel.Landed{}), must(k.Cancel(k.Ctx, head, a, nil))(t))
			same(t, "redeliver", kernel.RedeliverOutcome(kernel.Landed{}), must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: a, Lane: steer}))(t))
			same(t, "edit", kernel.RedeliverOutcome(kernel.Landed{}), must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: a, Body: k.User("b")}))(t))
		})
	})
}

// redelivered redelivers what must be redelivered and returns the copy.
func redelivered(k *kerneltest.Kit, opts kernel.RedeliverOptions) object.OID {
	k.Helper()
	opts.Head = head
	outcome := must(k.Redeliver(k.Ctx, opts))(k)
	r, ok := outcome.(kernel.Redelivered)
	if !ok {
		k.Fatalf("redeliver: got %#v", outcome)
	}
	return r.Change
}

func TestC063_MoveBetweenLanes(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		k.Send(steer, "s")
		a := k.Send(queue, "a")
		k.Clock.Advance(1000)
		c := redelivered(k, kernel.RedeliverOptions{Change: a, Lane: steer})
		if c == a {
			t.Error("the copy has the oid of the original")
		}
		lanes := must(view.LoadLanes(k.Ctx, k.Session, head))(t)
		same(t, "visible", []int{0, 2}, []int{len(lanes[0].Visible()), len(lanes[1].Visible())})
		copied := lanes[1].Changes[1].Change
		same(t, "the copy", object.Change{Previous: lanes[1].Changes[0].OID, Supersedes: a, Body: k.User("a"), At: copied.At}, copied)
		written(k, 0, "same lane, unknown", func() {
			same(t, "same lane", kernel.RedeliverOutcome(kernel.Unchanged{}), must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: c, Lane: steer}))(t))
			same(t, "unknown", kernel.RedeliverOutcome(kernel.NotFound{}), must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: object.Hash([]byte("x")), Lane: steer}))(t))
			same(t, "in front of itself elsewhere", kernel.RedeliverOutcome(kernel.NotFound{}),
				must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: c, Lane: queue, Place: kernel.Placement{Before: c}}))(t))
		})
	})
}

func TestC064_EditKeepsItsPlace(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		a, b := k.Send(queue, "a"), k.Send(queue, "b")
		k.Send(queue, "c")
		redelivered(k, kernel.RedeliverOptions{Change: b, Body: k.User("B")})
		same(t, "pending", []string{"a", "B", "c"}, k.PendingTexts())
		same(t, "untouched prefix", a, must(k.Pending(k.Ctx, head))(t)[0].OID)
		// A client that still holds the old oid speaks about the same message.
		redelivered(k, kernel.RedeliverOptions{Change: b, Body: k.User("BB")})
		same(t, "pending", []string{"a", "BB", "c"}, k.PendingTexts())
	})
}

func TestC065_Reorder(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		var oids []object.OID
		for _, text := range []string{"a", "b", "c", "d"} {
			oids = append(oids, k.Send(queue, text))
			k.Clock.Advance(1000)
		}
		redelivered(k, kernel.RedeliverOptions{Change: oids[3], Place: kernel.Placement{Before: oids[1]}})
		same(t, "the newest in front", []string{"a", "d", "b", "c"}, k.PendingTexts())
		redelivered(k, kernel.RedeliverOptions{Change: oids[0], Place: kernel.Placement{End: true}})
		same(t, "the oldest behind", []string{"d", "b", "c", "a"}, k.PendingTexts())
		same(t, "in front of itself", kernel.RedeliverOutcome(kernel.Unchanged{}),
			must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: oids[0], Place: kernel.Placement{Before: oids[0]}}))(t))
		k.Settle()
		same(t, "landing order", []string{"u:d", "a:re: d", "u:b", "a:re: b", "u:c", "a:re: c", "u:a", "a:re: a"}, k.Texts())
	})
}

func TestC066_EditRacesCancel(t *testing.T) {
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		a := k.Send(queue, "a")
		p := k.Process()
		gate := p.Gate(at, update("redeliver"))
		edited := meanwhile(t, gate, func() (kernel.RedeliverOutcome, error) {
			return p.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: a, Body: k.User("A")})
		}, func() {
			same(t, "cancel", kernel.CancelOutcome(kernel.Cancelled{}), must(k.Cancel(k.Ctx, head, a, nil))(t))
		})
		// The cancel follows an edit that came first to its copy.
		if _, ok := edited.(kernel.Redelivered); ok != (at == storetest.After) {
			t.Errorf("edit: got %#v", edited)
		}
		same(t, "pending", []string{}, k.PendingTexts())
	})
	both(t, func(t *testing.T, k *kerneltest.Kit, at storetest.Moment) {
		a := k.Send(queue, "a")
		p := k.Process()
		gate := p.Gate(at, update("cancel"))
		cancelled := meanwhile(t, gate, func() (kernel.CancelOutcome, error) { return p.Cancel(k.Ctx, head, a, nil) }, func() {
			must(k.Redeliver(k.Ctx, kernel.RedeliverOptions{Head: head, Change: a, Body: k.User("A")}))(t)
		})
		same(t, "cancel", kernel.CancelOutcome(kernel.Cancelled{}), cancelled)
		same(t, "pending", []string{}, k.PendingTexts())
	})
}

// The same words at the same moment, first in the lanes of two heads, are two messages: what happens to one does not happen to the other.
func TestSameWordsAtOnceInTwoHeads(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		said := func(s *kernel.Session, name string) object.OID {
			q, _ := must(s.Submit(k.Ctx, kernel.SubmitOptions{Head: name, Lane: queue, Body: k.User("go")}))(t).(kernel.Queued)
			return q.Change
		}
		one, two := said(k.Session, "one"), said(k.Process().Session, "two") // two processes that know nothing of each other
		same(t, "cancel", kernel.CancelOutcome(kernel.Cancelled{}), must(k.Cancel(k.Ctx, "one", one, nil))(t))
		left := must(k.Pending(k.Ctx, "two"))(t)
		if len(left) != 1 || left[0].OID != two {
			t.Errorf("the other head has %d messages pending, want the one it was sent", len(left))
		}
	})
}
