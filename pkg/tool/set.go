package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Set is an ordered, immutable registry of tools, safe for concurrent use.
type Set struct {
	entries []entry
	index   map[string]int
}

type entry struct {
	tool   Tool
	params *schema
}

// NewSet returns the set of tools in their order, with every zero [Replay] made [ReplayNever]. Schemas are compiled here,
// once per tool, so that a bad one is found at the start and not at the first call. An error names the tool: a bad or
// repeated name, an unknown replay policy, a nil Execute, or parameters that are not a usable schema of an object.
func NewSet(tools ...Tool) (*Set, error) {
	return (&Set{}).With(tools...)
}

// With returns a new set of the tools of s followed by other. Its errors are those of [NewSet].
func (s *Set) With(other ...Tool) (*Set, error) {
	next := &Set{entries: slices.Clone(s.entries), index: make(map[string]int, len(s.entries)+len(other))}
	for i, e := range next.entries {
		next.index[e.tool.Name] = i
	}
	for _, t := range other {
		e, err := newEntry(t)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		if _, dup := next.index[t.Name]; dup {
			return nil, fmt.Errorf("tool %q: the name is used twice", t.Name)
		}
		next.index[t.Name] = len(next.entries)
		next.entries = append(next.entries, e)
	}
	return next, nil
}

func newEntry(t Tool) (entry, error) {
	if !validName(t.Name) {
		return entry{}, errors.New("the name must be 1 to 64 of A-Z a-z 0-9 _ and -")
	}
	if t.Execute == nil {
		return entry{}, errors.New("execute is nil")
	}
	switch t.Replay {
	case "":
		t.Replay = ReplayNever
	case ReplaySafe, ReplayNever:
	default:
		return entry{}, fmt.Errorf("replay %q is not known; use %q or %q", t.Replay, ReplaySafe, ReplayNever)
	}
	params, err := compile(t.Parameters)
	if err != nil {
		return entry{}, fmt.Errorf("parameters: %w", err)
	}
	return entry{tool: t, params: params}, nil
}

// Lookup returns the tool called name.
func (s *Set) Lookup(name string) (Tool, bool) {
	i, ok := s.index[name]
	if !ok {
		return Tool{}, false
	}
	return s.entries[i].tool, true
}

// All returns the tools in order.
func (s *Set) All() []Tool {
	tools := make([]Tool, len(s.entries))
	for i, e := range s.entries {
		tools[i] = e.tool
	}
	return tools
}

// CheckArguments reports why the tool called name must not run with args, or nil. The text is meant for the model: it names
// the place in the arguments and what is wrong there. Arguments that are not I-JSON, that hold a number no double can
// hold, or that nest deeper than [MaxDepth] are refused whatever the schema says.
func (s *Set) CheckArguments(name string, args jsontext.Value) error {
	i, ok := s.index[name]
	if !ok {
		return fmt.Errorf("tool %q is not known; the tools are: %s", name, strings.Join(s.names(), ", "))
	}
	return s.entries[i].params.check(args)
}

func (s *Set) names() []string {
	names := make([]string, len(s.entries))
	for i, e := range s.entries {
		names[i] = e.tool.Name
	}
	return names
}

func validName(name string) bool {
	const maxName = 64
	if name == "" || len(name) > maxName {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
