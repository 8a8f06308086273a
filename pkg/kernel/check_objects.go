package kernel

import (
	"context"
	"errors"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// readPage is how many objects a walk over a whole session reads at once.
const readPage = 256

// readObjects reads all that refs and retained ref events reach. Every link must resolve to an object of its kind (invariants 38, 42).
func (c *checker) readObjects(ctx context.Context) error {
	var todo []object.OID
	add := func(oids ...object.OID) {
		for _, oid := range oids {
			if _, seen := c.objects[oid]; !seen && !oid.IsZero() {
				c.objects[oid] = nil
				todo = append(todo, oid)
			}
		}
	}
	for _, r := range c.refs {
		add(r.OID)
	}
	for _, e := range c.events {
		if r, ok := e.Body.(store.RefEvent); ok {
			add(r.From, r.To)
		}
	}
	for len(todo) > 0 {
		page := todo[:min(readPage, len(todo))]
		todo = todo[len(page):]
		if err := c.load(ctx, page); err != nil {
			return err
		}
		for _, oid := range page {
			if o := c.objects[oid]; o != nil {
				add(object.Links(o)...)
			}
		}
	}
	c.checkLinks()
	return nil
}

// load reads a page of objects, one by one when one of them is corrupt.
func (c *checker) load(ctx context.Context, page []object.OID) error {
	objs, err := c.r.GetObjects(ctx, page)
	if err == nil {
		for i, o := range objs {
			c.objects[page[i]] = o
			if o == nil {
				c.problem(42, page[i].String(), "is linked and not stored")
			}
		}
		return nil
	}
	if !errors.Is(err, object.ErrCorrupt) {
		return err
	}
	for _, oid := range page {
		o, ok, err := c.r.GetObject(ctx, oid)
		switch {
		case errors.Is(err, object.ErrCorrupt):
			c.problem(42, oid.String(), "%v", err)
		case err != nil:
			return err
		case !ok:
			c.problem(42, oid.String(), "is linked and not stored")
		default:
			c.objects[oid] = o
		}
	}
	return nil
}

func (c *checker) checkLinks() {
	for oid, o := range c.objects {
		switch o := o.(type) {
		case object.Commit:
			c.link(41, oid, "parent", o.Parent, "commit")
			c.link(42, oid, "change", o.Change, "change")
			for _, imported := range o.Imports {
				c.link(41, oid, "import", imported, "commit")
			}
		case object.Change:
			c.link(36, oid, "previous", o.Previous, "change")
		case object.Stack:
			c.link(33, oid, "base", o.Base, "commit")
		case object.Waiting:
			c.link(9, oid, "intent", o.Intent, "intent")
		case object.Expired:
			c.link(9, oid, "intent", o.Intent, "intent")
			c.link(46, oid, "wait", o.Waiting, "waiting")
		case object.Signal:
			c.link(9, oid, "intent", o.Intent, "intent")
			c.link(46, oid, "wait", o.Waiting, "waiting")
		case object.Result:
			c.link(9, oid, "intent", o.Intent, "intent")
		case object.Run, object.Blob, object.Intent:
		}
	}
}

func (c *checker) link(invariant int, from object.OID, what string, to object.OID, want string) {
	o := c.objects[to]
	if to.IsZero() || o == nil { // a missing one is reported once, by itself
		return
	}
	got := object.Kind(o)
	if e, ok := o.(object.Effect); ok {
		got = object.StateName(e)
	}
	if got != want {
		c.problem(invariant, from.String(), "its %s %s is a %s where a %s belongs", what, to, got, want)
	}
}
