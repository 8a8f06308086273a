package kernel

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
)

// A laneName is a lane of a head.
type laneName struct{ head, lane string }

// checkLanes walks every lane from its tip to its base (invariant 36), and sees that what lies between has not landed and what lies behind has
// landed or was withdrawn (invariant 37).
func (c *checker) checkLanes() {
	lanes := make(map[laneName]bool)
	for _, r := range c.refs {
		if q, ok := r.parsed.(ref.QueueRef); ok {
			lanes[laneName{q.Head, q.Lane}] = true
		}
	}
	landings := c.landings()
	for lane := range lanes {
		tip, base := c.oids[ref.QueueTip(lane.head, lane.lane)], c.oids[ref.QueueBase(lane.head, lane.lane)]
		where := string(ref.QueueTip(lane.head, lane.lane))
		if tip.IsZero() {
			c.problem(36, where, "the lane has a base and no tip")
			continue
		}
		for _, oid := range c.changes(where, tip, base) {
			if commits := landings[oid]; len(commits) > 0 {
				c.problem(37, where, "the change %s is pending and landed by %s", oid, commits[0])
			}
		}
		if c.floor > 0 {
			continue // the landing may be behind the floor and collected
		}
		for _, oid := range c.changes(where, base, object.OID{}) {
			if _, withdrawn := c.oids[ref.Tombstone(oid)]; !withdrawn && len(landings[oid]) == 0 {
				c.problem(37, where, "the change %s is behind the base, and neither landed nor withdrawn", oid)
			}
		}
	}
}

// changes returns the chain from a change back to stop, which it must reach.
func (c *checker) changes(where string, from, stop object.OID) []object.OID {
	var oids []object.OID
	seen := make(map[object.OID]bool)
	for oid := from; oid != stop; {
		change, ok := c.objects[oid].(object.Change)
		switch {
		case oid.IsZero():
			c.problem(36, where, "the chain does not reach its base %s", stop)
			return oids
		case seen[oid]:
			c.problem(36, where, "the chain has a cycle at %s", oid)
			return oids
		case !ok:
			c.problem(36, where, "the chain breaks at %s, which is no change", oid)
			return oids
		}
		seen[oid] = true
		oids = append(oids, oid)
		oid = change.Previous
	}
	return oids
}

// landings returns the reachable commits that landed each change, in a fixed order.
func (c *checker) landings() map[object.OID][]object.OID {
	landings := make(map[object.OID][]object.OID)
	for oid, o := range c.objects {
		if commit, ok := o.(object.Commit); ok && !commit.Change.IsZero() {
			landings[commit.Change] = append(landings[commit.Change], oid)
		}
	}
	for _, commits := range landings {
		slices.SortFunc(commits, object.OID.Compare)
	}
	return landings
}

// checkLandings sees that no change lands twice, and none that was withdrawn (invariant 37).
func (c *checker) checkLandings() {
	landings := c.landings()
	for change, commits := range landings {
		if len(commits) > 1 {
			c.problem(37, change.String(), "it landed %d times, by %s and %s", len(commits), commits[0], commits[1])
		}
	}
	for _, r := range c.refs {
		t, ok := r.parsed.(ref.TombstoneRef)
		if !ok {
			continue
		}
		if commits := landings[t.Change]; len(commits) > 0 {
			c.problem(37, string(r.Name), "the change is withdrawn and landed by %s", commits[0])
		}
		blob, ok := c.objects[r.OID].(object.Blob)
		if !ok {
			continue
		}
		var mark tombstone
		if err := json.Unmarshal(blob.Value, &mark); err != nil {
			c.problem(37, string(r.Name), "it is not a tombstone: %v", err)
			continue
		}
		if by, ok := c.objects[mark.By].(object.Change); ok && by.Supersedes != t.Change {
			c.problem(37, string(r.Name), "the copy %s supersedes another change", mark.By)
		}
	}
}

// checkKeys sees that every key has one receipt and one original change (invariant 7).
func (c *checker) checkKeys() {
	originals := make(map[string][]object.OID)
	for oid, o := range c.objects {
		if change, ok := o.(object.Change); ok && change.Key != "" && change.Supersedes.IsZero() {
			originals[change.Key] = append(originals[change.Key], oid)
		}
	}
	for _, r := range c.refs {
		k, ok := r.parsed.(ref.KeyRef)
		if !ok {
			continue
		}
		change, ok := c.objects[r.OID].(object.Change)
		switch {
		case !ok:
		case change.Key != k.Key:
			c.problem(7, string(r.Name), "the receipt names %s, whose key is %q", r.OID, change.Key)
		case !change.Supersedes.IsZero():
			c.problem(7, string(r.Name), "the receipt names %s, which is a copy", r.OID)
		}
	}
	for key, oids := range originals {
		slices.SortFunc(oids, object.OID.Compare)
		where := string(ref.Key(key))
		if len(oids) > 1 {
			c.problem(7, where, "%d changes were first submitted under the key, %s and %s among them", len(oids), oids[0], oids[1])
		}
		if receipt := c.oids[ref.Key(key)]; len(oids) == 1 && receipt != oids[0] {
			c.problem(7, where, "the change %s has the key and no receipt", oids[0])
		}
	}
}
