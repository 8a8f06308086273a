package dynstore

import (
	"github.com/stepwell-dev/stepwell/internal/unpack"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// A link says where an object stands in its chain and which objects before it a reader should fetch with it.
//
// An object of generation g lists the newest of its ancestors back to a multiple of 8, the multiples of 8 before those back to a
// multiple of 64, and so on. A reader that fetches what is listed, and then what those list, has any chain in as many rounds as its length
// has digits to the base 8, plus one. The lists are hints: what is read is linked by what is under its hash.
type link struct {
	generation int
	ancestors  []object.OID // the newest first
}

const (
	radix     = 8
	maxLevels = 8
)

// listed returns the generations that an object of generation g lists, the newest first.
func listed(g int) []int {
	var out []int
	block := 1
	for next, level := g-1, 0; next >= 0 && level < maxLevels; level++ {
		for {
			out = append(out, next)
			if next%(block*radix) == 0 {
				break
			}
			next -= block
		}
		block *= radix
		next -= block
	}
	return out
}

// follow returns the link of an object whose parent has the given link.
func follow(parent object.OID, up link) link {
	at := map[int]object.OID{up.generation: parent}
	for i, g := range listed(up.generation) {
		if i < len(up.ancestors) {
			at[g] = up.ancestors[i]
		}
	}
	l := link{generation: up.generation + 1}
	for _, g := range listed(l.generation) {
		oid, ok := at[g]
		if !ok {
			break // a parent that begins anew
		}
		l.ancestors = append(l.ancestors, oid)
	}
	return l
}

// begin returns the link of an object whose parent is unknown or that has none.
func begin(parent object.OID) link {
	if parent.IsZero() {
		return link{}
	}
	return link{ancestors: []object.OID{parent}}
}

// distance returns how many steps the i-th listed ancestor is away.
func (l link) distance(i int) int {
	if l.generation == 0 {
		return i + 1
	}
	return l.generation - listed(l.generation)[i]
}

func (l link) encode() []byte {
	out := make([]byte, 0, len(l.ancestors)*len(object.OID{}))
	for _, oid := range l.ancestors {
		out = append(out, oid[:]...)
	}
	return out
}

func decodeLink(it item) link {
	g, err := optionalInt(it, attrGeneration)
	if err != nil || g < 0 || g > 1<<40 {
		return link{} // hints only
	}
	l := link{generation: int(g)}
	for r := (&unpack.Reader{Rest: binaryOf(it, attrAncestors)}); len(r.Rest) >= len(object.OID{}); {
		l.ancestors = append(l.ancestors, object.OID(r.Take(len(object.OID{}))))
	}
	if g > 0 {
		l.ancestors = l.ancestors[:min(len(l.ancestors), len(listed(l.generation)))]
	}
	return l
}
