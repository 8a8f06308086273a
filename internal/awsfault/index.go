package awsfault

import (
	"net/http"
	"slices"
)

// An index is a secondary index of a table.
type index struct {
	KeySchema  []keyAttribute
	Projection struct {
		ProjectionType   string
		NonKeyAttributes []string
	}
}

// entry returns what the index holds of an item of t, nil when the item lacks an attribute of the index's key.
func (x index) entry(t *table, i item) item {
	if i == nil {
		return nil
	}
	keep := slices.Clone(x.Projection.NonKeyAttributes)
	for _, k := range x.KeySchema {
		if _, ok := i[k.AttributeName]; !ok {
			return nil
		}
		keep = append(keep, k.AttributeName)
	}
	for _, k := range t.KeySchema {
		keep = append(keep, k.AttributeName)
	}
	out := item{}
	for name, v := range i {
		if x.Projection.ProjectionType == "ALL" || slices.Contains(keep, name) {
			out[name] = v
		}
	}
	return out
}

// units is what a change of an item of t costs in the index: nothing where it does not show, twice where the entry moves.
func (x index) units(t *table, c change) float64 {
	before, after := x.entry(t, c.old), x.entry(t, c.new)
	moved := slices.ContainsFunc(x.KeySchema, func(k keyAttribute) bool {
		return text(item{"": before[k.AttributeName]}) != text(item{"": after[k.AttributeName]})
	})
	switch {
	case before == nil && after == nil, text(before) == text(after):
		return 0
	case before == nil || after == nil || !moved:
		return units(max(before.size(), after.size()), writeUnit)
	}
	return units(before.size(), writeUnit) + units(after.size(), writeUnit)
}

// indexUnits is what a change costs in every index of its table.
func (p *tables) indexUnits(req *http.Request, name string, c change) float64 {
	t := p.describe(req, name)
	if t == nil {
		return 0
	}
	n := 0.0
	for _, x := range slices.Concat(t.GlobalSecondaryIndexes, t.LocalSecondaryIndexes) {
		n += x.units(t, c)
	}
	return n
}
