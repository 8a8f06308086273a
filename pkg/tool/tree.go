package tool

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A tree is every subschema of a schema by its JSON Pointer, the root's being "".
type tree map[string]*jsonschema.Schema

// A child is a subschema of another.
type child struct {
	at     string // pointer below the parent
	schema *jsonschema.Schema
	// inPlace is true when the child applies to the same value as its parent, so that a cycle through it never ends.
	inPlace bool
}

// newTree returns the tree of root. It refuses references it cannot follow and schemas that apply themselves to the value
// they are being applied to, on which a validator would recurse until the process dies.
func newTree(root *jsonschema.Schema) (tree, error) {
	t := tree{}
	if err := t.add("", root, 0); err != nil {
		return nil, err
	}
	done := map[*jsonschema.Schema]bool{}
	for _, at := range sortedKeys(t) {
		if err := t.checkEnds(at, t[at], map[*jsonschema.Schema]bool{}, done); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t tree) add(at string, s *jsonschema.Schema, depth int) error {
	if s == nil {
		return fmt.Errorf("the schema at %q is null", at)
	}
	if depth > MaxDepth {
		return errors.New("the schema " + errTooDeep.Error())
	}
	if s.DynamicRef != "" || s.DynamicAnchor != "" {
		return fmt.Errorf("the schema at %q uses $dynamicRef or $dynamicAnchor; use $ref and $defs", at)
	}
	if s.ID != "" && at != "" {
		return fmt.Errorf("the schema at %q has an $id; only the root may", at)
	}
	for _, typ := range append(slices.Clone(s.Types), s.Type) {
		if typ != "" && !slices.Contains(jsonTypes(), typ) {
			return fmt.Errorf("the schema at %q has the type %q; use one of %s", at, typ, strings.Join(jsonTypes(), ", "))
		}
	}
	t[at] = s
	for _, c := range children(s) {
		if err := t.add(at+c.at, c.schema, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkEnds walks everything that applies to the same value as s. Path holds the schemas the walk is inside of.
func (t tree) checkEnds(at string, s *jsonschema.Schema, path, done map[*jsonschema.Schema]bool) error {
	if done[s] {
		return nil
	}
	if path[s] {
		return fmt.Errorf("the schema at %q applies itself to the same value for ever", at)
	}
	path[s] = true
	defer delete(path, s)
	if s.Ref != "" {
		target, err := t.follow(s.Ref)
		if err != nil {
			return fmt.Errorf("the schema at %q: %w", at, err)
		}
		if err := t.checkEnds(target, t[target], path, done); err != nil {
			return err
		}
	}
	for _, c := range children(s) {
		if !c.inPlace {
			continue
		}
		if err := t.checkEnds(at+c.at, c.schema, path, done); err != nil {
			return err
		}
	}
	done[s] = true
	return nil
}

// follow returns the pointer that the reference ref means.
func (t tree) follow(ref string) (string, error) {
	local, ok := strings.CutPrefix(ref, "#")
	if root := t[""].ID; !ok && root != "" {
		if rest, own := strings.CutPrefix(ref, root); own {
			local, ok = strings.CutPrefix(rest, "#")
			ok = ok || rest == ""
		}
	}
	if !ok {
		return "", fmt.Errorf("$ref %q leaves the schema; put what it needs into $defs", ref)
	}
	at, err := url.PathUnescape(local)
	if err != nil {
		return "", fmt.Errorf("$ref %q: %w", ref, err)
	}
	if _, ok := t[at]; ok {
		return at, nil
	}
	for _, p := range sortedKeys(t) {
		if at != "" && t[p].Anchor == at {
			return p, nil
		}
	}
	return "", fmt.Errorf("$ref %q finds nothing", ref)
}

// children returns the direct subschemas of s in a fixed order.
func children(s *jsonschema.Schema) []child {
	var out []child
	one := func(keyword string, c *jsonschema.Schema, inPlace bool) {
		if c != nil {
			out = append(out, child{"/" + keyword, c, inPlace})
		}
	}
	list := func(keyword string, cs []*jsonschema.Schema, inPlace bool) {
		for i, c := range cs {
			out = append(out, child{"/" + keyword + "/" + strconv.Itoa(i), c, inPlace})
		}
	}
	named := func(keyword string, cs map[string]*jsonschema.Schema, inPlace bool) {
		for _, name := range sortedKeys(cs) {
			out = append(out, child{"/" + keyword + "/" + escape(name), cs[name], inPlace})
		}
	}
	named("$defs", s.Defs, false)
	named("definitions", s.Definitions, false)
	named("properties", s.Properties, false)
	named("patternProperties", s.PatternProperties, false)
	one("additionalProperties", s.AdditionalProperties, false)
	one("propertyNames", s.PropertyNames, false)
	one("unevaluatedProperties", s.UnevaluatedProperties, false)
	list("prefixItems", s.PrefixItems, false)
	one("items", s.Items, false)
	list("items", s.ItemsArray, false)
	one("additionalItems", s.AdditionalItems, false)
	one("unevaluatedItems", s.UnevaluatedItems, false)
	one("contains", s.Contains, false)
	one("contentSchema", s.ContentSchema, false)
	list("allOf", s.AllOf, true)
	list("anyOf", s.AnyOf, true)
	list("oneOf", s.OneOf, true)
	one("not", s.Not, true)
	one("if", s.If, true)
	one("then", s.Then, true)
	one("else", s.Else, true)
	named("dependentSchemas", s.DependentSchemas, true)
	named("dependencies", s.DependencySchemas, true)
	return out
}

// jsonTypes returns the words of the keyword "type". The library takes any word, and no value then matches it.
func jsonTypes() []string {
	return []string{"array", "boolean", "integer", "null", "number", "object", "string"}
}

// escape returns name as one part of a JSON Pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
