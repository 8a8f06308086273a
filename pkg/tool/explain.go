package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxExplain bounds the steps and the depth of a search for the place that is wrong, so that huge arguments cost no more
// to refuse than to accept. A search that ends early names a place further up.
const (
	maxExplain      = 2000
	maxExplainDepth = 32
)

// explain turns the library's refusal of v, which names a place in the schema, into one that names the place in the
// arguments. The library alone decides what is valid: the search asks it about ever smaller parts.
func (s *schema) explain(v any, cause error) error {
	x := &explainer{schema: s, parts: map[string]*jsonschema.Resolved{"": s.resolved}, steps: maxExplain}
	path, err := x.find("", v, "arguments", cause, 0)
	return fmt.Errorf("%s: %s", path, reason(err))
}

type explainer struct {
	schema *schema
	parts  map[string]*jsonschema.Resolved
	steps  int
}

// find returns the innermost place that is wrong below the value v at path, and the refusal there. The subschema at
// refuses v because of cause.
func (x *explainer) find(at string, v any, path string, cause error, depth int) (string, error) {
	if depth == maxExplainDepth {
		return path, cause
	}
	s := x.schema.tree[at]
	if s.Ref != "" {
		if target, err := x.schema.tree.follow(s.Ref); err == nil {
			if err := x.ask(target, v); err != nil {
				return x.find(target, v, path, err, depth+1)
			}
		}
	}
	for i := range s.AllOf {
		part := at + "/allOf/" + strconv.Itoa(i)
		if err := x.ask(part, v); err != nil {
			return x.find(part, v, path, err, depth+1)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			part := at + "/additionalProperties"
			if _, ok := s.Properties[name]; ok {
				part = at + "/properties/" + escape(name)
			} else if s.AdditionalProperties == nil || s.AdditionalProperties.Not != nil || len(s.PatternProperties) > 0 {
				continue
			}
			if err := x.ask(part, v[name]); err != nil {
				return x.find(part, v[name], path+member(name), err, depth+1)
			}
		}
	case []any:
		for i, e := range v {
			part := at + "/items"
			if i < len(s.PrefixItems) {
				part = at + "/prefixItems/" + strconv.Itoa(i)
			} else if s.Items == nil {
				break
			}
			if err := x.ask(part, e); err != nil {
				return x.find(part, e, path+"["+strconv.Itoa(i)+"]", err, depth+1)
			}
		}
	}
	return path, cause
}

// ask reports why the subschema at refuses v. A nil error also means that the search is out of steps.
func (x *explainer) ask(at string, v any) error {
	if x.steps == 0 {
		return nil
	}
	x.steps--
	part, ok := x.parts[at]
	if !ok {
		// The whole schema comes along as a definition, so that the references of the part still lead somewhere.
		whole := &jsonschema.Schema{
			Schema: x.schema.root.Schema,
			Defs:   map[string]*jsonschema.Schema{"whole": x.schema.root},
			AllOf:  []*jsonschema.Schema{{Ref: x.schema.root.ID + "#" + at}},
		}
		part, _ = whole.Resolve(nil) // nil when it cannot be: the search stays where it is
		x.parts[at] = part
	}
	if part == nil {
		return nil
	}
	return part.Validate(v)
}

// member returns name as a step of a path: .name, or ["na me"] when it is not a plain word.
func member(name string) string {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return "[" + strconv.Quote(clip(name)) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return "." + clip(name)
}

// reason returns what err says beneath the library's account of how it got there, in words that mean something to a reader
// who does not have the schema's Go values.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "anyOf:"):
		return "anyOf: matches none of the allowed forms"
	case strings.HasPrefix(text, "oneOf: validated"):
		return "oneOf: matches more than one of the forms that exclude each other"
	case strings.HasPrefix(text, "oneOf:"):
		return "oneOf: matches none of the allowed forms"
	case strings.HasPrefix(text, "not:"):
		return "not: matches a form that is not allowed"
	case strings.HasPrefix(text, "contains:"):
		return "contains: has no item of the required form"
	}
	return clip(wholeNumber(text))
}

// wholeNumber writes the library's "minimum: 0/1 is less" as "minimum: 0 is less".
func wholeNumber(text string) string {
	head, tail, ok := strings.Cut(text, "/1 is ")
	_, digits, isNumber := strings.Cut(head, ": ")
	if !ok || !isNumber || strings.Trim(digits, "-0123456789") != "" {
		return text
	}
	return head + " is " + tail
}
