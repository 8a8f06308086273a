package kernel

import (
	"fmt"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/view"
)

// A Landing policy says which lanes a runner serves, in priority order, and how much lands at once. It is passed to every step.
type Landing struct {
	Lanes []LandingLane
	Drain Drain
}

// A LandingLane is one lane of the policy.
type LandingLane struct {
	Lane  string
	Lands When
}

// When says when a lane lands.
type When string

const (
	// AtBoundary: before each response of the model, and on an idle head.
	AtBoundary When = "boundary"
	// WhenIdle: only when no run is live.
	WhenIdle When = "idle"
)

// Drain says how much of the selected lane lands at once.
type Drain string

const (
	// DrainOne lands through the first message, with the configuration and notes ahead of it.
	DrainOne Drain = "one"
	// DrainAll lands the whole lane.
	DrainAll Drain = "all"
)

// Validate reports the first rule that l breaks.
func (l Landing) Validate() error {
	if len(l.Lanes) == 0 {
		return fmt.Errorf("%w: landing policy has no lanes", ErrInvalid)
	}
	if l.Drain != DrainOne && l.Drain != DrainAll {
		return fmt.Errorf("%w: landing drain %q is not one or all", ErrInvalid, l.Drain)
	}
	seen := make(map[string]bool, len(l.Lanes))
	for i, lane := range l.Lanes {
		if err := ref.CheckLane(lane.Lane); err != nil {
			return fmt.Errorf("%w: landing lanes[%d]: %w", ErrInvalid, i, err)
		}
		if seen[lane.Lane] {
			return fmt.Errorf("%w: landing lanes[%d]: lane %q is listed twice", ErrInvalid, i, lane.Lane)
		}
		if lane.Lands != AtBoundary && lane.Lands != WhenIdle {
			return fmt.Errorf("%w: landing lanes[%d]: lands %q is not boundary or idle", ErrInvalid, i, lane.Lands)
		}
		seen[lane.Lane] = true
	}
	return nil
}

// Serves reports whether lane is in the policy.
func (l Landing) Serves(lane string) bool {
	for _, p := range l.Lanes {
		if p.Lane == lane {
			return true
		}
	}
	return false
}

// A Batch is what lands next: changes of one lane, oldest first. Skipped are the withdrawn changes that it passes over.
type Batch struct {
	Lane    string
	Base    object.OID
	Changes []view.Change
	Skipped []object.OID
}

func (b Batch) empty() bool { return len(b.Changes) == 0 }

// last is the change that the lane's base moves to.
func (b Batch) last() object.OID { return b.Changes[len(b.Changes)-1].OID }

// agent is the agent chosen with the batch's last message, "" when none is.
func (b Batch) agent() string {
	for i := len(b.Changes) - 1; i >= 0; i-- {
		if m, ok := b.Changes[i].Change.Body.(object.MessageBody); ok {
			return m.Agent
		}
	}
	return ""
}

func (b Batch) hasMessage() bool {
	for _, c := range b.Changes {
		if _, ok := c.Change.Body.(object.MessageBody); ok {
			return true
		}
	}
	return false
}

// Next returns what the policy lands next from lanes: the first lane in policy order that has a visible change. With boundaryOnly it
// looks only at boundary lanes, as a live run does.
func (l Landing) Next(lanes []view.Lane, boundaryOnly bool) Batch {
	for _, p := range l.Lanes {
		if boundaryOnly && p.Lands != AtBoundary {
			continue
		}
		for _, lane := range lanes {
			if lane.Lane != p.Lane {
				continue
			}
			if b := l.take(lane); !b.empty() {
				return b
			}
		}
	}
	return Batch{}
}

// Lands reports whether an idle head with these lanes has something to land.
func (l Landing) Lands(lanes []view.Lane) bool { return !l.Next(lanes, false).empty() }

func (l Landing) take(lane view.Lane) Batch {
	b := Batch{Lane: lane.Lane, Base: lane.Base}
	visible := len(lane.Visible())
	var skipped []object.OID
	for _, c := range lane.Changes {
		if c.Cancelled {
			skipped = append(skipped, c.OID)
			continue
		}
		b.Changes = append(b.Changes, c)
		b.Skipped, skipped = append(b.Skipped, skipped...), nil
		_, isMessage := c.Change.Body.(object.MessageBody)
		if l.Drain == DrainOne && isMessage || len(b.Changes) == visible {
			break
		}
	}
	return b
}
