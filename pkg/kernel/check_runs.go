package kernel

import (
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// checkRuns sees that a run belongs to the head that names it, and that a run with calls to answer stands on the message that made them
// (invariant 12: the refs are all that the next step has).
func (c *checker) checkRuns() {
	for _, r := range c.refs {
		p, ok := r.parsed.(ref.RunRef)
		if !ok {
			continue
		}
		run, ok := c.objects[r.OID].(object.Run)
		if !ok {
			continue
		}
		if run.Head != p.Head {
			c.problem(12, string(r.Name), "the run %s is of head %q", run.ID, run.Head)
		}
		switch run.Phase.(type) {
		case object.Tools, object.WaitingPhase:
			if !c.hasCalls(p.Head, run) && !c.movedAway(p.Head) {
				c.problem(12, string(r.Name), "the run %s is in phase %s, and the tip is no message of it with calls", run.ID, object.PhaseName(run.Phase))
			}
		case object.Respond, object.Retry, object.Done, object.Aborted, object.Failed:
		}
	}
}

func (c *checker) hasCalls(head string, run object.Run) bool {
	tip, _ := c.objects[c.oids[ref.Head(head)]].(object.Commit)
	body, _ := tip.Body.(object.MessageBody)
	assistant, ok := body.Message.(message.Assistant)
	return ok && tip.Run == run.ID && len(assistant.Calls()) > 0
}

// movedAway reports whether a participant was the last to move a head, as far as the retained events tell: the run learns it at its
// next step.
func (c *checker) movedAway(head string) bool {
	reason := ""
	for _, e := range c.events {
		if r, ok := e.Body.(store.RefEvent); ok && r.Name == ref.Head(head) {
			reason = r.Reason
		}
	}
	return reason == "move" || reason == "merge" || reason == "delete" || reason == "create"
}

// checkEffects sees that an open call is the one its ref names, and of a run that will answer it (invariant 9). A call that a runner
// opened while its head was being deleted may stay behind.
func (c *checker) checkEffects() {
	runs := c.currentRuns()
	known := c.runsOfEvents()
	for _, r := range c.refs {
		p, ok := r.parsed.(ref.EffectRef)
		if !ok {
			continue
		}
		effect, ok := c.objects[r.OID].(object.Effect)
		if !ok {
			continue
		}
		if intent, ok := c.objects[object.IntentOf(r.OID, effect)].(object.Intent); ok && (intent.RunID != p.Run || intent.CallID != p.Call) {
			c.problem(9, string(r.Name), "the intent is of the call %q of run %s", intent.CallID, intent.RunID)
		}
		run, live := runs[p.Run]
		if !live {
			if c.floor == 0 && !known[p.Run] {
				c.problem(9, string(r.Name), "there never was a run %s", p.Run)
			}
			continue
		}
		switch run.Phase.(type) {
		case object.Tools, object.WaitingPhase:
		case object.Respond, object.Retry, object.Done, object.Aborted, object.Failed:
			c.problem(9, string(r.Name), "the call is open while its run is in phase %s", object.PhaseName(run.Phase))
		}
	}
}

func (c *checker) currentRuns() map[string]object.Run {
	runs := make(map[string]object.Run)
	for _, r := range c.refs {
		if _, ok := r.parsed.(ref.RunRef); ok {
			if run, ok := c.objects[r.OID].(object.Run); ok {
				runs[run.ID] = run
			}
		}
	}
	return runs
}

// runsOfEvents returns the ids of all runs that the retained events tell of.
func (c *checker) runsOfEvents() map[string]bool {
	known := make(map[string]bool)
	for _, e := range c.events {
		r, ok := e.Body.(store.RefEvent)
		if !ok {
			continue
		}
		if run, ok := c.objects[r.To].(object.Run); ok {
			known[run.ID] = true
		}
	}
	return known
}
