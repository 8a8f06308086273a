package ref

import (
	"fmt"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A Parsed ref is a name taken apart: one of [HeadRef], [StackRef], [QueueRef], [RunRef], [EffectRef], [KeyRef],
// [FactRef], [TombstoneRef], [DeletedRef] or [OtherRef].
//
//sumtype:decl
type Parsed interface{ parsed() }

func (HeadRef) parsed()      {}
func (StackRef) parsed()     {}
func (QueueRef) parsed()     {}
func (RunRef) parsed()       {}
func (EffectRef) parsed()    {}
func (KeyRef) parsed()       {}
func (FactRef) parsed()      {}
func (TombstoneRef) parsed() {}
func (DeletedRef) parsed()   {}
func (OtherRef) parsed()     {}

type (
	// HeadRef is refs/heads/<head>.
	HeadRef struct{ Head string }
	// StackRef is refs/stacks/<head>.
	StackRef struct{ Head string }
	// QueueRef is refs/queues/<head>/<lane>/tip or …/base.
	QueueRef struct {
		Head, Lane string
		Position   Position
	}
	// RunRef is refs/runs/<head>.
	RunRef struct{ Head string }
	// EffectRef is refs/effects/<run>/<call>.
	EffectRef struct{ Run, Call string }
	// KeyRef is refs/keys/<key>.
	KeyRef struct{ Key string }
	// FactRef is refs/facts/<key>.
	FactRef struct{ Key string }
	// TombstoneRef is refs/cancelled/<change>.
	TombstoneRef struct{ Change object.OID }
	// DeletedRef is refs/deleted.
	DeletedRef struct{}
	// OtherRef is a valid name of no known family.
	OtherRef struct{ Name Name }
)

// A Position is an end of a lane.
type Position string

// The ends of a lane.
const (
	Tip  Position = "tip"
	Base Position = "base"
)

// Parse takes n apart. A name that is not valid, or belongs to a family and breaks its form, is [ErrBadName].
func Parse(n Name) (Parsed, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	p, err := parse(n)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func parse(n Name) (Parsed, error) {
	s := string(n)
	switch {
	case n == Deleted:
		return DeletedRef{}, nil
	case strings.HasPrefix(s, Heads):
		h := s[len(Heads):]
		return HeadRef{h}, CheckHead(h)
	case strings.HasPrefix(s, Stacks):
		h := s[len(Stacks):]
		return StackRef{h}, CheckHead(h)
	case strings.HasPrefix(s, Runs):
		h := s[len(Runs):]
		return RunRef{h}, CheckHead(h)
	case strings.HasPrefix(s, Queues):
		return ParseQueue(n)
	case strings.HasPrefix(s, Effects):
		run, call, ok := strings.Cut(s[len(Effects):], "/")
		if !ok {
			return nil, fmt.Errorf("%w: %q is not an effect ref", ErrBadName, s)
		}
		r, err := Unescape(run)
		if err != nil {
			return nil, err
		}
		c, err := Unescape(call)
		return EffectRef{r, c}, err
	case strings.HasPrefix(s, Keys):
		k, err := Unescape(s[len(Keys):])
		return KeyRef{k}, err
	case strings.HasPrefix(s, Facts):
		return parseFact(s)
	case strings.HasPrefix(s, Cancelled):
		o, err := object.ParseOID(s[len(Cancelled):])
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a tombstone: %w", ErrBadName, s, err)
		}
		return TombstoneRef{o}, nil
	}
	return OtherRef{n}, nil
}

// ParseQueue reads refs/queues/<head>/<lane>/(tip|base).
func ParseQueue(n Name) (QueueRef, error) {
	rest, ok := strings.CutPrefix(string(n), Queues)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || CheckHead(parts[0]) != nil || CheckLane(parts[1]) != nil {
		return QueueRef{}, fmt.Errorf("%w: %q is not a queue ref", ErrBadName, n)
	}
	pos := Position(parts[2])
	switch pos {
	case Tip, Base:
		return QueueRef{parts[0], parts[1], pos}, nil
	}
	return QueueRef{}, fmt.Errorf("%w: %q is not a queue ref", ErrBadName, n)
}

func parseFact(s string) (Parsed, error) {
	parts := strings.Split(s[len(Facts):], "/")
	for i, p := range parts {
		u, err := Unescape(p)
		if err != nil {
			return nil, err
		}
		parts[i] = u
	}
	return FactRef{strings.Join(parts, "/")}, nil
}
