package kernel_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// A look tells of every head what a step of it would find, writes nothing, and leaves heads alone that somebody holds.
func TestLook(t *testing.T) {
	stores(t, func(t *testing.T, open storetest.Opener) {
		k := kerneltest.New(t, open)
		k.Script.Toolbox = asking()
		p := k.Process()
		look := func(what string, next object.Millis, ready ...string) {
			t.Helper()
			before := len(p.Calls())
			a := must(p.Look(k.Ctx, k.Landing))(t)
			for _, c := range p.Calls()[before:] {
				if c.Op.Writes() {
					t.Errorf("%s: a look writes: %v", what, c)
				}
			}
			if !slices.Equal(a.Ready, ready) || a.Next != next || a.Seq != must(k.LastSeq(k.Ctx))(t) {
				t.Errorf("%s: a look sees %+v, want %v ready and %d next", what, a, ready, next)
			}
		}
		look("nothing", 0)
		k.Send(kerneltest.Steer, "use ask")
		must(p.Submit(k.Ctx, kernel.SubmitOptions{Head: "side", Lane: kerneltest.Steer, Body: k.User("hello")}))(t)
		look("two heads", 0, "side", head)
		lease := acquire(k)
		look("one of them held", 0, "side")
		if a := must(p.Look(k.Ctx, k.Landing))(t); !slices.Equal(a.Held, []string{head}) {
			t.Errorf("held are %v", a.Held)
		}
		k.Clock.Advance(kernel.DefaultTTL + time.Second)
		look("its holder gone", 0, "side", head)
		must(k.ReleaseLease(k.Ctx, lease))(t)
		k.Settle()
		look("one parked for ever", 0, "side")
		if err := reply(k, k.Session); err != nil {
			t.Fatal(err)
		}
		look("answered", 0, "side", head)
		opts := k.Options()
		opts.Head = "side"
		must(k.Drive(k.Ctx, opts))(t)
		k.Settle()
		look("all done", 0)
	})
}

// What a turn is about to do is told before it does it, so that somebody can be told to look afterwards.
func TestBeforeCall(t *testing.T) {
	k := kerneltest.New(t, kerneltest.Memory)
	k.Script.Toolbox = asking()
	k.Send(kerneltest.Steer, "use ask")
	var told []object.Millis
	opts := k.Options()
	opts.BeforeCall = func(_ context.Context, l store.Lease) { told = append(told, l.ExpiresAt) }
	for range 3 { // land, respond, tools
		must(k.Step(k.Ctx, opts))(t)
	}
	if want := k.Now() + object.Millis(kernel.DefaultTTL.Milliseconds()); !slices.Equal(told, []object.Millis{want, want}) {
		t.Errorf("told of %v, want twice %d", told, want)
	}
}
