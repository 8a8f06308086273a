package kernel_test

import (
	"context"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/kerneltest"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// Sessions that share contexts share their bound: the head that stepped longest ago is forgotten, and read again when it steps.
func TestContextsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct{ commits, read int }{
		"room for one head": {4, 3 + 3 + 4 + 4},
		"room for both":     {100, 3 + 3 + 1 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(t *testing.T, k *kerneltest.Kit) {
				shared := kernel.NewContexts(tc.commits)
				counted := &counting{Session: k.Session.Session}
				heads := []string{"one", "two"}
				var sessions []*kernel.Session
				for _, h := range heads {
					kerneltest.Draw(t, k.Session, "A-b-c "+h)
					sessions = append(sessions, kernel.New(counted, &kernel.Options{Now: k.Clock.Now, Contexts: shared}))
					k.Submitted(kernel.SubmitOptions{Head: h, Lane: queue, Body: k.User("to " + h)})
				}
				for _, want := range []string{"continue", "finished"} { // it lands, and is answered
					for i, h := range heads {
						opts := k.Options()
						opts.Head = h
						same(t, h, want, kernel.StepName(must(sessions[i].Step(k.Ctx, opts))(t)))
					}
				}
				same(t, "commits read", tc.read, counted.commits)
			})
		})
	}
}

// A collection reads a session of any size in pages.
func TestCollectReadsInPages(t *testing.T) {
	over(t, func(t *testing.T, k *kerneltest.Kit) {
		for range 300 {
			k.Send(queue, "q")
		}
		counted := &counting{Session: k.Session.Session}
		got := must(kernel.New(counted, &kernel.Options{Now: k.Clock.Now}).Collect(k.Ctx, 0))(t)
		if got.Reachable < 300 || got.Swept != 0 {
			t.Errorf("got %+v, want all 300 changes kept", got)
		}
		if counted.most > 256 {
			t.Errorf("got %d objects at once, want at most 256", counted.most)
		}
	})
}

// counting counts the most objects that were read at once, and the commits of branches that were read.
type counting struct {
	store.Session
	most, commits int
}

func (c *counting) GetObjects(ctx context.Context, oids []object.OID) ([]object.Object, error) {
	c.most = max(c.most, len(oids))
	return c.Session.GetObjects(ctx, oids)
}

func (c *counting) Chain(ctx context.Context, from, stop object.OID, limit int) ([]store.Entry, error) {
	entries, err := c.Session.Chain(ctx, from, stop, limit)
	for _, e := range entries {
		if _, ok := e.Object.(object.Commit); ok {
			c.commits++
		}
	}
	return entries, err
}
