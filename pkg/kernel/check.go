package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// A Problem is one broken promise that a session's data show.
type Problem struct {
	Invariant int    // its number in the design; 0 for what has no number: names, and valid requests (Rule G)
	Where     string // a ref, an object or an event
	Detail    string
}

// String returns the problem in one line.
func (p Problem) String() string {
	if p.Invariant == 0 {
		return fmt.Sprintf("%s: %s", p.Where, p.Detail)
	}
	return fmt.Sprintf("%s: %s (invariant %d)", p.Where, p.Detail, p.Invariant)
}

// Check reads everything of a session and returns every invariant that its data break, in a fixed order; a sound session gives none.
// Nobody may write to the session meanwhile: what moves can look broken. It holds the whole session in memory. An error means that the store
// could not be read; damage is a problem, not an error.
func Check(ctx context.Context, r store.Reader) ([]Problem, error) {
	c := &checker{r: r, objects: make(map[object.OID]object.Object)}
	for _, part := range []func(context.Context) error{c.readRefs, c.readEvents, c.readObjects, c.checkHeads} {
		if err := part(ctx); err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
	}
	c.checkRefs()
	c.checkLanes()
	c.checkLandings()
	c.checkKeys()
	c.checkRuns()
	c.checkEffects()
	c.checkReplay()
	c.checkDeltas()
	c.checkDeleted()
	slices.SortFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Invariant, b.Invariant), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(c.problems), nil
}

// A checker holds a session as it was read.
type checker struct {
	r       store.Reader
	refs    []checkedRef
	oids    map[ref.Name]object.OID
	floor   store.Seq
	last    store.Seq
	events  []store.Event                // those above the floor, as far as they can be read
	objects map[object.OID]object.Object // reachable ones; nil where one is missing or corrupt

	problems []Problem
}

// A checkedRef is a ref whose name was understood.
type checkedRef struct {
	store.Ref
	parsed ref.Parsed
}

func (c *checker) problem(invariant int, where, format string, args ...any) {
	c.problems = append(c.problems, Problem{invariant, where, fmt.Sprintf(format, args...)})
}

func (c *checker) readRefs(ctx context.Context) error {
	refs, err := c.r.ListRefs(ctx, "")
	if err != nil {
		return err
	}
	c.oids = make(map[ref.Name]object.OID, len(refs))
	for _, r := range refs {
		c.oids[r.Name] = r.OID
		parsed, err := ref.Parse(r.Name)
		if err != nil {
			c.problem(0, string(r.Name), "the name is not valid: %v", err)
			continue
		}
		if _, other := parsed.(ref.OtherRef); other {
			c.problem(0, string(r.Name), "the name is of no known family")
		}
		c.refs = append(c.refs, checkedRef{r, parsed})
	}
	return nil
}

// wants returns the kind of object that refs of a family point to, "" for any.
func wants(p ref.Parsed) string {
	switch p.(type) {
	case ref.HeadRef:
		return "commit"
	case ref.StackRef:
		return "stack"
	case ref.QueueRef, ref.KeyRef:
		return "change"
	case ref.RunRef:
		return "run"
	case ref.EffectRef:
		return "effect"
	case ref.FactRef, ref.TombstoneRef, ref.DeletedRef:
		return "blob"
	case ref.OtherRef:
		return ""
	}
	panic("unreachable")
}

// checkRefs holds every ref to the kind of its family (invariant 42).
func (c *checker) checkRefs() {
	for _, r := range c.refs {
		switch o, want := c.objects[r.OID], wants(r.parsed); {
		case o == nil:
			c.problem(42, string(r.Name), "names %s, which cannot be read", r.OID)
		case want != "" && object.Kind(o) != want:
			c.problem(42, string(r.Name), "names %s, a %s where a %s belongs", r.OID, object.Kind(o), want)
		}
	}
}
